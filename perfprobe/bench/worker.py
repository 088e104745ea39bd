"""A measuring process: `python -m perfprobe.bench.worker`, used by `process.MeasuringProcess`.

Standard input: a line of JSON with `Bench`'s settings, then one for each case. The process ends with it.
Standard output: a line with torch's version, then answers: partial ones and a final one for each case. Output
of libraries goes to standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any, TextIO

from perfprobe.bench.answers import Answer, Case, encode
from perfprobe.tables.measurements import Wanted

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Answers until standard input ends."""
    _die_with_the_parent()
    answers = _own_output()
    settings = json.loads(sys.stdin.readline() or "null")
    if settings is None:
        return
    import torch

    from perfprobe.bench.cases import Bench

    bench = Bench(torch, **settings)
    print(json.dumps({"torch": str(torch.__version__)}), file=answers, flush=True)

    def say(answer: Answer) -> None:
        print(encode(answer), file=answers, flush=True)

    for line in sys.stdin:
        asked = json.loads(line)
        say(bench.answer(Case(**{**asked, "wanted": _wanted(asked["wanted"])}), say))


def _wanted(fields: dict[str, Any]) -> Wanted:
    """Restores tuples, which JSON does not have."""
    whole: dict[str, Any] = {name: tuple(of) if isinstance(of, list) else of for name, of in fields.items()}
    return Wanted(**whole)


def _own_output() -> TextIO:
    """Returns a file for answers. All else that C code and Python print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _die_with_the_parent() -> None:
    """Has the kernel kill this process when its parent ends, even in a long call."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # if memory runs out, this process should be killed first
    except OSError:
        pass  # not on Linux, or not permitted: the memory limit still holds


if __name__ == "__main__":
    main()
