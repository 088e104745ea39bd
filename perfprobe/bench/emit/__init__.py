"""Writes standalone scripts, one for each hot call, for VTune, Nsight or perf."""
