"""Makes a callable from a recipe. Needs torch."""

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
from perfprobe.support import units

# What torch raises for a call that it rejects. NotImplementedError is a RuntimeError.
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, MemoryError, OverflowError)


class Rebuilt:
    """A call: `rebuilt.function(*operands.args, **operands.kwargs)`.

    Some kernels of torch do not check that operands fit each other. The operands of a damaged recording may
    crash the process, so calls run in their own process.

    Attributes:
        function: torch's OpOverload.
        operand_bytes: size of one set of operands.
        result_bytes: estimated size of the results.
        writes: whether the call changes an operand, so that `restore()` is needed.

    Raises:
        NotRebuilt: something that the call needs is missing here, or its results are estimated to take more
            than `limit_bytes`.
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
            size_gib = units.significant(self.result_bytes / (1 << 30), 3)
            raise MachineLacks(f"its results may take {size_gib} GiB")

    def operands(self, seed: int) -> Operands:
        """Makes a new set of operands. Raises NotRebuilt if torch cannot make it."""
        try:
            return Operands(self._torch, self._call, seed)
        except _REFUSALS as error:
            raise NotRebuilt(f"its operands cannot be made: {_line(error)}") from None

    def run(self, operands: Operands) -> Any:
        """Calls it once. Raises NotRebuilt if torch rejects the call."""
        try:
            return self.function(*operands.args, **operands.kwargs)
        except _REFUSALS as error:
            raise NotRebuilt(f"torch rejects the call: {_line(error)}") from None

    def one_element(self, extent: int = 1) -> CallRecipe:
        """Returns the same overload on the smallest operands that it accepts, to time the call's overhead.

        Args:
            extent: least size of each dimension. The kernel for one element may be slow, so the least time
                over a few extents is more reliable.

        Raises:
            NotRebuilt: no small operands were found.
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
        """Estimates the size by a call on meta tensors, else from the integers among the arguments."""
        arguments = [self._without_data(argument) for argument in self.recipe.arguments]
        keywords = {name: self._without_data(value) for name, value in self.recipe.keywords.items()}
        if "device" in keywords:
            keywords["device"] = "meta"
        try:
            with self._torch.no_grad():
                return _bytes(self._torch, self.function(*arguments, **keywords))
        except Exception:  # some are written in Python, where anything may be raised that real operands avoid
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
    """Returns the product of plain integers, which may be sizes."""
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
