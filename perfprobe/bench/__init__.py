"""Replays operators in isolation, beside what this machine can do."""
