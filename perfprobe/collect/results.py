"""What the program computes, so that two runs can be compared: `--results`.

A value is the sum of a tensor's elements. It is read when the next one comes, so that nothing waits for a GPU
that has just begun to compute it.
"""

from __future__ import annotations

import sys
from os import getpid
from zlib import crc32

from perfprobe.collect.base import Collector
from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.wrapped import WrappedFunctions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.base import Facts

_MOST = 20_000  # values that are kept, and batches that are counted
_HASHED = 3  # batches
_HASHED_BYTES = 1 << 20  # of each tensor in them


class _Values:
    """A series of values. The tensor of the last one is still to be read."""

    def __init__(self) -> None:
        self.calls = 0
        self._read: list[str] = []
        self._last: list[Any] = []

    def add(self, tensors: list[Any]) -> None:
        """Adds the value of these tensors together."""
        self.read()
        self.calls += 1
        if self.calls <= _MOST:
            self._last = [
                each.detach() if each.numel() == 1 else each.detach().double().sum() for each in tensors
            ]

    def read(self) -> list[str]:
        """All values as text, which unlike JSON's numbers may be nan."""
        if self._last:
            self._read.append(repr(sum(float(each) for each in self._last)))
            self._last = []
        return self._read


class ResultCollector(Collector):
    """Wraps backward(), calls of modules that no other one calls, and a loader's next."""

    name = "results"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._process = getpid()
        self._watch = ImportWatch("torch", self._torch_ready)
        self._wrapped = WrappedFunctions()
        self._torch: Any = None
        self._roots, self._outputs = _Values(), _Values()
        self._hashes: list[int] = []
        self._batches = self._samples = 0

    def start(self) -> None:
        """Waits for torch."""
        self._watch.start()

    def stop(self) -> None:
        """Restores the functions and writes the meta value `results`."""
        self._watch.stop()
        self._wrapped.restore()
        if self._torch is None:
            return
        self._facts.meta(
            self.name,
            {
                "roots": self._roots.read(),
                "root_calls": self._roots.calls,
                "outputs": self._outputs.read(),
                "output_calls": self._outputs.calls,
                "batches": self._batches,
                "samples": self._samples,
                "first_batches": self._hashes,
                "random": self._random_state(),
            },
        )

    def _torch_ready(self, torch: Any) -> None:
        if getpid() != self._process:
            return
        self._torch = torch
        self._wrapped.wrap(torch.autograd, "backward", self._see_root)
        loader = sys.modules.get("torch.utils.data.dataloader")
        self._wrapped.wrap(getattr(loader, "_BaseDataLoaderIter", None), "__next__", after=self._see_batch)
        self._wrapped.wrap(torch.nn.Module, "__call__", after=self._see_output)

    def _see_root(self, roots: Any = None, *_: object) -> None:
        tensors = self._tensors(roots)
        if tensors:
            self._roots.add(tensors)

    def _see_output(self, succeeded: bool, result: Any, module: Any, *_: object) -> Any:
        if succeeded and not module.training and self._is_outermost():
            tensors = self._tensors(result)
            if tensors:
                self._outputs.add(tensors)
        return result

    def _see_batch(self, succeeded: bool, batch: Any, *_: object) -> Any:
        if succeeded and getpid() == self._process:
            tensors = self._tensors(batch)
            self._batches += 1
            self._samples += len(tensors[0]) if tensors and tensors[0].dim() else 0
            if self._batches <= _HASHED:
                self._hashes.append(self._hash(tensors))
        return batch

    def _is_outermost(self) -> bool:
        """Whether no other module is being called: none of its frames is below."""
        frame: Any = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if code.co_name == "_call_impl" and code.co_filename.endswith("torch/nn/modules/module.py"):
                return False
            frame = frame.f_back
        return True

    def _hash(self, tensors: list[Any]) -> int:
        found = 0
        for each in tensors:
            one = each.detach().cpu().contiguous().reshape(-1)[: _HASHED_BYTES // max(each.element_size(), 1)]
            found = crc32(one.view(self._torch.uint8).numpy(), found)
        return found

    def _tensors(self, value: Any) -> list[Any]:
        """The tensors in tuples, lists and dicts, one level deep."""
        if isinstance(value, dict):
            value = list(value.values())
        values = value if isinstance(value, (list, tuple)) else [value]
        kind = self._torch.Tensor
        return [each for each in values if isinstance(each, kind) and each.layout == self._torch.strided]

    def _random_state(self) -> list[int]:
        """Hashes of the state of torch's, Python's and numpy's generators."""
        states = [
            bytes(self._torch.get_rng_state().tolist()),
            repr(sys.modules["random"].getstate()).encode(),
        ]
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None:
            states.append(repr(numpy.random.get_state()).encode())
        return [crc32(state) for state in states]
