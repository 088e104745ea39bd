"""What other profilers would say of the same program: their tables by their definitions."""
