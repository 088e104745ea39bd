"""Explains the slow steps of a run of which only those were kept, and how step times changed."""
