"""Builds the observer for the installed torch: finds torch, looks in the user's cache, compiles."""
