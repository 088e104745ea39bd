"""Modules, folders, zip files, compiled files and interpreter flags behave as under plain python."""

from __future__ import annotations

import os
import py_compile
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from perfprobe.collect.runner import dedented
from tests.collect.runs import Outcome, both, finish, start

SHOW = """
import sys
print(__name__, __file__, __package__, __cached__, sorted(globals()))
print(__spec__ and (__spec__.name, __spec__.origin), type(__loader__).__name__)
print(sys.argv, sys.path, sys.modules["__main__"].__dict__ is globals())
def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n
print(depth(0))
"""

# Modules and code that python refuses before it runs any of it.
NOT_STARTED = ("package.broken", "package.absent", "package.part", "x = = 1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    (package / "part").mkdir(parents=True)
    (package / "__init__.py").write_text("print('package imported as', __name__)\n")
    (package / "__main__.py").write_text(f"from . import beside\n{SHOW}")
    (package / "beside.py").write_text("value = 1\n")
    (package / "fails.py").write_text("from .beside import value\nraise ValueError(value)\n")
    (package / "broken.py").write_text("def (:\n")
    (package / "shows.py").write_text(SHOW)
    (package / "part" / "__init__.py").touch()
    (package / "workers.py").write_text(
        "import multiprocessing\n"
        "from .beside import value\n"
        "def work(x): return x + value\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool: print(pool.map(work, [1, 2]))\n"
    )
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "__main__.py").write_text(SHOW)
    (tmp_path / "shows.py").write_text(SHOW)
    (tmp_path / "link.py").symlink_to("plain/__main__.py")
    py_compile.compile(str(tmp_path / "shows.py"), str(tmp_path / "compiled.pyc"))
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("__main__.py", f"import other\n{SHOW}")
        archive.writestr("other.py", "print('other')\n")
    return tmp_path


def seen(outcome: Outcome) -> tuple[int, bytes, bytes]:
    return outcome.status, outcome.out, re.sub(rb"0x[0-9a-f]+", b"0x", outcome.err)


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "package"],
        ["-m", "package.shows", "a", "-m", "b"],
        ["-m", "package.fails"],
        ["-m", "package.broken"],
        ["-m", "package.absent"],
        ["-m", "package.part"],
        ["-m", "package.workers"],
        ["-m", "shows"],
        ["-mshows", "--top", "3"],
        ["plain", "a"],
        ["plain/"],
        ["app.zip", "b"],
        ["./shows.py"],
        ["package/../shows.py"],
        ["link.py"],
        ["compiled.pyc"],
        ["package/fails.py"],
        ["/dev/stdin", "x"],
    ],
    ids=" ".join,
)
def test_kinds_of_programs_run_as_under_plain_python(words: list[str], folder: Path) -> None:
    pair = both(words, folder, given=b"import sys; print(sys.argv, __file__)\n")
    assert seen(pair.recorded) == seen(pair.plain)
    assert pair.recording.exists() == (words[-1] not in NOT_STARTED)


SHOW_CODE = """
import sys
print({name: str(value)[:60] for name, value in sorted(globals().items()) if name != "__builtins__"})
print(sys.argv, sys.path, sys.modules["__main__"].__dict__ is globals(), sys.stdin.read())
"""


@pytest.mark.parametrize(
    "words",
    [
        ["-c", SHOW_CODE, "a", "-m", "-c"],
        ["-cimport sys; print(sys.argv)", "-q"],
        ["-c", "# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))"],
        ["-c", "def fails():\n    1 / 0\nfails()"],
        ["-c", "x = = 1"],
        ["-c", "import sys; sys.exit('a last word')"],
        ["-c", "from package import beside; print(beside.__file__)"],
        ["-c", ""],
    ],
    ids=lambda words: f"{words[0][:9]} {words[-1][:20]}",
)
@pytest.mark.parametrize("flags", [[], ["-I"]], ids=["", "isolated"])
def test_code_on_the_command_line(words: list[str], flags: list[str], folder: Path) -> None:
    pair = both(words, folder, given=b"left to it", flags=flags)
    assert seen(pair.recorded) == seen(pair.plain)
    assert pair.recording.exists() == (words[-1] not in NOT_STARTED)


@pytest.mark.parametrize(
    "source",
    [
        SHOW_CODE.encode(),
        b"def fails():\n    1 / 0\nfails()\n",
        b"x = = 1\n",
        b"import sys; sys.exit(3)",
        b"",
    ],
)
def test_a_script_on_standard_input_runs_as_under_plain_python(source: bytes, folder: Path) -> None:
    pair = both(["-", "a", "-"], folder, given=source)
    assert seen(pair.recorded) == seen(pair.plain)
    assert pair.recording.exists() == (source.decode().strip() not in NOT_STARTED)


def test_recordings_of_all_kinds_have_a_name_and_a_title(tmp_path: Path) -> None:
    source = "def work():\n    return sum(range(10))\nwork()\n"
    for words, stem, title in ((["-c", source, "a"], "command", "-c a "), (["-", "a"], "stdin", "- a ")):
        outcome = finish(start(["-m", "perfprobe", "--full", *words], tmp_path), source.encode())
        (recording,) = tmp_path.glob(".perfprobe/*.perfprobe")
        assert recording.name.startswith(f"{stem}-")
        assert outcome.err.decode().startswith(title)
        assert b"Not recorded" in outcome.err
        recording.unlink()


@pytest.mark.parametrize(
    "words",
    [
        ["absent.py"],
        ["absent/absent.py", "a"],
        ["shows.py/absent.py"],
        ["it's absent"],
        ["absent.zip"],
        ["-m", "absent_module"],
        ["-m", "absent.module"],
        ["-m", "package.part.absent"],
        ["-m", ".package"],
        ["package/part"],
        ["package/part/", "a"],
        ["empty.zip"],
    ],
    ids=" ".join,
)
def test_programs_that_python_cannot_start(words: list[str], folder: Path) -> None:
    with zipfile.ZipFile(folder / "empty.zip", "w") as archive:
        archive.writestr("other.py", "")
    pair = both(words, folder)
    assert pair.plain.status in (1, 2)
    assert seen(pair.recorded) == seen(pair.plain)
    assert pair.recorded.err
    if not words[-1].startswith("package."):  # the code of its package is part of the program and has run
        assert not pair.recording.exists()
        assert pair.recorded.said == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_script(folder: Path) -> None:
    (folder / "shows.py").chmod(0)
    pair = both(["shows.py"], folder)
    assert seen(pair.recorded) == seen(pair.plain)


@pytest.mark.parametrize("words", [["{folder}/shows.py"], ["shows.py"], ["-m", "shows"], ["-c", "print(1)"]])
def test_a_deleted_current_folder(words: list[str], folder: Path) -> None:
    """The recording would be written there."""
    gone = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    words = [word.format(folder=folder) for word in words]
    outcomes = []
    for launcher in ([], ["-m", "perfprobe"]):
        command = ["sh", "-c", gone, "sh", sys.executable, *launcher, *words]
        environment = {**os.environ, "TMPDIR": str(folder)}
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        outcomes.append(finish(process))
    plain, recorded = outcomes
    assert (recorded.status, recorded.out) == (plain.status, plain.out)
    if plain.status == 0:
        assert len(list(folder.glob("*.perfprobe"))) == 1
        assert b"no operators" in recorded.err
    else:
        assert recorded.err == plain.err
    assert not any("fault" in line or "Error" in line for line in recorded.said), recorded.said


def test_absolute_path_from_another_folder(folder: Path) -> None:
    pair = both([str(folder / "shows.py")], folder / "package")
    assert seen(pair.recorded) == seen(pair.plain)


FLAGS = [["-O"], ["-u"], ["-B"], ["-X", "dev"], ["-W", "error"], ["-X", "utf8"], ["-bb"]]
# The entry point that pip writes.
CONSOLE_SCRIPT = (
    "import sys\nfrom perfprobe.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
)
SAFE_FLAGS = [["-I"], ["-P"]] if sys.version_info >= (3, 11) else [["-I"]]


@pytest.mark.parametrize("flags", FLAGS + SAFE_FLAGS, ids=" ".join)
@pytest.mark.parametrize("words", [["shows.py"], ["-m", "timeit", "-n1", "-r1"], ["plain"]], ids=" ".join)
def test_interpreter_flags(flags: list[str], words: list[str], folder: Path) -> None:
    pair = both(words, folder, flags=flags)
    assert pair.recorded.status == pair.plain.status == 0
    if "timeit" not in words:
        assert seen(pair.recorded) == seen(pair.plain)


@pytest.mark.parametrize("flags", SAFE_FLAGS, ids=" ".join)
def test_safe_path_finds_no_module_in_the_current_folder(flags: list[str], folder: Path) -> None:
    pair = both(["-m", "shows"], folder, flags=flags)
    assert pair.plain.status == 1
    assert seen(pair.recorded) == seen(pair.plain)
    assert pair.recorded.said == ()


@pytest.mark.parametrize(
    "words",
    [["shows.py", "a"], ["-m", "shows"], ["plain"], ["package/fails.py"], ["syntax.py"]],
    ids=" ".join,
)
def test_console_script(words: list[str], folder: Path) -> None:
    (folder / "syntax.py").write_text("x = = 1")
    (folder / "bin").mkdir()
    (folder / "bin" / "perfprobe").write_text(CONSOLE_SCRIPT)
    plain = finish(start(words, folder))
    # Freed memory is overwritten, so that use after free fails every time.
    recorded = finish(start(["bin/perfprobe", "-q", *words], folder, {"PYTHONMALLOC": "debug"}))
    assert seen(recorded) == seen(plain)


@pytest.mark.parametrize(
    "source",
    [
        "a",
        "",
        "  a\n    b\n  c",
        "\ta\n  b",
        "  a\n\n   \n  b\n",
        "\n  a\n",
        " \ta\n \tb",
        "   ",
        "  'x\n\\\n  y'",
    ],
)
def test_the_source_of_c_is_dedented_as_by_textwrap(source: str) -> None:
    assert dedented(source) == dedent(source)
