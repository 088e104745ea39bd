"""A suite of operators at good and bad shapes, each with the reason; one file for each family.

python -m benchmarks.operators          measures and judges all
python -m benchmarks.operators.bmm      one family; with --once or --seconds for VTune, Nsight, perf
"""
