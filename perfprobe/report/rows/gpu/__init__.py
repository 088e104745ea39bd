"""Rows of work on GPUs, of waits for them, and of the cost of calls of CUDA."""
