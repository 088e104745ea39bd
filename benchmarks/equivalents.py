"""Faster forms of operators, each on a call that it helps and on one that it does not: which is faster here?

    python -m benchmarks.equivalents [--seconds S] [FORM ...]

Prints for each form the speed-up on both calls, in CPU time by pairs of blocks, and whether the results are
equal. Exits with code 1 if a form gives another result, or helps on none of its calls: such a form does not
belong in `perfprobe/bench/equivalents`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch

from perfprobe.bench.equivalents.form import Form
from perfprobe.bench.equivalents.tried import FORMS, fitting, same

Call = tuple[tuple[Any, ...], dict[str, Any]]
_M = 1 << 20


def floats(*sizes: int) -> torch.Tensor:
    """Positive numbers."""
    return torch.rand(*sizes) + 0.1


def ints(most: int, *sizes: int) -> torch.Tensor:
    """Numbers from 0."""
    return torch.randint(0, most, sizes)


def bools(*sizes: int) -> torch.Tensor:
    """True and false."""
    return torch.rand(*sizes) < 0.5


def given(*args: Any, **kwargs: Any) -> Call:
    """A call."""
    return args, kwargs


# By operator: calls that its forms help, and calls that they hardly help or slow down.
CALLS: dict[str, tuple[Callable[[], list[Call]], Callable[[], list[Call]]]] = {
    "aten::sum": (lambda: [given(bools(16 * _M))], lambda: [given(bools(8))]),
    "aten::any": (lambda: [given(torch.zeros(16 * _M, dtype=torch.bool))], lambda: [given(bools(8))]),
    "aten::all": (lambda: [given(torch.ones(16 * _M, dtype=torch.bool))], lambda: [given(bools(8))]),
    "aten::any.dim": (
        lambda: [given(torch.zeros(2048, 2048, dtype=torch.bool), 1)],
        lambda: [given(bools(8, 8), 1)],
    ),
    "aten::all.dim": (
        lambda: [given(torch.ones(2048, 2048, dtype=torch.bool), 1)],
        lambda: [given(bools(8, 8), 1)],
    ),
    "aten::sum.dim_IntList": (lambda: [given(floats(_M, 3), [1])], lambda: [given(floats(512, 16), [1])]),
    "aten::mean.dim": (lambda: [given(floats(_M, 3), [1])], lambda: [given(floats(512, 16), [1])]),
    "aten::var.correction": (
        lambda: [given(floats(10_000, 256), [1])],
        lambda: [given(floats(4, 4), [1])],
    ),
    "aten::std.correction": (
        lambda: [given(floats(10_000, 256), [1])],
        lambda: [given(floats(4, 4), [1])],
    ),
    "aten::pow.Tensor_Scalar": (
        lambda: [given(floats(_M), value) for value in _exponents()],
        lambda: [given(floats(64), value) for value in _exponents()],
    ),
    "aten::pow.Scalar": (
        lambda: [given(base, floats(_M)) for base in (2, 10)],
        lambda: [given(base, floats(8)) for base in (2, 10)],
    ),
    "aten::remainder.Scalar": (
        lambda: [given(ints(1 << 30, _M), 64), given(100 * floats(_M), 6.5)],
        lambda: [given(ints(1 << 30, 8), 64), given(floats(64), 6.5)],
    ),
    "aten::floor_divide": (
        lambda: [given(ints(1 << 30, _M), torch.tensor(64)), given(floats(_M), torch.tensor(64.0))],
        lambda: [given(ints(1 << 30, 8), torch.tensor(64)), given(floats(64), torch.tensor(64.0))],
    ),
    "aten::where.self": (
        lambda: [given(bools(_M), floats(_M), torch.tensor(0.0))],
        lambda: [given(bools(8), floats(8), torch.tensor(0.0))],
    ),
    "aten::sort": (lambda: [given(torch.randn(_M))], lambda: [given(torch.randn(100_000, 4))]),
    "aten::median": (lambda: [given(torch.randn(_M))], lambda: [given(torch.randn(8))]),
    "aten::median.dim": (lambda: [given(torch.randn(1000, 1000), 1)], lambda: [given(torch.randn(8, 8), 1)]),
    "aten::kthvalue": (lambda: [given(torch.randn(_M), 1000)], lambda: [given(torch.randn(8), 3)]),
    "aten::topk": (
        lambda: [given(torch.randn(_M), _M // 2), given(torch.randn(_M), 8)],
        lambda: [given(torch.randn(20_000, 70), 66), given(torch.randn(100), 8)],
    ),
    "aten::argmax": (
        lambda: [given(torch.randn(1000, 1000), 1)],
        lambda: [given(torch.randn(100_000, 2), 1)],
    ),
    "aten::argmin": (
        lambda: [given(torch.randn(1000, 1000), 1)],
        lambda: [given(torch.randn(100_000, 2), 1)],
    ),
    "aten::max.dim": (
        lambda: [given(torch.randn(1000, 1000), 1)],
        lambda: [given(torch.randn(100_000, 2), 1)],
    ),
    "aten::min.dim": (
        lambda: [given(torch.randn(1000, 1000), 1)],
        lambda: [given(torch.randn(100_000, 2), 1)],
    ),
    "aten::_unique2": (lambda: [given(ints(1000, _M))], lambda: [given(ints(1 << 22, 1000))]),
    "aten::index.Tensor": (
        lambda: [
            given(floats(100_000, 64), [ints(100_000, 100_000)]),
            given(floats(100_000, 64), [bools(100_000)]),
        ],
        lambda: [given(floats(8, 8), [ints(8, 8)]), given(floats(8, 2), [bools(8)])],
    ),
    "aten::nonzero": (lambda: [given(bools(_M))], lambda: [given(bools(8))]),
    "aten::cumsum": (lambda: [given(floats(4096, 1024), 0)], lambda: [given(floats(8, 8), 0)]),
    "aten::bmm": (
        lambda: [
            given(floats(1000, 4, 8), floats(8, 8).expand(1000, 8, 8)),
            given(floats(64, 256, 1), floats(64, 1, 256)),
        ],
        lambda: [
            given(floats(8, 256, 256), floats(256, 256).expand(8, 256, 256)),
            given(floats(2, 4, 1), floats(2, 1, 4)),
        ],
    ),
    "aten::convolution": (lambda: [_convolution(100_000, 1001)], lambda: [_convolution(10_000, 65)]),
    "aten::avg_pool2d": (
        lambda: [given(floats(16, 64, 32, 32), [32, 32])],
        lambda: [given(floats(1, 2, 4, 4), [4, 4])],
    ),
    "aten::max_pool2d_with_indices": (
        lambda: [given(torch.randn(16, 64, 32, 32), [2, 2])],
        lambda: [given(torch.randn(1, 2, 4, 4), [2, 2])],
    ),
}


def _exponents() -> list[float]:
    return [0.25, 0.75, 1.5, -1.5, 2.5, 4.0, 5.0, 6.0, 8.0]


def _convolution(length: int, kernel: int) -> Call:
    plain = ([1], [0], [1], False, [0], 1)
    return given(torch.randn(1, 1, length), torch.randn(1, 1, kernel), None, *plain)


def function(operator: str) -> Callable[..., Any]:
    """Torch's own operator."""
    name, _, overload = operator.removeprefix("aten::").partition(".")
    found: Callable[..., Any] = getattr(getattr(torch.ops.aten, name), overload or "default")
    return found


def speedup(call: Callable[[], Any], form: Callable[[], Any], seconds: float) -> float:
    """The median over pairs of blocks in turns, by CPU time."""
    ratios: list[float] = []
    end_s = time.process_time() + seconds
    number = max(int(2e-4 / max(_block_s(call, 3), 1e-9)), 1)
    while len(ratios) < 5 or (time.process_time() < end_s and len(ratios) < 50):
        ratios.append(_block_s(call, number) / _block_s(form, number))
    return median(ratios)


def _block_s(call: Callable[[], Any], number: int) -> float:
    call()
    began_s = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - began_s) / number


def rows(words: list[str], seconds: float) -> Iterator[tuple[str, Form, list[float], bool]]:
    """Yields operator, form, speed-ups on both calls, and whether the form is right."""
    for operator, sides in CALLS.items():
        if words and not any(word in operator for word in words):
            continue
        for helped, other in zip(*(side() for side in sides), strict=True):
            for form in fitting(operator, *helped):
                found = [_timed(operator, form, call, seconds) for call in (helped, other)]
                yield operator, form, [factor for factor, _ in found], all(right for _, right in found)


def _timed(operator: str, form: Form, call: Call, seconds: float) -> tuple[float, bool]:
    (args, kwargs), called = call, function(operator)
    expected, found = called(*args, **kwargs), form.call(torch, *args, **kwargs)
    is_right = same(torch, expected if form.part is None else expected[form.part], found)
    factor = speedup(lambda: called(*args, **kwargs), lambda: form.call(torch, *args, **kwargs), seconds)
    return factor, is_right


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.3, help="CPU time of a pair")
    parser.add_argument("words", nargs="*", metavar="FORM", help="parts of operators' names")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    failed, seen = 0, set()
    for operator, form, (helped, other), is_right in rows(options.words, options.seconds):
        seen.add(form)
        bad = "" if is_right else "  other result"
        bad += "" if helped > 1.15 else "  not faster"
        failed += bool(bad)
        print(f"{operator:32} {helped:7.2f}x {other:7.2f}x  {form.shown}{bad}", flush=True)
    missing = [form.shown for form in FORMS if form not in seen] if not options.words else []
    print(f"{len(seen)} forms, {failed} failed{', not tried: ' + '; '.join(missing) if missing else ''}")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
