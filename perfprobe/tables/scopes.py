"""The scopes of torch's RecordFunction that are recorded (at::RecordScope). Imports nothing."""

from __future__ import annotations

FUNCTION = 0
BACKWARD_FUNCTION = 1
USER_SCOPE = 7

# How the names of torch's own ranges begin.
LOADER_RANGE = "enumerate(Data"  # DataLoader and DataPipe
OPTIMIZER_RANGE = "Optimizer.step#"
ZERO_GRAD_RANGE = "Optimizer.zero_grad#"
PROFILER_RANGE = "ProfilerStep#"

# Names of perfprobe's own ranges.
STEP_NAME = "perfprobe.step"  # set by blocks `with perfprobe.step():`
STEP_MARK = "perfprobe.step()"  # set by each call, without duration
