"""Compares two versions of a program, by their runs."""
