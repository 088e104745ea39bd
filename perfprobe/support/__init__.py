"""Errors, units and text: the lowest layer, used by all others. Uses only the standard library."""
