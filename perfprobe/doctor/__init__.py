"""Checks which parts of perfprobe work here. Standard library only: it must run where all else fails."""
