"""Finds the steps of a program: events of its loops, and the phase of every moment."""
