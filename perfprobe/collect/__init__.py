"""Collectors, and how the program is run: all that happens while the user's program runs."""
