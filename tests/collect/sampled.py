"""Runs the native sampler alone and reads its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfprobe import _core
from perfprobe.tables import storage
from perfprobe.tables.events import Threads
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.strings import Strings

Place = tuple[str, str, int]  # file, function, line

NEVER_NS = 3_600_000_000_000  # no look except that of `stop`
QUICK_NS = 1_000_000


@dataclass
class Sampled:
    """The result of a run; complete when the block ends."""

    recording: Recording
    figures: dict[str, Any]

    @property
    def samples(self) -> Samples:
        return self.recording[Samples]

    def stack(self, sample: int) -> list[Place]:
        """The frames of a sample, innermost first."""
        tables, places = self.recording, []
        stack = int(self.samples.stack[sample])
        while stack >= 0:
            frame = tables[Stacks].frame[stack]
            file, function = (
                str(tables[Strings].text[column[frame]])
                for column in (tables[Frames].file, tables[Frames].function)
            )
            places.append((file, function, int(tables[Frames].line[frame])))
            stack = int(tables[Stacks].parent[stack])
        return places

    def of_thread(self, os_thread: int) -> Iterator[int]:
        """The samples of one thread."""
        for sample, thread in enumerate(self.samples.thread):
            if self.recording[Threads].os_thread[thread] == os_thread:
                yield sample

    def read(self) -> Iterator[int]:
        """The samples that have a stack."""
        return (sample for sample, look in enumerate(self.samples.look) if look == Look.READ)


@contextmanager
def sampling(
    folder: Path, interval_ns: int = NEVER_NS, most_cost: float = 1.0
) -> Iterator[Callable[[], Sampled]]:
    """Samples the block. The function it yields ends the sampling and returns the result."""
    path = folder / "sampled.perfprobe"
    recorder = _core.Recorder(str(path))
    sampler = _core.Sampler(recorder.capsule(), interval_ns, most_cost)
    sampler.start()

    def result() -> Sampled:
        figures = sampler.stop()
        recorder.close()
        return Sampled(storage.read(path), figures)

    try:
        yield result
    finally:
        sampler.stop()
        recorder.close()
