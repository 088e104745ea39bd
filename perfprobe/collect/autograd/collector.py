"""The collector for the autograd profiler, which records beside the observer or in its place."""

from __future__ import annotations

import sys

from perfprobe.collect.autograd.columns import Rows
from perfprobe.collect.autograd.device import DeviceReader
from perfprobe.collect.autograd.hooks import FORKS, OPEN_RANGES, Guests
from perfprobe.collect.autograd.kineto import Kineto, refusal
from perfprobe.collect.autograd.names import Names
from perfprobe.collect.autograd.signature import Signatures
from perfprobe.collect.autograd.tree import TreeReader
from perfprobe.collect.autograd.windows import SOURCE, Windows
from perfprobe.support.units import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.autograd.kineto import Raw
    from perfprobe.collect.base import Facts

_LINE_REMEDY = "record with the observer, which has all lines"


class AutogradProfiler:
    """Records windows of the autograd profiler from `start` to `stop`.

    Args:
        torch: the program's torch, imported.
        beside_observer: whether the observer records too. Rows then go to a separate table, without lines.
        memory: also record allocations.
        gpu: also record GPUs, if there are any.
    """

    def __init__(
        self, facts: Facts, torch: Any, *, beside_observer: bool, memory: bool, gpu: bool = False
    ) -> None:
        self._facts = facts
        self._beside = beside_observer
        self._memory = memory
        self._kineto = Kineto(torch, with_stack=not beside_observer, memory=memory, gpu=gpu)
        self._names = Names(facts.recorder, torch)
        self._device = DeviceReader(self._names)
        self._reader = TreeReader(torch, self._names, Signatures(torch))
        self._windows = Windows(facts, torch, self._kineto, self._read)
        windows = self._windows
        self._guests = Guests(torch, self._guarded(windows.guest_arrives), self._guarded(windows.guest_left))
        self._torch = torch
        self._error_ns = 0
        self._events = 0
        self._without_stacks = 0
        self._other_threads = False

    @property
    def reads_gpu(self) -> bool:
        """Whether it records GPUs. No other collector may then do so."""
        return self._kineto.reads_gpu

    def start(self) -> None:
        """Starts recording. If Kineto must not be used, only writes a loss."""
        missing = refusal(gpu_client=False)
        if missing is not None:
            self._facts.loss(SOURCE, f"{missing.what}: {missing.where}", 1, missing.remedy)
            return
        self._guests.watch()
        FORKS.watch(self._guarded(self._windows.before_fork), self._windows.after_fork)
        self._windows.start()

    def pause(self) -> None:
        """Closes the window; `go_on` opens the next one."""
        self._windows.pause()

    def go_on(self) -> None:
        """Opens another window."""
        self._windows.go_on()

    def stop(self) -> None:
        """Reads the last window and writes losses."""
        FORKS.watch(None, None)
        self._guests.release()
        try:
            if not self._windows.stop():
                reason = "the last window was not read: the recording was ended by another thread"
                self._facts.loss(SOURCE, reason, 1, "end it on the thread that began it")
        finally:
            OPEN_RANGES.release()
            self._write_losses()
            self._facts.meta(
                "autograd",
                {
                    "windows": self._windows.count,
                    "events": self._events,
                    "reading_ns": self._windows.reading_ns,
                    "clock_error_ns": self._error_ns,
                    "memory": self._memory,
                },
            )

    def _guarded(self, step: Any) -> Any:
        return lambda *values: self._facts.guarded(SOURCE, lambda: step(*values))

    def _read(self, raw: Raw) -> tuple[int, bool]:
        of_host = None
        if self._kineto.reads_gpu:
            of_host, of_device = self._device.split(raw.results.events())
            self._device.write(self._facts.recorder, raw, of_device)
        threads = self._reader.read(raw, of_host).values()
        rows, windows = Rows(), Rows()
        for thread in threads:
            before = len(rows)
            row = self._names.thread(thread.forward_id, thread.os_thread)
            thread.add_to(rows, raw, row, self._memory)
            windows.add(start_ns=raw.start_ns, end_ns=raw.stop_ns, thread=row, rows=len(rows) - before)
        recorder = self._facts.recorder
        if len(rows):
            rows.write(recorder, "autograd_operators" if self._beside else "operators")
        if self._beside and len(windows):
            windows.write(recorder, "autograd_windows")
        self._error_ns = max(self._error_ns, raw.error_ns)
        self._events += len(rows)
        self._without_stacks += not self._beside and not raw.with_stacks
        self._other_threads |= len(sys._current_frames()) > 1
        return self._reader.events_read, self._reader.left_open

    def _write_losses(self) -> None:
        lose, reader = self._facts.loss, self._reader
        for reason, count, remedy in self._device.losses():
            lose("gpu", reason, count, remedy)
        if reader.cut_off:
            remedy = "nothing to do" if self._beside else "record with the observer"
            lose(SOURCE, "operators and ranges cut off at the end of a window", reader.cut_off, remedy)
        for reason, (count, time_ns) in self._windows.absences.items():
            text = f"not recording for {duration(time_ns)} in total: {reason}"
            lose(SOURCE, text, count, "nothing to do" if self._beside else "record with the observer")
        if reader.function_only and not self._beside:
            text = "operator syntax (a / b, x[1]): only the function is known, not the line"
            lose(SOURCE, text, reader.function_only, _LINE_REMEDY)
        if self._without_stacks:
            text = "windows without lines: the program sets a profile function (sys.setprofile)"
            lose(SOURCE, text, self._without_stacks, _LINE_REMEDY)
        if self._names.other_stacks:
            lose(SOURCE, "stacks beyond the limit, shown as one", self._names.other_stacks, _LINE_REMEDY)
        if self._other_threads and not self._beside:
            text = "operators of other threads: the autograd profiler records only the thread that starts it"
            lose(SOURCE, text, -1, "record with the observer")
