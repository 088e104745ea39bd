"""Calculations that more than one stage needs, from signatures, names, samples and measurements."""
