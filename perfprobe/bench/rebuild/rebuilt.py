"""A recipe as a call that can be made; runs where torch may be imported."""

from __future__ import annotations

from math import prod
from typing import Any

from perfprobe.bench.rebuild.extents import storage_bytes
from perfprobe.bench.rebuild.operands import Operands, function
from perfprobe.bench.rebuild.recipe import (
    Argument,
    CallRecipe,
    DeviceRecipe,
    DtypeRecipe,
    MachineLacks,
    NotRebuilt,
    TensorRecipe,
)
from perfprobe.bench.rebuild.refused import LIMIT_BYTES
from perfprobe.bench.rebuild.small import smaller

# What torch raises for a call that it does not take. NotImplementedError is a RuntimeError.
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, MemoryError, OverflowError)


class Rebuilt:
    """A call: `rebuilt.function(*operands.args, **operands.kwargs)`.

    function: torch's OpOverload. operand_bytes: of one set of operands, and result_bytes: of its
    results, as far as they are known before any is made. writes:
    whether the call changes an operand, so that `restore()` has something to do.

    Raises:
        NotRebuilt: what the call needs is missing here, or its results, as far as torch
            tells their sizes beforehand, take more than `limit_bytes`.

    Some kernels of torch trust operands to fit each other and end the process where those of a damaged
    recording do not: calls belong in a process of their own.
    """

    def __init__(self, recipe: CallRecipe, torch: Any, limit_bytes: int = LIMIT_BYTES) -> None:
        self.recipe = recipe
        self._torch = torch
        self._limit_bytes = limit_bytes
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
        self.result_bytes = self._result_bytes()
        if self.result_bytes > limit_bytes:
            raise MachineLacks(f"its results may take {self.result_bytes / (1 << 30):.3g} GiB")

    def operands(self, seed: int) -> Operands:
        """A fresh set. Raises NotRebuilt where torch cannot make it."""
        try:
            return Operands(self._torch, self._call, seed)
        except _REFUSALS as error:
            raise NotRebuilt(f"its operands cannot be made: {_line(error)}") from None

    def run(self, operands: Operands) -> Any:
        """One call. Raises NotRebuilt where torch refuses it."""
        try:
            return self.function(*operands.args, **operands.kwargs)
        except _REFUSALS as error:
            raise NotRebuilt(f"torch rejects the call: {_line(error)}") from None

    def one_element(self, extent: int = 1) -> CallRecipe:
        """The same overload on the smallest operands that it takes: its time is that of calling it.

        extent: of each dimension, at the least; a kernel for one element may be a slow one, so that the
        least time over a few extents tells more. Raises NotRebuilt where no small operands were found.
        """
        for recipe in smaller(self.recipe, extent):
            try:
                small = Rebuilt(recipe, self._torch, self._limit_bytes)
                small.run(small.operands(0))
            except NotRebuilt:
                continue
            return recipe
        raise NotRebuilt("it takes no small operands")

    def _result_bytes(self) -> int:
        """By a call on tensors without data; where torch cannot tell so, as if any number were a size."""
        arguments = [self._without_data(argument) for argument in self.recipe.arguments]
        keywords = {name: self._without_data(value) for name, value in self.recipe.keywords.items()}
        if "device" in keywords:
            keywords["device"] = "meta"
        try:
            with self._torch.no_grad():
                return _bytes(self._torch, self.function(*arguments, **keywords))
        except Exception:  # in part written in Python, where anything may go wrong that real operands fix
            return 8 * max(map(_product, (*self.recipe.arguments, *self.recipe.keywords.values())), default=0)

    def _without_data(self, argument: Argument) -> Any:
        if isinstance(argument, tuple):
            return [self._without_data(item) for item in argument]
        if isinstance(argument, TensorRecipe):
            dtype = getattr(self._torch, argument.dtype)
            if argument.strides is None:
                return self._torch.empty(argument.sizes, dtype=dtype, device="meta")
            return self._torch.empty_strided(argument.sizes, argument.strides, dtype=dtype, device="meta")
        if isinstance(argument, DtypeRecipe):
            return getattr(self._torch, argument.name)
        return "meta" if isinstance(argument, DeviceRecipe) else argument


def _product(argument: Argument) -> int:
    """Of plain whole numbers, as of sizes."""
    if isinstance(argument, tuple):
        return prod(max(_product(item), 1) for item in argument)
    return argument if isinstance(argument, int) else 0


def _bytes(torch: Any, results: Any) -> int:
    if isinstance(results, (list, tuple)):
        return sum(_bytes(torch, result) for result in results)
    if not isinstance(results, torch.Tensor):
        return 0
    return int(results.numel()) * int(results.element_size())


def _check_device(device: str, torch: Any) -> None:
    if not device.startswith("cuda"):
        return
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(device.partition(":")[2] or 0) >= there:
        raise MachineLacks(f"needs {device}, this machine has {there or 'none'}")


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
