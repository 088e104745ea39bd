"""The sections about GPUs: work on them, and waits for them."""
