"""The autograd profiler (torch.profiler) as a source of operators: in windows, from its raw results."""
