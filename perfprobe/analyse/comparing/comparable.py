"""What makes two versions' runs not comparable, or not quite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from perfprobe.analyse.comparing.sides import RunSide, Side
from perfprobe.models.compared import Mismatch
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import StepTimes

# Options of recordings that add to the time of steps, and what they mostly are.
_USUAL: Mapping[str, object] = {
    **{"operators": "observer", "python": "both", "gpu": "auto", "cpu_time": "off", "keep": "all"},
    **{"detail": None, "memory": False, "native": False, "counters": False},
}


def mismatches(before: Side, after: Side) -> list[Mismatch]:
    """All of them, those that forbid a comparison first."""
    found = [
        each for name, fact, forbids in _FACTS for each in _differing(name, fact, forbids, before, after)
    ]
    return sorted(found, key=lambda each: not each.forbids)


def _differing(
    name: str, fact: Callable[[RunSide], str | None], forbids: bool, before: Side, after: Side
) -> Iterator[Mismatch]:
    known = [sorted({found for run in side.runs if (found := fact(run))}) for side in (before, after)]
    if all(known) and known[0] != known[1]:
        texts = [" and ".join(each) for each in known]
        yield Mismatch(text=f"{name}: {texts[0]}, then {texts[1]}", forbids=forbids)


def _recording(run: RunSide) -> Recording:
    return run.run.trace.recording


def _text(*keys: str) -> Callable[[RunSide], str | None]:
    return lambda run: _recording(run).text(*keys)


def _torch(run: RunSide) -> str | None:
    return _recording(run).text("torch", "version") or _recording(run).text("versions", "torch")


def _gpus(run: RunSide) -> str | None:
    devices = _recording(run).fact("gpu", "devices")
    known = devices if isinstance(devices, list) else []
    names = [each.get("name") for each in known if isinstance(each, dict)]
    listed = _recording(run).texts("torch", "devices") or _recording(run).texts("nvidia", "models")
    return ", ".join(listed or [name for name in names if isinstance(name, str)]) or None


def _threads(run: RunSide) -> str | None:
    return None if run.value is None or run.value.threads <= 0 else str(run.value.threads)


def _batch(run: RunSide) -> str | None:
    times = run.found.get(StepTimes)
    if times is None or len(times.loops) == 0 or int(times.loops.samples[0]) <= 0:
        return None
    return str(int(times.loops.samples[0]))


def _mode(run: RunSide) -> str:
    """How it was recorded: this adds to the time of steps."""
    recording = _recording(run)
    if recording.is_trace:
        return "a trace of torch.profiler"
    if recording.is_benchmark:
        return "--benchmark"
    changed: Sequence[str] = [
        f"--{name.replace('_', '-')}{'' if value is True else f' {value}'}"
        for name, usual in _USUAL.items()
        if (value := recording.fact("recording", name)) not in (None, usual)
    ]
    return " ".join(changed) or "usual options"


_FACTS: tuple[tuple[str, Callable[[RunSide], str | None], bool], ...] = (
    ("recorded with", _mode, True),
    ("torch", _torch, False),
    ("CPU", _text("host", "cpu_model"), False),
    ("GPU", _gpus, False),
    ("torch threads", _threads, False),
    ("batch", _batch, False),
    ("perfprobe", _text("versions", "perfprobe"), False),
)
