"""Calls that the rules of `perfprobe bench` were not made with, their classes committed before measuring.

None of them is in benchmarks/expected. They rest on reasoning about torch's kernels alone, and nothing is
changed after measuring: what turns out otherwise counts as wrong.

python -m benchmarks.unprepared    judges them
"""
