"""Imports of libraries, from stacks written by hand."""

from __future__ import annotations

from pathlib import Path

from perfprobe.merge import link
from perfprobe.report.rows.hot_functions import hot_functions
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.section.imports import imports_text
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure, Look
from tests.build import Program
from tests.found import find
from tests.snapshots import Snapshot

MS = 1_000_000
FIND = "<frozen importlib._bootstrap>:1176 _find_and_load"
COMPILE = "<frozen importlib._bootstrap_external>:729 _compile_bytecode"
SITE = "/env/site-packages"
TORCH, DYNAMO, SYMPY = (
    f"{SITE}/{name}/__init__.py:1 <module>" for name in ("torch", "torch/_dynamo", "sympy")
)
ADAM = f"{SITE}/torch/optim/adam.py:60/40 Adam.__init__"
BASE = f"{SITE}/torch/_compile.py:30 inner"
MAIN, BUILD = "/p/train.py:3/1 <module>", "/p/train.py:36/30 build"
OWN = "/p/model.py:2/1 <module>"
META = {
    "start": {"monotonic_ns": 0},
    "stop": {"monotonic_ns": 1000 * MS},
    "program": {"pid": 1001, "argv": ["train.py"]},
    "roots": {"site": [SITE], "script": "/p"},
}


def found(folder: Path, *samples: tuple[int, tuple[str, ...]]) -> Findings:
    """The imports of a program with looks of these numbers of milliseconds, one after the other."""
    program = Program(**META)
    program.thread(1, "main")
    at = 0
    for time_ms, frames in samples:
        program.sample(at * MS, (at + time_ms) * MS, *frames, looks=time_ms, cpu_ns=time_ms * MS)
        at += time_ms
    return find(link(program.recording(folder)), CallStructure)


def reported(findings: Findings) -> list[tuple[str | None, str | None, int | None, int]]:
    rows = import_rows(findings.trace, findings[CallStructure])
    return [(row.module, row.by, row.line and row.line.line, row.time_ns // MS) for row in rows]


def test_nested_imports_are_part_of_the_outer_import(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        (10, (MAIN, FIND)),  # searches for torch, of which nothing has run yet
        (200, (MAIN, FIND, TORCH)),
        (50, (MAIN, FIND, TORCH, FIND, COMPILE)),
        (40, (MAIN, FIND, TORCH, FIND, SYMPY, f"{SITE}/sympy/core.py:9/4 make")),
        (100, (MAIN, BUILD)),
    )
    assert reported(findings) == [("torch", None, 3, 300)]
    assert imports_text(import_rows(findings.trace, findings[CallStructure])) == "torch 300 ms"


def test_callers_of_importing_functions(tmp_path: Path, snapshot: Snapshot) -> None:
    findings = found(
        tmp_path,
        (20, (MAIN, FIND, TORCH)),
        (90, (MAIN, BUILD, ADAM, BASE, FIND, DYNAMO, FIND, SYMPY)),
        (5, (MAIN, BUILD, ADAM, BASE, FIND)),
        (30, (MAIN, BUILD, ADAM)),
    )
    assert reported(findings) == [("torch._dynamo", "Adam", 36, 95), ("torch", None, 3, 20)]
    snapshot(imports_text(import_rows(findings.trace, findings[CallStructure])))


def test_a_decorators_wrapper_counts_as_the_function(tmp_path: Path) -> None:
    wrapper = f"{SITE}/torch/rpc.py:90/89 checked.<locals>.wrapper"
    shutdown = f"{SITE}/torch/rpc.py:300 shutdown"
    findings = found(
        tmp_path,
        (90, (MAIN, BUILD, wrapper, wrapper, shutdown, f"{SITE}/torch/rpc.py:310 join", FIND, DYNAMO)),
        (20, (MAIN, BUILD, wrapper, FIND, SYMPY)),  # sympy has no other frames on the stack
    )
    assert reported(findings) == [
        ("torch._dynamo", "shutdown", 36, 90),
        ("sympy", "checked.<locals>.wrapper", 36, 20),
    ]


def test_the_users_modules_are_not_imports(tmp_path: Path) -> None:
    work = "/p/model.py:9/8 tables"
    findings = found(
        tmp_path,
        (70, (MAIN, FIND, OWN, work)),
        (40, (MAIN, FIND, OWN, FIND, TORCH)),
    )
    assert reported(findings) == [("torch", None, 2, 40)]
    shown = hot_functions(findings, 0, "self")
    assert [(row.function.function, row.shown_own_ns) for row in shown.rows[:2]] == [
        ("tables", 70 * MS),
        ("imports", 40 * MS),
    ]


def test_ranking_excludes_time_in_imports(tmp_path: Path) -> None:
    make = f"{SITE}/fields.py:4 make"
    findings = found(
        tmp_path,
        (300, (MAIN, FIND, TORCH, make)),
        (20, (MAIN, BUILD, make)),
        (25, (MAIN, BUILD)),
    )
    shown = hot_functions(findings, 3, "self")
    assert [(row.function.function, row.shown_own_ns) for row in shown.rows] == [
        ("imports", 300 * MS),
        ("build", 25 * MS),
        ("make", 20 * MS),
    ]
    (make_row,) = (row for row in shown.rows if row.function.function == "make")
    assert (make_row.own_ns, make_row.importing_ns) == (320 * MS, 300 * MS)


def test_waiting_threads_are_ranked_last(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1, "main")
    program.thread(2, "pool")
    program.sample(0, 1000 * MS, "/lib/python3.11/threading.py:3 wait", thread=1, looks=100, cpu_ns=MS)
    program.sample(0, 100 * MS, MAIN, BUILD, looks=10, cpu_ns=99 * MS)
    program.sample(100 * MS, 900 * MS, MAIN, "/lib/python3.11/queue.py:3 get", looks=80, cpu_ns=MS)
    shown = hot_functions(find(link(program.recording(tmp_path)), CallStructure), 0, "self")
    # Waiting of the main thread counts for the program.
    assert [(row.function.function, row.own_ns, row.shown_own_ns) for row in shown.rows if row.own_ns] == [
        ("get", 800 * MS, 800 * MS),
        ("build", 100 * MS, 100 * MS),
        ("wait", 1000 * MS, 0),
    ]
    assert shown.python.idle_ns == 1000 * MS


def test_failed_looks_are_not_imports(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1, "main")
    program.sample(0, 10 * MS, stack=-1, look=Look.FAILED)
    program.sample(10 * MS, 20 * MS, MAIN, FIND, TORCH)
    assert reported(find(link(program.recording(tmp_path)), CallStructure)) == [("torch", None, 3, 10)]
