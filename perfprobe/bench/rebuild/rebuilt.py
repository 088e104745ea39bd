"""A recipe as a call that can be made; runs where torch may be imported."""

from __future__ import annotations

from typing import Any

from perfprobe.bench.rebuild.extents import storage_bytes
from perfprobe.bench.rebuild.operands import Operands, function
from perfprobe.bench.rebuild.recipe import CallRecipe, NotRebuilt
from perfprobe.bench.rebuild.small import smaller


class Rebuilt:
    """A call: `rebuilt.function(*operands.args, **operands.kwargs)`.

    function: torch's OpOverload. operand_bytes: of one set of operands, known before any is made. writes:
    whether the call changes an operand, so that `restore()` has something to do. Raises NotRebuilt where this
    machine or this torch lacks what the call needs.
    """

    def __init__(self, recipe: CallRecipe, torch: Any) -> None:
        self.recipe = recipe
        self._torch = torch
        self._call = recipe.plain()
        tensors = list(recipe.tensors())
        self.operand_bytes = sum(map(storage_bytes, tensors))
        self.writes = any(tensor.written for tensor in tensors)
        for device in sorted(recipe.devices()):
            _check_device(device, torch)
        try:
            self.function = function(torch, self._call)
        except AttributeError:
            raise NotRebuilt("this torch has no such operator") from None

    def operands(self, seed: int) -> Operands:
        """A fresh set. Raises NotRebuilt where torch cannot make it."""
        try:
            return Operands(self._torch, self._call, seed)
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, MemoryError) as error:
            raise NotRebuilt(f"its operands cannot be made: {_line(error)}") from None

    def run(self, made: Operands) -> Any:
        """One call. Raises NotRebuilt where torch refuses it."""
        try:
            return self.function(*made.args, **made.kwargs)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, MemoryError) as error:
            raise NotRebuilt(f"torch refuses the call: {_line(error)}") from None

    def one_element(self) -> CallRecipe:
        """The same overload on the smallest operands that it takes: its time is that of calling it.

        Raises NotRebuilt where none smaller than the call itself was found.
        """
        for recipe in smaller(self.recipe):
            small = Rebuilt(recipe, self._torch)
            try:
                small.run(small.operands(0))
            except NotRebuilt:
                continue
            return recipe
        raise NotRebuilt("it takes no smaller operands")


def _check_device(device: str, torch: Any) -> None:
    if not device.startswith("cuda"):
        return
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(device.partition(":")[2] or 0) >= there:
        raise NotRebuilt(f"needs {device}, this machine has {there or 'none'}")


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
