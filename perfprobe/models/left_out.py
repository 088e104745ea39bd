"""Which option of a run is why its recording lacks a source."""

from __future__ import annotations

from perfprobe.tables.events import Losses
from perfprobe.tables.recording import Recording

# Sources, and the options that switch them off: the fact and its values.
_SWITCHES = {
    "operators": ("operators", ("off",)),
    "functions": ("python", ("off",)),
    "samples": ("python", ("off", "cprofile")),
    "gpu": ("gpu", ("off",)),
    "ranges": ("ranges", (False,)),
    "children": ("children", (False,)),
}


def left_out_by(recording: Recording, source: str) -> str | None:
    """Returns the option that left out a source, as it was given: `--steps 3:14`; None if none did.

    source: `operators`, `functions`, `samples`, `gpu`, `ranges` or `children`; others are never left out.
    """
    if source not in _SWITCHES:
        return None
    fact, values = _SWITCHES[source]
    value = recording.fact("recording", fact)
    if value not in values:
        return "--wait" if source == "operators" and is_untriggered(recording) else None
    if recording.is_benchmark:
        return "--benchmark"
    return _instead(recording, source) or f"--{fact} {value or 'off'}"


def is_untriggered(recording: Recording) -> bool:
    """Whether the program waited for `perfprobe trigger`, which did not come."""
    asked = recording.number("live_steps", "requests") or recording.operator_rows
    return bool(recording.fact("recording", "wait")) and not asked


def _instead(recording: Recording, source: str) -> str | None:
    """The option that records only some steps, if it leaves out this source too."""
    window = window_option(recording) if source in ("functions", "samples", "children") else None
    found = [window] if window else []
    if source == "children" and recording.number("recording", "baseline"):
        found.append("--baseline")
    if source in ("children", "ranges"):
        found += ["--keep slow"] if recording.is_kept else []
        found += ["--rotate"] if recording.number("recording", "rotate") else []
    return found[0] if found else None


def window_option(recording: Recording) -> str | None:
    """The option that chose the steps in which operators were recorded; None if they all were."""
    steps = recording.text("recording", "steps")
    if steps is not None:
        return f"--steps {steps}"
    if recording.number("recording", "duration") is not None:
        return "--duration"
    return "--wait" if recording.fact("recording", "wait") else None


def how_to_see_functions(recording: Recording) -> str:
    """What to do to know what Python did in the program, by how it was recorded."""
    if recording.is_trace:
        return "with_stack=True"
    left_out = left_out_by(recording, "functions") or left_out_by(recording, "samples")
    if left_out is None and "samples" in recording[Losses].source.tolist():
        return "--view missing says why"
    return f"record without {left_out}" if left_out else "record with --python both"
