"""Programs that use another tool or an unusual part of torch: their results are as under plain python.

    python -m tests.collect.beside [NAME ...]

runs all whose packages are installed: coverage, debugpy, gevent, numba, uvloop. The tests run `CHEAP`.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.collect.runs import Pair, both
from tests.eager import WHOLE_TORCH

_HEAD = """
import sys, torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Linear(4, 4)
def step(x):
    net(x).sum().backward()
    return round(float(net.weight.grad.sum()), 4)
"""
_EXTENSION = r'''
from torch.utils.cpp_extension import load_inline
source = """
#include <ATen/record_function.h>
#include <atomic>
static std::atomic<int64_t> begun{0}, ended{0};
int64_t add() {
  return at::addGlobalCallback(at::RecordFunctionCallback(
    [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> { ++begun; return nullptr; },
    [](const at::RecordFunction&, at::ObserverContext*) { ++ended; })
    .scopes({at::RecordScope::FUNCTION}));
}
void take(int64_t handle) { at::removeCallback(handle); }
int64_t began() { return begun; }
int64_t finished() { return ended; }
"""
callbacks = load_inline("callbacks", source, functions=["add", "take", "began", "finished"])
'''


class Beside(NamedTuple):
    """A program.

    Attributes:
        package: what must be installed.
        words: what precedes the program's name, and follows `python`.
    """

    source: str
    package: str = "torch"
    words: tuple[str, ...] = ()


PROGRAMS = {
    "coverage": Beside(
        _HEAD + "print([step(torch.ones(2, 4)) for _ in range(3)])", "coverage", ("-m", "coverage", "run")
    ),
    "coverage-api": Beside(
        "import coverage\nwatch = coverage.Coverage(data_file=None)\nwatch.start()\n"
        + _HEAD
        + "print(step(torch.ones(2, 4)))\nwatch.stop()\n"
        "print(sorted(watch.get_data().lines(__file__)))\n",
        "coverage",
    ),
    "debugpy": Beside(
        "import os\nos.environ['PYDEVD_DISABLE_FILE_VALIDATION'] = '1'\n"
        "import debugpy\ndebugpy.listen(('127.0.0.1', 0))\n" + _HEAD + "print(step(torch.ones(2, 4)))\n"
        "debugpy.trace_this_thread(True)\nprint(step(torch.ones(2, 4)))\n",
        "debugpy",
    ),
    "gevent": Beside(
        "from gevent import monkey\nmonkey.patch_all()\nimport gevent\n" + _HEAD + "import time\n"
        "def task(n):\n    time.sleep(0.01 * n)\n    return step(torch.ones(2, 4) * n)\n"
        "print([job.get() for job in [gevent.spawn(task, n) for n in range(1, 5)]])\n",
        "gevent",
    ),
    "uvloop": Beside(
        _HEAD + "import asyncio, uvloop\n"
        "async def task(n):\n    await asyncio.sleep(0.01 * n)\n    return step(torch.ones(2, 4) * n)\n"
        "async def main():\n    return await asyncio.gather(*[task(n) for n in range(1, 5)])\n"
        "print(uvloop.run(main()))\n",
        "uvloop",
    ),
    "numba": Beside(
        _HEAD + "import numba, numpy\n"
        "@numba.njit(parallel=True)\ndef total(x):\n    s = 0.0\n"
        "    for i in numba.prange(len(x)):\n        s += x[i]\n    return s\n"
        "print(total(torch.ones(1000).numpy()), step(torch.ones(2, 4)))\n",
        "numba",
    ),
    "callbacks": Beside(
        _HEAD + _EXTENSION + "handle = callbacks.add()\nx = torch.ones(3)\n"
        "before = callbacks.began()\nfor _ in range(100): x = x + 1\n"
        "print(callbacks.began() - before, callbacks.began() == callbacks.finished())\n"
        "callbacks.take(handle)\nbefore = callbacks.began()\nx + 1\n"
        "print(callbacks.began() - before, step(x.new_ones(2, 4)))\n",
    ),
    "nested tensors": Beside(
        _HEAD + "parts = [torch.ones(2, 4), torch.ones(3, 4)]\n"
        "for layout in (torch.strided, torch.jagged):\n"
        "    many = torch.nested.nested_tensor(parts, layout=layout, requires_grad=True)\n"
        "    out = net(many)\n    print([tuple(part.shape) for part in out.unbind()])\n"
        "    sum(part.sum() for part in out.unbind()).backward()\n"
        "print(round(float(net.weight.grad.sum()), 3))\n",
    ),
    "dispatch mode": Beside(
        _HEAD + "from torch.utils._python_dispatch import TorchDispatchMode\n"
        "from torch.overrides import TorchFunctionMode\n"
        "class Count(TorchDispatchMode):\n    seen = []\n"
        "    def __torch_dispatch__(self, function, types, args=(), kwargs=None):\n"
        "        self.seen.append(str(function))\n        return function(*args, **(kwargs or {}))\n"
        "class Functions(TorchFunctionMode):\n    count = 0\n"
        "    def __torch_function__(self, function, types, args=(), kwargs=None):\n"
        "        Functions.count += 1\n        return function(*args, **(kwargs or {}))\n"
        "with Count(), Functions(): print(step(torch.ones(2, 4)))\n"
        "print(Count.seen, Functions.count)\n",
    ),
    "subclass": Beside(
        _HEAD + "class Own(torch.Tensor):\n    @classmethod\n"
        "    def __torch_function__(cls, function, types, args=(), kwargs=None):\n"
        "        calls.append(function.__name__)\n"
        "        return super().__torch_function__(function, types, args, kwargs or {})\n"
        "calls = []\nx = torch.ones(2, 4).as_subclass(Own)\n"
        "print(type(x + x).__name__, type(net(x)).__name__, calls)\n",
    ),
    "functorch": Beside(
        _HEAD + "from torch.func import functional_call, grad, jacrev, vmap\n"
        "values = dict(net.named_parameters())\n"
        "def loss(values, x): return functional_call(net, values, (x,)).sum()\n"
        "each = vmap(grad(loss), in_dims=(None, 0))(values, torch.ones(3, 2, 4))\n"
        "print({name: tuple(value.shape) for name, value in each.items()})\n"
        "print(jacrev(lambda x: (x * x).sum())(torch.ones(3)).tolist())\n",
    ),
    "AOTI": Beside(
        _HEAD + "program = torch.export.export(net, (torch.ones(2, 4),))\n"
        "path = torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[0] + '.pt2')\n"
        "model = torch._inductor.aoti_load_package(path)\n"
        "x = torch.ones(2, 4)\nprint(torch.allclose(model(x), net(x)))\n",
    ),
}
CHEAP = ("nested tensors", "dispatch mode", "subclass", "functorch")


def run(names: Sequence[str], folder: Path) -> Pair:
    """Runs these, joined to one program that ends with exit code 3, both ways."""
    source = "".join(PROGRAMS[name].source for name in names)
    (folder / "main.py").write_text(f"{source}\nsys.exit(3)\n")
    return both([*PROGRAMS[names[0]].words, "main.py"], folder, environment=WHOLE_TORCH)


def main(names: list[str]) -> int:
    """Prints how each ended; returns 1 if one differs."""
    wrong = 0
    for name in names or PROGRAMS:
        if importlib.util.find_spec(PROGRAMS[name].package) is None:
            print(f"{name}: {PROGRAMS[name].package} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            pair = run([name], Path(folder))
        plain, recorded = (
            (outcome.status, outcome.out, outcome.err) for outcome in (pair.plain, pair.recorded)
        )
        print(f"{name}: {'as plain' if plain == recorded else f'{plain} became {recorded}'}", flush=True)
        print(f"    {plain[:2]} {plain[2][-200:]!r} {pair.recorded.said}")
        wrong += plain != recorded
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
