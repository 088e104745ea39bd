"""Calls that the rules of `perfprobe bench` were not developed with. Their classes were committed first.

None of them is in benchmarks/expected. The classes come only from reasoning about torch's kernels, and
nothing is changed after measuring: what turns out different counts as wrong.

    python -m benchmarks.unprepared    judges them
"""
