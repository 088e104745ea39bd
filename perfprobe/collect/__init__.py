"""Runs the user's program and records it: collectors, and all else that happens while it runs."""
