"""Scripts that stand alone, one for each hot call, to be looked at with VTune, Nsight or perf."""
