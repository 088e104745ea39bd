"""Puts the changes of `--try` on the program, and records how often each was applied."""

from __future__ import annotations

import os
import sys
from os import environ, getpid

from perfprobe.collect.base import Collector
from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.tries import loaders, modules, optimizers
from perfprobe.collect.tries.change import Change
from perfprobe.collect.tries.declared import ENVIRONMENT, asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from perfprobe.collect.base import Facts
    from perfprobe.collect.tries.declared import Asked


def _flush_denormals(torch: Any, change: Change) -> None:
    """Threads that this one starts do it too."""
    if torch.set_flush_denormal(True):
        change.applied()


_PATCHES: Mapping[str, Callable[[Any, Change], None]] = {
    "workers": loaders.workers,
    "persistent-workers": loaders.persistent_workers,
    "prefetch": loaders.prefetch,
    "worker-threads": loaders.worker_threads,
    "fused": optimizers.fused,
    "foreach": optimizers.foreach,
    "set-to-none": optimizers.set_to_none,
    "flush-denormals": _flush_denormals,
    "gc": modules.freeze,
    "float32": modules.float32,
    "channels-last": modules.channels_last,
    "no-grad": modules.no_grad,
    "bf16": modules.bf16,
    "compile": modules.compiled,
}


def _is_new(variables: Mapping[str, str]) -> bool:
    return any(environ.get(name) != value for name, value in variables.items())


class TryCollector(Collector):
    """Sets variables at once, and puts patches on torch when the program has imported it."""

    name = "tries"

    def __init__(self, facts: Facts, words: Sequence[str]) -> None:
        self._facts = facts
        self._asked = asked(words)
        self._changes: dict[str, Change] = {}
        self._process = getpid()
        self._watch = ImportWatch("torch", self._torch_ready)
        self._is_new = {one.name: _is_new(one.variables()) for one in self._asked}

    def start(self) -> None:
        """Waits for torch."""
        for one in self._asked:
            environ.update(one.variables())
            self._facts.extend("environment", **one.variables())
        self._watch.start()

    def stop(self) -> None:
        """Puts torch's functions back. Writes the meta value `tries`, and what was never applied."""
        self._watch.stop()
        for change in reversed(self._changes.values()):
            change.undo()
        self._check_threads()
        self._write()

    def _torch_ready(self, torch: Any) -> None:
        if getpid() == self._process:
            # Of two patches of one function the later is called first.
            for one in reversed(self._asked):
                self._facts.guarded(self.name, lambda: self._put(torch, one))  # noqa: B023 (called at once)

    def _put(self, torch: Any, one: Asked) -> None:
        change = Change(one.word, one.value, os.path.dirname(str(torch.__file__)) + os.sep)
        self._changes[one.name] = change
        if one.declared.put != ENVIRONMENT:
            _PATCHES[one.name](torch, change)
        elif self._is_new[one.name]:
            change.applied()

    def _check_threads(self) -> None:
        """Whether the program has set its own number of threads in the meantime."""
        change, torch = self._changes.get("threads"), sys.modules.get("torch")
        if change is not None and torch is not None and torch.get_num_threads() != int(change.value):
            change.times = 0

    def _write(self) -> None:
        rows = []
        for one in self._asked:
            change = self._changes.get(one.name) or Change(one.word, "", "")
            rows.append({"word": change.word, "times": change.times, **change.place})
            if not change.times:
                self._facts.tell(f"{change.word} was never applied")
                self._facts.loss(self.name, f"never applied: {change.word}", 1, "leave it out")
        self._facts.meta(self.name, {"rows": rows})
