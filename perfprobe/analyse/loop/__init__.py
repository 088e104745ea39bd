"""What the steps of a program are found by: events of its loops, and the phase of every moment."""
