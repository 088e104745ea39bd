"""Pictures: the call graph, the roofline."""
