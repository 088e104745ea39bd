"""Judges what is slow: rules, one a file, and one ranking."""
