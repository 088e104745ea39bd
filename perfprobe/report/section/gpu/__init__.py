"""The sections about GPUs: what ran on them, and what the program waited for."""
