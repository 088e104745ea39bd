"""The tables of other profilers, with their columns, for their users."""
