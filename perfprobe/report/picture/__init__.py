"""Pictures: the call graph, the roofline, steps and threads."""
