"""Checks which parts of perfprobe work here. Uses only the standard library, to run if all else fails."""
