"""Kernels of Triton and of torch.compile in a trace: their names, files, and what they were made from."""

from __future__ import annotations

from typing import Any

from perfprobe.models.fused import is_generated, operators
from perfprobe.read.kineto.names import LONGEST_TEXT, Names

INDUCTORS, TRITONS = "inductor::", "triton::"  # as the collector names them
_MOST_KERNELS = 16_384


class GeneratedKernels:
    """Names operators that launch such kernels as our own recordings do; `compiled` is the meta value."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[str, str] = {}
        self._kernels: set[str] = set()
        self.compiled: dict[str, dict[str, list[str]]] = {}

    def name(self, name: str, file: object) -> str:
        """The name of an operator; another one where a kernel was made by a compiler.

        Args:
            file: the file that holds the kernel, of torch 2.5 and newer; None for other operators.
        """
        found = self._known.get(name)
        if found is None:
            generated = is_generated(name) or (isinstance(file, str) and name.startswith("triton_"))
            prefix = INDUCTORS if generated else TRITONS if isinstance(file, str) else ""
            found = prefix + name
            if len(self._known) < _MOST_KERNELS:
                self._known[name] = found
            self._note(found, name)
        return found

    def note_kernel(self, name: str) -> None:
        """A kernel on the GPU: which operators it was made from is in its name."""
        if name not in self._kernels:
            if len(self._kernels) < _MOST_KERNELS:
                self._kernels.add(name)
            self._note(name, name)

    def frame(self, name: str, file: object) -> int:
        """The frame of a kernel in its file, -1 without one. A trace does not have the line: it is the
        first.
        """
        if not isinstance(file, str) or not file.endswith(".py"):
            return -1
        where = self._names.text(file[:LONGEST_TEXT]), self._names.text(name)
        return self._names.frames.row(*where, -1, 1, -1)

    def meta(self) -> dict[str, Any]:
        """The meta value, where there is any such kernel."""
        return {"compiled": self.compiled} if self.compiled else {}

    def _note(self, shown: str, kernel: str) -> None:
        if is_generated(kernel) and len(self.compiled) < _MOST_KERNELS:
            from perfprobe.models.operator_names import NAMES  # only where torch.compile was at work

            self.compiled[shown] = {"operators": operators(kernel, NAMES), "lines": []}
