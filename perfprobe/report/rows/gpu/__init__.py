"""Rows of what ran on GPUs, of what the program waited for and of what its calls of CUDA cost."""
