"""Ranks of one run: what each did, and how they compare."""
