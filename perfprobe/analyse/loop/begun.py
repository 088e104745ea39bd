"""When evaluations begin: with the call that makes them, not with the first batch of their loader.

A loader's workers start before its first batch. Samples show that the program is at the evaluation's line.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfprobe.analyse.loop.events import Kind
from perfprobe.analyse.loop.loop_function import NOWHERE
from perfprobe.analyse.loop.loops import ThreadLoop
from perfprobe.analyse.loop.training import Span
from perfprobe.analyse.sampled import in_program
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.trace import Trace


def with_beginnings(trace: Trace, loop: ThreadLoop) -> ThreadLoop:
    """The loop with evaluations that begin at the first sample of their line in the loop's function."""
    spans = list(loop.spans)
    if not any(span.is_evaluation for span in spans):
        return loop
    samples = in_program(trace.recording)
    own = trace.recording.os_threads()[samples.thread] == loop.thread
    samples = samples.take(own & (samples.look == Look.READ) & (samples.stack >= 0))
    samples = samples.take(np.argsort(samples.end_ns, kind="stable"))
    for at in range(1, len(spans)):
        before, span = spans[at - 1 : at + 1]
        if span.is_evaluation and not before.is_evaluation and before.end_ns == span.start_ns:
            begin_ns = _begin_ns(loop, samples, before, span)
            spans[at - 1 : at + 1] = before._replace(end_ns=begin_ns), span._replace(start_ns=begin_ns)
    return replace(loop, spans=spans)


def _begin_ns(loop: ThreadLoop, samples: Samples, before: Span, span: Span) -> int:
    """The first of the samples at the evaluation's line that reach to its first event."""
    line = next((loop.function.line(e.stack) for e in span.events if e.kind is Kind.CALL), NOWHERE)
    first_ns = max((event.end_ns for event in before.events), default=before.start_ns)
    begin_ns = span.start_ns
    last = int(np.searchsorted(samples.end_ns, span.start_ns, "right")) - 1
    while line != NOWHERE and last >= 0 and samples.end_ns[last] > first_ns:
        if loop.function.line(int(samples.stack[last])) != line:
            break
        begin_ns = max(int(samples.start_ns[last]), first_ns)
        last -= 1
    return begin_ns
