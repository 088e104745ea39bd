"""Findings as named, ranked, focused rows with typed values: what every medium shows."""
