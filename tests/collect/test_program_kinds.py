"""Modules, folders, zip files, compiled files and interpreter flags: each as under plain python."""

from __future__ import annotations

import py_compile
import re
import sys
import zipfile
from pathlib import Path

import pytest

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
def test_kinds_of_programs(words: list[str], folder: Path) -> None:
    pair = both(words, folder, given=b"import sys; print(sys.argv, __file__)\n")
    assert seen(pair.recorded) == seen(pair.plain)
    assert pair.recording.exists()


def test_absolute_path_from_another_folder(folder: Path) -> None:
    pair = both([str(folder / "shows.py")], folder / "package")
    assert seen(pair.recorded) == seen(pair.plain)


FLAGS = [["-O"], ["-u"], ["-B"], ["-X", "dev"], ["-W", "error"], ["-X", "utf8"], ["-bb"]]
# What pip writes for an entry point.
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
    assert pair.recorded.status == 2
    assert pair.recorded.said == (
        "perfprobe: there is no module named shows; name one that can be imported from here",
    )


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
    # Memory that is freed is overwritten: what is used too long fails each time.
    recorded = finish(start(["bin/perfprobe", "-q", *words], folder, {"PYTHONMALLOC": "debug"}))
    assert seen(recorded) == seen(plain)
