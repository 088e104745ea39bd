"""Tries the frame reader in another Python, which needs nothing installed.

    python -m tests.collect.frames_elsewhere MODULE.so [FIRST_SEED]

Prints what was compared as JSON; `wrong` must be empty.
"""

from __future__ import annotations

import json
import sys
import threading
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType

from tests.collect.call_trees import grow
from tests.collect.compared import Compared, plain, walked

DEEP = 10_000


def loaded(path: str) -> ModuleType:
    """The extension module in this file."""
    loader = ExtensionFileLoader("frames_module", path)
    module = module_from_spec(ModuleSpec("frames_module", loader, origin=path))
    loader.exec_module(module)
    return module


def deep(core: ModuleType, left: int) -> bool:
    """Whether a stack with this many more calls is read as it is."""
    if left > 0:
        return deep(core, left - 1)
    rows, expected = core.stack_kept()[0], walked(0)
    return plain(rows) == expected


def compare_threads(core: ModuleType, first: int) -> tuple[int, list[object]]:
    """How many stacks of other threads were equal, and those that were not."""
    threads = [threading.Thread(target=grow, args=(first + each, lambda: None, 400)) for each in range(3)]
    equal = 0
    wrong: list[object] = []
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for sampled, public in core.stacks_of_threads():
            equal += sampled == public
            if sampled != public:
                wrong.append((sampled, public))
    sys.setswitchinterval(0.005)
    return equal, wrong


def main(path: str, first: int = 0) -> None:
    """Compares random trees of calls, a deep stack, and stacks of other threads."""
    core = loaded(path)
    looks = [Compared(core, first + each) for each in range(4)]
    for each, look in enumerate(looks):
        grow(first + each, look, 1200)
    equal, wrong = compare_threads(core, first)
    sys.setrecursionlimit(DEEP + 1000)
    result = {
        "misfit": core.frames_misfit(),
        "looks": sum(look.looks for look in looks),
        "kept": sum(look.kept for look in looks),
        "is_deep_right": deep(core, DEEP),
        "threads": equal,
        "wrong": [repr(one) for one in [*wrong, *(one for look in looks for one in look.wrong)]][:3],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
