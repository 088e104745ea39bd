"""The standing suite: operators at good and bad shapes, each with the reason, one file a family.

python -m benchmarks.operators          measures all, and judges them
python -m benchmarks.operators.bmm      one family; with --once or --seconds: for VTune, Nsight, perf
"""
