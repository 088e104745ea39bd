"""The tables of other profilers, with their columns, for those who come from there."""
