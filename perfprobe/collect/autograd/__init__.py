"""The autograd profiler (torch.profiler) as a source of operators. It records in windows."""
