"""Finds the idle time of GPUs: the gaps in their work, and what the host did in these."""
