"""Runs with `--keep slow`: explains the slow steps, and how step times changed."""
