"""Errors, units and text: the lowest layer, used by all others; standard library only."""
