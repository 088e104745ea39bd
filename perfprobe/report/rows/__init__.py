"""Findings as named, ranked, filtered rows with typed values, the same for every medium."""
