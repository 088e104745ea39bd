"""What fails once passes on the second try, within a list; what fails twice fails the run."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import second_try
from tests.failures import Failure
from tests.second_try import LISTED, MOST_FAILED, MOST_LISTED, Refused
from tests.snapshots import Snapshot

ROOT = Path(__file__).resolve().parent.parent

# `first()`: whether this is the first time that a test of this name asks.
HEAD = """
import os, pytest
from pathlib import Path
def first(name):
    mark = Path(__file__).with_name(name + ".mark")
    was, _ = mark.exists(), mark.touch()
    return not was
"""
CALL = HEAD + "def test_call(): assert not first('call'), 'too slow'\ndef test_fine(): pass\n"
SET_UP = HEAD + (
    "@pytest.fixture(scope='module')\n"
    "def made():\n    if first('made'): raise OSError('no such machine')\n"
    "@pytest.mark.parametrize('n', range(9))\n"
    "def test_of(made, n): pass\n"
)
CRASH = HEAD + "def test_crash():\n    if first('crash'): os.abort()\ndef test_later(): pass\n"
ALONE = HEAD + "@pytest.mark.alone\ndef test_single(): assert not first('single')\n"
ALWAYS = HEAD + "@pytest.mark.parametrize('n', ['a b'])\ndef test_wrong(n): assert 1 == 2\n"
ABORT = HEAD + "def test_abort(): os.abort()\n"


def _with_one_processor() -> None:
    """Two processes run the tests then, instead of more that each take half a second to start."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def run(
    folder: Path, files: dict[str, str], *words: str, listed: dict[str, str] | None = None
) -> tuple[int, str]:
    """The exit status and the output of a run of these test files."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = alone\naddopts = --import-mode=importlib\n")
    (folder / "listed.json").write_text(json.dumps(listed or {}))
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.second_try", "--listed", "listed.json", "-q", *words],
        cwd=folder,
        env={**variables, "PYTHONPATH": str(ROOT)},
        preexec_fn=_with_one_processor,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


# What is printed beside pytest's own lines.
OWN = re.compile(r'again, alone|passed on|mend them|    "|failed twice|the (tests|second)|test_\w+\.py(::|$)')


def said(out: str) -> str:
    """The lines of second tries. Tests may end in any order, and any process may crash."""
    lines = [re.sub(r"gw\d+", "GW", line.rstrip(",")) for line in out.splitlines() if OWN.match(line)]
    return "\n".join(sorted(lines))


def test_what_fails_once_is_named_and_passes(tmp_path: Path, snapshot: Snapshot) -> None:
    files = {"call": CALL, "setup": SET_UP, "crash": CRASH, "alone": ALONE}
    status, out = run(tmp_path, files, listed={"test_call.py::test_call": "the clock is coarse"})
    assert status == 0, out
    _, _, to_add = out.partition("each with its cause:\n")
    lines = json.loads("{" + to_add + "}")
    assert set(lines) == {"test_setup.py set-up", "test_crash.py::test_crash", "test_alone.py::test_single"}
    snapshot(said(out))  # of 12 that failed nine did by one set-up


def test_what_fails_twice_fails_the_run(tmp_path: Path, snapshot: Snapshot) -> None:
    status, out = run(tmp_path, {"call": CALL, "always": ALWAYS})
    assert (status, out.partition("\nfailed twice:\n")[2]) == (1, "test_always.py::test_wrong[a b]\n"), out
    snapshot(said(out))


def test_a_crash_on_the_second_try_fails_the_run(tmp_path: Path, snapshot: Snapshot) -> None:
    status, out = run(tmp_path, {"abort": ABORT}, "test_abort.py")
    assert status == 1
    snapshot(said(out))


def test_a_file_that_cannot_be_imported_fails_the_run(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "tests").mkdir()  # of the real run: the one file with a test marked `alone` is the other
    (tmp_path / "tests" / "test_alone.py").write_text(ALONE)
    status, out = run(tmp_path, {"call": CALL, "import": "import nothing_of_this_name"})
    assert status == 1
    snapshot(said(out))


def test_a_wrong_run_has_no_second_try(tmp_path: Path) -> None:
    status, out = run(tmp_path, {"one": CALL}, "--no-such")
    assert (status, "again" in out) == (pytest.ExitCode.USAGE_ERROR, False), out


def test_a_run_that_selects_no_test_has_no_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = int(pytest.ExitCode.NO_TESTS_COLLECTED)
    monkeypatch.setattr(second_try, "_pytest", lambda _: (empty, []))
    assert second_try.main(["-k", "no_such"]) == empty


def failed(*tests: str) -> list[Failure]:
    return [Failure(test, test, "why") for test in tests]


def test_five_may_depend_on_the_machine() -> None:
    listed = dict.fromkeys("abcd", "known")
    second_try._judge(failed("a", "e"), [], listed)
    with pytest.raises(Refused, match="6 tests depend on the machine"):
        second_try._judge(failed("a", "e", "f"), [], listed)
    with pytest.raises(Refused, match=r"\nf$"):
        second_try._judge(failed("a", "e", "f"), failed("f"), listed)


def test_many_failures_are_not_run_again() -> None:
    with pytest.raises(Refused, match="too many to run again"):
        second_try._again(failed(*map(str, range(MOST_FAILED + 1))))


def test_the_committed_list_names_tests_and_causes() -> None:
    listed = json.loads(LISTED.read_text(encoding="utf-8"))
    assert len(listed) <= MOST_LISTED
    for name, cause in listed.items():
        file, _, test = name.removesuffix(" set-up").partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not test or test.partition("[")[0] in functions, name
        assert cause
