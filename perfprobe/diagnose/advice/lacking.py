"""What was not recorded, so that rules about it are silent for want of data: they say what would give it."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.diagnose.advice.known import Known
from perfprobe.models.seen import has_samples, knows_python
from perfprobe.tables.advice import Change, Untold
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams
from perfprobe.tables.workers import WorkerFindings

_RUN = "perfprobe run"
_OF_THREADS = ("threads", "wait-policy")
_OF_WORKERS = ("more-workers", "persistent-workers", "worker-threads")


def lacking(known: Known) -> Iterator[Change | Untold]:
    """The rules about threads, workers, modes and logs, where these were not recorded."""
    findings, recording = known.findings, known.findings.trace.recording
    is_trace = recording.is_trace
    needs = _RUN if is_trace else "a run of more than 0.5 s"
    if known.gpu is None and (Teams not in findings or Processors not in findings):
        yield from (Untold(rule=rule, needs=needs) for rule in _OF_THREADS)
    if known.has_workers and WorkerFindings not in findings:
        yield from (Untold(rule=rule, needs=_RUN) for rule in _OF_WORKERS)
    if is_trace:
        yield Untold(rule="mode", needs=_RUN)
    if not (knows_python(recording) if is_trace else has_samples(recording)):
        yield from (Untold(rule=rule, needs=_python(is_trace)) for rule in ("collection", "logging"))


def _python(is_trace: bool) -> str:
    return "with_stack=True" if is_trace else "--python both"
