"""Programs with one planted bottleneck each."""
