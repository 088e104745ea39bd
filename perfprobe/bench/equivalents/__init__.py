"""Faster forms of single operators: each is tried on the rebuilt call, and its result is compared."""
