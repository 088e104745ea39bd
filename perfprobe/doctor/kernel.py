"""What the kernel's perf allows: samples of native code, and counters."""

from __future__ import annotations

from perfprobe import native
from perfprobe.doctor.part import NOTE, OK, Part
from perfprobe.support.errors import PerfprobeError

_NO_RECORDER = "not known without the recorder"


def native_code() -> Part:
    """Whether `--native` works."""
    try:
        refused = native.core().instruction_samples_refused()
    except PerfprobeError:
        return Part("native code", NOTE, _NO_RECORDER)
    if refused is None:
        return Part("native code", OK, "the kernel samples instructions (`perfprobe run --native`)")
    why = "`--native` cannot split operators into kernels, copies, waiting and allocation"
    return Part("native code", NOTE, refused[0], why, refused[1])


def counters() -> Part:
    """Returns which events `--counters` counts, and what would allow the others."""
    try:
        core = native.core()
        events, traffic = core.counter_events_allowed(), core.memory_traffic_refused()
    except PerfprobeError:
        return Part("counters", NOTE, _NO_RECORDER)
    refused = [(name, why) for name, _, why in events if why is not None]
    counted = [name for name, _, why in events if why is None]
    if traffic is not None:
        refused.append(("memory bandwidth", traffic))
    if not refused:
        return Part("counters", OK, f"all {len(events)} events and memory bandwidth (`--counters`)")
    _, (reason, remedy) = refused[0]
    missing = ", ".join(each for each, _ in refused)
    found = f"{len(counted)} of {len(events)} events (`perfprobe run --counters`)"
    return Part("counters", NOTE, found, f"not counted: {missing}; {reason}", remedy)
