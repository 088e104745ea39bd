from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.tables.python import Origin, PythonCode
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from tests.build import Program, op

LEN = "<built-in method builtins.len>"

HOME = "/env/site-packages/perfprobe"
LAUNCHER = [
    "/lib/runpy.py:88/65 _run_code",
    f"{HOME}/__main__.py:12 <module>",
    f"{HOME}/cli/__init__.py:37 main",
]
RUNNER = f"{HOME}/collect/runner.py:49/31 run"
HOOK = f"{HOME}/collect/imports.py:60/50 Loader.exec_module"


def code_of(recording: Recording) -> PythonCode:
    python = link(recording).python
    assert python is not None
    return python


def name(recording: Recording, python: PythonCode, code: int) -> str | None:
    if code < 0:
        return None
    file = recording[Strings][python.code.file[code]]
    where = f"{file}:{python.code.first_line[code]} " if file else ""
    return where + recording[Strings][python.code.function[code]]


def rows(recording: Recording, python: PythonCode, table: Any) -> dict[Any, tuple[int, ...]]:
    """The figures of a cProfile table by the names of functions."""
    columns = table.columns()
    keys = [key for key in ("caller", "callee", "code") if key in columns]
    found = {}
    for at in range(len(table)):
        names = tuple(name(recording, python, int(columns[key][at])) for key in keys)
        values = tuple(int(column[at]) for key, column in columns.items() if key not in keys)
        found[names if len(names) > 1 else names[0]] = values
    return found


def test_a_function_from_several_sources_is_one_row(tmp_path: Path) -> None:
    program = Program(roots={"stdlib": "/lib", "site": "/env/site-packages"})
    program.thread(1)
    program.thread(2)
    stacks = [
        program.stack("a.py:20/18 main", "a.py:3/2 work"),
        program.stack("a.py:21/18 main", "a.py:4/2 work"),
        program.stack("a.py:21/18 main", "a.py:4/4 work"),  # another function with this name
        program.stack("/lib/json.py:5 dumps"),
    ]
    program.run(op("mm", 0, 9, stack=stacks[0]))
    main = program.counted("a.py:18 main", 1, 10, 100)
    work = program.counted("a.py:2 work", 7, 60, 80, primitive_calls=5)
    other = program.counted("a.py:2 work", 3, 6, 8, thread=1)
    length = program.counted(LEN, 9, 3, 3)
    program.call(main, work, 7, 60, 80)
    program.call(main, length, 4, 1, 1)
    program.call(work, length, 5, 2, 2)
    program.call(other, other, 2, 5, 5)
    recording = program.recording(tmp_path)
    python = code_of(recording)
    of_stack = python.of_stack.tolist()
    assert len(of_stack) == len(recording[Stacks]) + 1
    assert of_stack[-1] == -1
    assert [name(recording, python, of_stack[stack]) for stack in stacks] == [
        "a.py:2 work",
        "a.py:2 work",
        "a.py:4 work",
        "/lib/json.py:1 dumps",
    ]
    assert rows(recording, python, python.counted) == {
        "a.py:18 main": (1, 1, 10, 100),
        "a.py:2 work": (10, 8, 66, 88),
        LEN: (9, 9, 3, 3),
    }
    assert rows(recording, python, python.counted_calls) == {
        ("a.py:18 main", "a.py:2 work"): (7, 7, 60, 80),
        ("a.py:18 main", LEN): (4, 4, 1, 1),
        ("a.py:2 work", LEN): (5, 5, 2, 2),
        ("a.py:2 work", "a.py:2 work"): (2, 2, 5, 5),
    }


@pytest.mark.parametrize(
    ("function", "origin"),
    [
        ("a.py:1 f", Origin.USER),
        ("/env/site-packages/numpy/core.py:1 f", Origin.LIBRARY),
        ("/env/site-packages/torch/nn.py:1 f", Origin.TORCH),
        ("/lib/json.py:1 f", Origin.STDLIB),
        (LEN, Origin.STDLIB),
        ("<built-in method time.sleep>", Origin.STDLIB),
        ("<built-in method fromkeys>", Origin.STDLIB),
        ("<built-in method torch._C._nn.linear>", Origin.TORCH),
        ("<built-in method torchvision._C.nms>", Origin.LIBRARY),
        ("<built-in method numpy.array>", Origin.LIBRARY),
        ("<method 'append' of 'list' objects>", Origin.STDLIB),
        ("<method 'add' of 'torch._C.TensorBase' objects>", Origin.TORCH),
        ("<method 'sort' of 'numpy.ndarray' objects>", Origin.LIBRARY),
    ],
)
def test_the_origin_of_a_function(tmp_path: Path, function: str, origin: Origin) -> None:
    program = Program(roots={"stdlib": "/lib"})
    program.thread(1)
    program.counted(function, 1, 2, 3)
    python = code_of(program.recording(tmp_path))
    assert python.code.origin.tolist() == [origin]


def chains(recording: Recording, python: PythonCode, stacks: list[int]) -> list[list[str | None]]:
    """The functions on each stack, outermost first; None for hidden frames."""
    found = []
    for innermost in stacks:
        chain: list[str | None] = []
        stack = innermost
        while stack >= 0:
            chain.insert(0, name(recording, python, int(python.of_stack[stack])))
            stack = int(recording[Stacks].parent[stack])
        found.append(chain)
    return found


def test_frames_of_the_launcher_and_perfprobe_are_hidden(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    runpy, action = "/lib/runpy.py:88/65 _run_code", f"{HOME}/cli/run.py:71/70 prepare.<locals>.action"
    stacks = [
        program.stack(*LAUNCHER, action, RUNNER, "a.py:9 <module>", "a.py:5/4 main"),
        program.stack(*LAUNCHER, action, RUNNER, runpy, "a.py:9 <module>"),  # -m
        program.stack(*LAUNCHER, action, RUNNER, "a.py:9 <module>", HOOK, "t.py:1 <module>"),
        program.stack(
            *LAUNCHER, action, RUNNER, "a.py:9 <module>", runpy, "b.py:1 <module>"
        ),  # the program's own use of runpy
        program.stack(*LAUNCHER, f"{HOME}/session.py:80 Session.start", "/lib/json.py:5 dumps"),
        program.stack(f"{HOME}/cli/run.py:90 Finish.__call__", "/lib/json.py:5 dumps"),
        program.stack("/lib/threading.py:5 run", "a.py:5/4 main"),
    ]
    recording = program.recording(tmp_path)
    python = code_of(recording)
    skipped = [None] * 5
    run_code = "/lib/runpy.py:65 _run_code"
    assert chains(recording, python, stacks) == [
        [*skipped, "a.py:1 <module>", "a.py:4 main"],
        [*skipped, None, "a.py:1 <module>"],
        [*skipped, "a.py:1 <module>", None, "t.py:1 <module>"],
        [*skipped, "a.py:1 <module>", run_code, "b.py:1 <module>"],
        [*skipped],
        [None, None],
        ["/lib/threading.py:1 run", "a.py:4 main"],
    ]


def test_a_block_in_a_script_has_no_launcher(tmp_path: Path) -> None:
    program = Program()
    stack = program.stack(
        "a.py:9 <module>", f"{HOME}/session.py:200 Profile.__exit__", "/lib/json.py:5 dumps"
    )
    recording = program.recording(tmp_path)
    assert chains(recording, code_of(recording), [stack]) == [
        ["a.py:1 <module>", None, "/lib/json.py:1 dumps"]
    ]


def test_rows_of_perfprobe_in_cprofile_are_left_out(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    runner = program.counted(f"{HOME}/collect/runner.py:31 run", 1, 5, 99)
    main = program.counted("a.py:1 main", 1, 10, 90)
    hook = program.counted(f"{HOME}/collect/imports.py:50 exec_module", 1, 5, 5)
    program.call(runner, main, 1, 10, 90)
    program.call(main, hook, 1, 5, 5)
    recording = program.recording(tmp_path)
    python = code_of(recording)
    assert rows(recording, python, python.counted) == {"a.py:1 main": (1, 1, 10, 90)}
    assert rows(recording, python, python.counted_calls) == {(None, "a.py:1 main"): (1, 1, 10, 90)}


def test_the_row_for_other_stacks_is_no_function(tmp_path: Path) -> None:
    program = Program()
    program.row("stacks", -1, -1, -1)
    program.stack("a.py:1 main")
    assert code_of(program.recording(tmp_path)).of_stack.tolist() == [-1, 0, -1]


def test_without_python_functions_there_is_no_table(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("mm", 0, 9))
    assert link(program.recording(tmp_path)).python is None


def test_ids_that_refer_to_nothing(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    one = program.counted("a.py:1 main", 1, 10, 90, file=99, function=-7, thread=-3, first_line=-(2**31))
    program.counted("a.py:1 main", -(2**63), 2**63 - 1, -1)
    program.call(one, 77, 1, 1, 1)
    program.call(88, one, 1, 1, 1)
    python = code_of(program.recording(tmp_path))
    assert (python.counted_calls.caller.tolist(), len(python.counted)) == ([-1], 2)
