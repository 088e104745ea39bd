"""Other profilers' tables of the same program, by their definitions."""
