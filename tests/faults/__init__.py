"""Calls of perfprobe's own that fail, one after another: what its commands do then.

`python -m tests.faults` tries all of them, which takes hours; the tests try some.
"""
