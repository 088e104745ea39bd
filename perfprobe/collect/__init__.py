"""Collectors, and how the program is run: whatever happens while somebody else's program is running."""
