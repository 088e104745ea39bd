"""Replays operators in isolation, and compares them with what this machine can do."""
