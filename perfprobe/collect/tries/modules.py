"""What is put around calls of modules that no other module calls."""

from __future__ import annotations

import gc
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfprobe.collect.tries.change import Change

    Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class _State(_local):
    is_inside = False  # on this thread


def _around(torch: Any, change: Change, step: Callable[..., Any]) -> None:
    """step: is called with the module, its arguments, and a function of arguments that calls the module."""
    kind, state = torch.nn.Module, _State()
    original = kind.__call__

    def called(self: Any, *plain: Any, **given: Any) -> Any:
        if state.is_inside:
            return original(self, *plain, **given)
        state.is_inside = True
        try:
            return step(self, plain, given, lambda plain, given: original(self, *plain, **given))
        finally:
            state.is_inside = False

    change.replace(kind, "__call__", called)


class _Once:
    """Tells whether a module with parameters is called for the first time."""

    def __init__(self) -> None:
        from weakref import WeakSet  # torch has it by now

        self._seen: Any = WeakSet()

    def is_first(self, module: Any) -> bool:
        """The module is remembered. A loss without parameters is no model."""
        if module in self._seen or not has_parameters(module):
            return False
        self._seen.add(module)
        return True


def has_parameters(module: Any) -> bool:
    """Whether it is more than a function."""
    return next(module.parameters(), None) is not None


def no_grad(torch: Any, change: Change) -> None:
    """No graph where a module is in eval(), unless its inputs need gradients."""

    def step(module: Any, plain: Any, given: Any, call: Call) -> Any:
        tensors = _tensors(torch, (*plain, *given.values()))
        if module.training or not torch.is_grad_enabled() or any(each.requires_grad for each in tensors):
            return call(plain, given)
        if has_parameters(module):
            change.applied()
        with torch.no_grad():
            return call(plain, given)

    _around(torch, change, step)


def bf16(torch: Any, change: Change) -> None:
    """Autocast, except where the program has its own."""

    def step(module: Any, plain: Any, given: Any, call: Call) -> Any:
        parameter = next(module.parameters(), None)
        kind = None if parameter is None else parameter.device.type
        if kind is None or torch.is_autocast_enabled(kind):
            return call(plain, given)
        change.applied()
        with torch.autocast(kind, dtype=torch.bfloat16):
            result = call(plain, given)
        return _converted(torch, result, torch.bfloat16, torch.float32)

    _around(torch, change, step)


def float32(torch: Any, change: Change) -> None:
    """float32 inside, float64 outside."""
    double, single = torch.float64, torch.float32

    def step(module: Any, plain: Any, given: Any, call: Call) -> Any:
        if not any(each.dtype == double for each in module.parameters()) and not change.times:
            return call(plain, given)
        default = torch.get_default_dtype()
        module.to(single)  # keeps the parameters that the optimizer has
        change.applied()
        torch.set_default_dtype(single)
        try:
            plain, given = (_converted(torch, each, double, single) for each in (plain, given))
            return _converted(torch, call(plain, given), single, double)
        finally:
            torch.set_default_dtype(default)

    _around(torch, change, step)


def channels_last(torch: Any, change: Change) -> None:
    """Weights once, images at each call."""
    once, layout = _Once(), torch.channels_last

    def step(module: Any, plain: Any, given: Any, call: Call) -> Any:
        if once.is_first(module) and any(each.dim() == 4 for each in module.parameters()):
            module.to(memory_format=layout)
            change.applied()
        plain = tuple(
            each.contiguous(memory_format=layout) if _is_image(torch, each) else each for each in plain
        )
        return call(plain, given)

    _around(torch, change, step)


def compiled(torch: Any, change: Change) -> None:
    """Compiles in place."""
    once = _Once()

    def step(module: Any, plain: Any, given: Any, call: Call) -> Any:
        if once.is_first(module) and module._compiled_call_impl is None:
            module.compile()
            change.applied()
        return call(plain, given)

    _around(torch, change, step)


def freeze(torch: Any, change: Change) -> None:
    """Once, when the first module is called: by then the program is set up."""

    def step(_: Any, plain: Any, given: Any, call: Call) -> Any:
        if not change.times:
            gc.collect()
            gc.freeze()
            change.applied()
        return call(plain, given)

    _around(torch, change, step)


def _is_image(torch: Any, value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() == 4


def _tensors(torch: Any, values: Any) -> list[Any]:
    return [each for each in values if isinstance(each, torch.Tensor)]


def _converted(torch: Any, value: Any, before: Any, after: Any) -> Any:
    """Tensors of one dtype in another one, also in tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        return value.to(after) if value.dtype == before else value
    if type(value) in (tuple, list):
        return type(value)(_converted(torch, each, before, after) for each in value)
    if isinstance(value, dict):
        for name in list(value):
            value[name] = _converted(torch, value[name], before, after)
    return value
