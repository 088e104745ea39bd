"""The scopes of torch's RecordFunction that are recorded (at::RecordScope). Imports nothing."""

from __future__ import annotations

FUNCTION = 0
BACKWARD_FUNCTION = 1
USER_SCOPE = 7
