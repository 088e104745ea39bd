"""The program sees no frames of perfprobe: code that counts or shows frames sees those of plain python."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.collect.runs import Outcome, both

DEPTH = """
    def depth(n):
        try:
            return depth(n + 1)
        except RecursionError:
            return n
    def through_c(n):
        try:
            return list(map(through_c, [n + 1]))[0]
        except RecursionError:
            return n
    """

PROGRAMS = {
    "set_limit": "import sys\n"
    + dedent(DEPTH)
    + "sys.setrecursionlimit(600)\nprint(depth(0), through_c(0), sys.getrecursionlimit())\n",
    "limit": "import sys\n" + dedent(DEPTH) + "print(depth(0), through_c(0), sys.getrecursionlimit())\n",
    "limit_at_exit": "import atexit, sys\n" + dedent(DEPTH) + "sys.setrecursionlimit(300)\n"
    "atexit.register(lambda: print(depth(0), sys.getrecursionlimit()))\n",
    "limit_too_low": "import sys\nsys.setrecursionlimit(5)\nprint(sys.getrecursionlimit())\n",
    "fails_at_a_low_limit": "import sys\nsys.setrecursionlimit(15)\nraise ValueError(1)\n",
    "frames": """
        import inspect, sys, traceback
        def show():
            frame, names = sys._getframe(), []
            while frame is not None:
                names.append(frame.f_code.co_name)
                frame = frame.f_back
            print(names, len(inspect.stack()))
            traceback.print_stack()
        show()
        try:
            sys._getframe(2)
            print("there is more below")
        except ValueError as error:
            print(error)
        """,
    "generator": """
        import sys
        def numbers():
            for n in range(3):
                yield n, sys._getframe(1).f_code.co_name
        held = numbers()
        print(next(held), list(held))
        async def work():
            return sys._getframe(1).f_code.co_name
        try:
            work().send(None)
        except StopIteration as error:
            print(error.value)
        """,
    "faulthandler": """
        import faulthandler, threading
        def inner():
            faulthandler.dump_traceback()
        inner()
        started, over = threading.Event(), threading.Event()
        def wait():
            started.set()
            over.wait()
        thread = threading.Thread(target=wait)
        thread.start()
        started.wait()
        faulthandler.dump_traceback(all_threads=False)
        over.set()
        thread.join()
        """,
    "fork": """
        import os, sys
        if os.fork() == 0:
            print(sys._getframe().f_back, flush=True)
            raise SystemExit(3)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        """,
    "ends_deep": """
        import sys
        def down(n):
            if n == 0:
                sys.exit(4)
            down(n - 1)
        down(50)
        """,
    "collects": """
        import gc, sys
        class Ring:
            pass
        for _ in range(1000):
            ring = Ring()
            ring.self = ring
        gc.collect()
        print(len([one for one in gc.get_objects() if isinstance(one, Ring)]))
        """,
}


def seen(outcome: Outcome) -> tuple[int, bytes, bytes]:
    return outcome.status, outcome.out, re.sub(rb"0x[0-9a-f]+", b"0x", outcome.err)


@pytest.mark.parametrize("name", PROGRAMS)
def test_frames_are_as_under_plain_python(name: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(dedent(PROGRAMS[name]).lstrip("\n"))
    # From 3.12 on a fork with threads causes a warning, and the recording has a thread.
    variables = {"PYTHONWARNINGS": "ignore:This process:DeprecationWarning"}
    pair = both(["main.py"], tmp_path, environment=variables)
    assert seen(pair.recorded) == seen(pair.plain)


@pytest.mark.parametrize("words", [["-m", "main"], ["folder"], ["-c", "import main"], ["-"]], ids=" ".join)
def test_frames_are_as_under_plain_python_for_all_kinds_of_programs(words: list[str], tmp_path: Path) -> None:
    source = "\n".join(dedent(PROGRAMS[name]) for name in ("set_limit", "frames", "faulthandler"))
    (tmp_path / "main.py").write_text(source)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(source)
    pair = both(words, tmp_path, given=source.encode())
    assert seen(pair.recorded) == seen(pair.plain)
    assert b"<module>" in pair.recorded.err


def test_a_crash_with_faulthandler(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import ctypes\ndef crash():\n    ctypes.string_at(0)\ncrash()\n")
    pair = both(["main.py"], tmp_path, flags=["-X", "faulthandler"])
    recorded, plain = (seen(outcome) for outcome in (pair.recorded, pair.plain))
    in_c = b"\nCurrent thread's C stack trace"  # from 3.14 on; perfprobe's C functions are in it
    assert (*recorded[:2], recorded[2].partition(in_c)[0]) == (*plain[:2], plain[2].partition(in_c)[0])
    assert b"Segmentation fault" in pair.recorded.err
