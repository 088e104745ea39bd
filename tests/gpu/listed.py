"""The checks, in the order they run: what is needed most comes first, should the time not suffice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """function: "module:function", called with a `child.Room` in a process of its own."""

    name: str
    function: str
    limit_s: float
    with_standin: bool = False  # whether it can also run without a GPU, against the stand-in for libcupti


def _check(module: str, name: str, limit_s: float = 60.0, *, with_standin: bool = False) -> Check:
    return Check(name, f"tests.gpu.{module}:{name}", limit_s, with_standin)


CHECKS: tuple[Check, ...] = ()
