"""Rows of the tables that other profilers have."""
