"""The critical path through operators, calls of CUDA's API, kernels and copies."""
