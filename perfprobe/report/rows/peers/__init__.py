"""Rows of other profilers' tables."""
