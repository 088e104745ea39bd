"""Other arguments for optimizers and their zero_grad()."""

from __future__ import annotations

from perfprobe.collect.tries.change import arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.collect.tries.change import Change


def fused(torch: Any, change: Change) -> None:
    """One operator for all parameters."""
    _set(torch, change, "fused", "foreach")


def foreach(torch: Any, change: Change) -> None:
    """Operators on lists of parameters."""
    _set(torch, change, "foreach", "fused")


def _set(torch: Any, change: Change, name: str, other: str) -> None:
    for kind in {each for each in vars(torch.optim).values() if isinstance(each, type)}:
        own = vars(kind).get("__init__")
        if own is not None and name in arguments(own):
            _set_of(kind, change, name, other)


def _set_of(kind: Any, change: Change, name: str, other: str) -> None:
    original = kind.__init__

    def made(self: Any, *plain: object, **given: Any) -> None:
        # AdamW calls Adam, where it is set by then.
        if not given.get(name) and not given.get("differentiable"):
            given |= {name: True} | ({other: None} if other in given else {})
            change.applied()
        original(self, *plain, **given)

    change.replace(kind, "__init__", made)


def set_to_none(torch: Any, change: Change) -> None:
    """No gradients in place of gradients of zeros."""
    for kind in (torch.optim.Optimizer, torch.nn.Module):
        _drop(kind, change)


def _drop(kind: Any, change: Change) -> None:
    original = kind.zero_grad

    def zero_grad(self: Any, set_to_none: bool = True) -> None:
        if not set_to_none:
            change.applied()
        original(self, set_to_none=True)

    change.replace(kind, "zero_grad", zero_grad)
