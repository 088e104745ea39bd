"""The scopes of torch's RecordFunction that are recorded (at::RecordScope). Imports nothing."""

from __future__ import annotations

FUNCTION = 0
BACKWARD_FUNCTION = 1
USER_SCOPE = 7

# Names of perfprobe's own ranges.
STEP_NAME = "perfprobe.step"  # set by blocks `with perfprobe.step():`
STEP_MARK = "perfprobe.step()"  # set by each call, without duration
