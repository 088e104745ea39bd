"""Draws blocks as text, and rows as JSON."""
