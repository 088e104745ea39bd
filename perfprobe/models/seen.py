"""What a recording can show at all."""

from __future__ import annotations

from perfprobe.tables.python import CallStructure, Samples
from perfprobe.tables.recording import Recording

_FEW = 5  # with fewer samples, shares have no meaning


def knows_python(recording: Recording) -> bool:
    """Whether it is known what Python did between operators. In a trace only calls of Python show it."""
    return not recording.is_trace or bool(recording.number("trace", "python_calls"))


def has_samples(recording: Recording) -> bool:
    """Whether threads were sampled. A killed program has samples, but not their number."""
    return bool(recording.rows(Samples)) or (recording.number("sampler", "ticks") or 0) > 0


def has_few_samples(structure: CallStructure) -> bool:
    """Whether there are samples, but too few for shares to have a meaning."""
    return structure.by_samples and int(structure.python.samples.looks.sum()) < _FEW


def has_shapes(recording: Recording) -> bool:
    """Whether the inputs of operators are known, without which none can be measured again."""
    return recording.fact("trace", "shapes") is not False


def cores_allowed(recording: Recording) -> float | None:
    """Returns how many processors the program may use at once, None if not known."""
    known = [recording.number("host", name) for name in ("cores", "cores_allowed", "cgroup_cores")]
    return min((each for each in known if each), default=None)
