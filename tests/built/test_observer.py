"""The observer is built for the installed torch before the program starts, and cached."""

from __future__ import annotations

import os
import re
import signal
import stat
import time
from pathlib import Path

import pytest

from perfprobe.built import source
from perfprobe.tables import storage
from tests.built.sites import ROOT, Site, environment, other_torch, without_headers
from tests.collect.runs import finish
from tests.collect.test_torch_programs import losses, operator_names
from tests.snapshots import Snapshot, masked, timeless

torch = pytest.importorskip("torch", reason="the observer is built against torch")

PROGRAM = "import torch\nprint(torch.ones(2).add(1).tolist())\n"
BUILDING = f"building the operator observer for torch {torch.__version__}, once"


def steady(site: Site, text: str) -> str:
    """The text without what depends on the machine: paths, versions, errors of its system, its packages."""
    text = masked(text, compiler=site.compiler, folder=site.folder, torch=torch.__version__)
    text = re.sub(r"cannot be written \([^)]*\)", "cannot be written (ERROR)", text)
    text = re.sub(r"install one with `[^`]*`", "install one with `COMMAND`", text)
    return timeless(re.sub(r"/observer/\S+?\.so", "/observer/FILE.so", text))


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment of all tests that change nothing in it."""
    return environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture
def site(venv: Path, tmp_path: Path) -> Site:
    (tmp_path / "main.py").write_text(PROGRAM)
    return Site(tmp_path, venv)


def test_the_first_run_builds_it_and_the_next_run_uses_the_cache(site: Site) -> None:
    first = site.perfprobe("-q", "-o", "first.perfprobe", "main.py")
    assert (first.status, first.out, first.err) == (0, b"[2.0, 2.0]\n", b"")
    assert BUILDING in first.said[0]
    second = site.perfprobe("-q", "-o", "second.perfprobe", "main.py")
    assert [line for line in second.said if "observer" in line] == []
    assert site.compiled() == 1
    for name in ("first", "second"):
        recording = storage.read(site.folder / f"{name}.perfprobe")
        assert operator_names(recording)["aten::add"] == 1
        assert [reason for reason in losses(recording) if "observer" in reason] == []
    (file,) = site.kept()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (site.cache, file)] == [0o700, 0o700]


def test_another_torch_version_causes_a_rebuild(site: Site) -> None:
    assert site.perfprobe("-q", "main.py").status == 0
    upgraded = other_torch(site.folder, "2.14.1")
    paths = os.pathsep.join([upgraded, os.environ["PYTHONPATH"]])
    seen = site.perfprobe("-q", "-o", "upgraded.perfprobe", "main.py", PYTHONPATH=paths)
    assert (seen.status, seen.err) == (0, b"")
    assert "2.14.1, once" in seen.said[0]
    recording = storage.read(site.folder / "upgraded.perfprobe")
    assert operator_names(recording)["aten::add"] == 1
    assert [reason for reason in losses(recording) if "observer" in reason] == []
    assert (site.compiled(), len(site.kept())) == (2, 2)
    site.perfprobe("-q", "main.py")  # the first build is still cached
    assert site.compiled() == 2


def test_without_a_compiler_the_autograd_profiler_is_used(site: Site, snapshot: Snapshot) -> None:
    seen = site.perfprobe("-o", "run.perfprobe", "main.py", CXX="/nowhere/g++", COLUMNS="300")
    assert (seen.status, seen.out) == (0, b"[2.0, 2.0]\n")
    recording = storage.read(site.folder / "run.perfprobe")
    assert operator_names(recording)["aten::add"] == 1
    (reason,) = [each for each in losses(recording) if "autograd profiler" in each]
    found = site.perfprobe("report", "run.perfprobe", "--view", "missing", COLUMNS="300").out.decode()
    assert reason in found
    assert "perfprobe build" in found
    snapshot(steady(site, f"{seen.said[0]}\n{reason}"))


def test_profile_never_builds(site: Site, snapshot: Snapshot) -> None:
    (site.folder / "main.py").write_text(
        "import perfprobe, torch\nwith perfprobe.profile('run.perfprobe'):\n    torch.ones(2).add(1)\n"
    )
    seen = finish(site.start(["main.py"]))
    assert seen.status == 0
    assert site.compiled() == 0
    assert operator_names(storage.read(site.folder / "run.perfprobe"))["aten::add"] == 1
    snapshot(steady(site, seen.said[0]))


def test_runs_without_an_observer_do_not_build_it(site: Site) -> None:
    (site.folder / "main.py").write_text("print(1)\n")
    for words in (["--operators", "off"], ["--operators", "autograd"]):
        assert site.perfprobe("-q", *words, "main.py").out == b"1\n"
    assert site.perfprobe("-q", "main.py", PERFPROBE_BUILD="off").out == b"1\n"
    assert (site.compiled(), site.cache.exists()) == (0, False)


def test_two_concurrent_runs_compile_it_once(site: Site, snapshot: Snapshot) -> None:
    words = ["-m", "perfprobe", "build"]
    both = [site.start(words, {"SECONDS_IT_TAKES": "2"}) for _ in range(2)]
    ends = [finish(process) for process in both]
    assert [end.status for end in ends] == [0, 0]
    assert site.compiled() == 1
    said = " ".join(line for end in ends for line in end.said)
    assert BUILDING in said
    out = sorted(end.out.decode() for end in ends)
    snapshot(steady(site, "".join(out)))


@pytest.mark.parametrize("place", ["/sys", "/dev/null"])
def test_an_unwritable_cache_is_reported(site: Site, place: str, snapshot: Snapshot) -> None:
    seen = site.perfprobe("build", XDG_CACHE_HOME=place)
    assert seen.status == 4
    run = site.perfprobe("-q", "-o", "run.perfprobe", "main.py", XDG_CACHE_HOME=place)
    assert (run.status, run.out) == (0, b"[2.0, 2.0]\n")
    reasons = losses(storage.read(site.folder / "run.perfprobe"))
    lost = [reason for reason in reasons if place in reason]
    snapshot(steady(site, "\n".join([seen.said[0], *lost])))


def test_a_read_only_file_system_is_reported(site: Site, snapshot: Snapshot) -> None:
    seen = site.read_only("-q", "-o", "without.perfprobe", "main.py")
    assert (seen.status, seen.out) == (0, b"[2.0, 2.0]\n")
    without = losses(storage.read(site.folder / "without.perfprobe"))
    assert site.perfprobe("build").status == 0
    there = site.read_only("build").out.decode()
    assert site.read_only("-q", "-o", "with.perfprobe", "main.py").status == 0
    reported = " ".join(losses(storage.read(site.folder / "with.perfprobe")))
    assert "observer" not in reported
    assert site.compiled() == 1
    lost = [reason for reason in without if "Read-only" in reason]
    snapshot(steady(site, "\n".join([*lost, there])))


def test_an_interpreter_without_headers_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    site = Site(tmp_path, environment(tmp_path, without_headers(tmp_path)))
    (tmp_path / "main.py").write_text(PROGRAM)
    seen = site.perfprobe("-q", "-o", "run.perfprobe", "main.py")
    assert (seen.status, seen.out) == (0, b"[2.0, 2.0]\n")
    recording = storage.read(tmp_path / "run.perfprobe")
    assert operator_names(recording)["aten::add"] == 1
    assert site.compiled() == 0
    (reason,) = [each for each in losses(recording) if "autograd profiler" in each]
    snapshot(re.sub(r"/\S*/Python.h", "<folder>/Python.h", reason))


def test_torch_is_found_without_importing_it(site: Site) -> None:
    (site.folder / "main.py").write_text("print(1)\n")
    folder = other_torch(site.folder, "2.14.1")
    initial = Path(folder) / "torch" / "__init__.py"
    initial.unlink()
    initial.write_text(f"open({str(site.folder / 'imported')!r}, 'w').close()\n")
    seen = site.perfprobe("-q", "main.py", PYTHONPATH=folder)
    assert (seen.status, seen.out) == (0, b"1\n")
    assert "2.14.1, once" in seen.said[0]
    assert not (site.folder / "imported").exists()


def test_a_terminal_shows_that_the_compiler_works(site: Site) -> None:
    words = ["-c", "import pty, sys; pty.spawn(sys.argv[1:])", str(site.python), "-m", "perfprobe", "build"]
    seen = finish(site.start(words, {"SECONDS_IT_TAKES": "3"}))
    assert site.compiled() == 1
    assert b"\rperfprobe: compiling, 1 s" in seen.out
    assert seen.out.index(b"\r\x1b[K") < seen.out.index(b"was built in")


def test_a_killed_build_does_not_block_the_next(site: Site) -> None:
    first = site.start(["-m", "perfprobe", "build"], {"SECONDS_IT_TAKES": "5"})
    while not site.compiled():
        assert first.poll() is None
        time.sleep(0.05)
    second = site.start(["-m", "perfprobe", "build"])
    time.sleep(0.5)
    first.kill()
    finish(first)
    assert finish(second).status == 0
    assert (site.compiled(), len(site.kept())) == (2, 1)


def test_a_failed_build_is_not_repeated_automatically(site: Site, snapshot: Snapshot) -> None:
    (site.folder / "main.py").write_text("print(1)\n")
    seen = site.perfprobe("build", FAILS="no such thing")
    assert seen.status == 4
    assert site.perfprobe("-q", "main.py", FAILS="no such thing").out == b"1\n"
    assert (site.compiled(), len(site.kept())) == (2, 0)  # with light headers, then with all
    known = site.perfprobe("build")
    assert site.perfprobe("build", "--again").status == 0
    assert (site.compiled(), len(site.kept()), len(site.kept(".failed"))) == (3, 1, 0)
    snapshot(steady(site, f"{seen.said[-1]}\n{known.said[-1]}"))


def test_large_headers_are_used_where_the_light_ones_do_not_do(site: Site) -> None:
    compiler = site.compiler.read_text()
    site.compiler.write_text(
        compiler.replace(
            'if [ -n "$FAILS" ]', 'case "$*" in */torch/light*) FAILS=light ;; esac\nif [ -n "$FAILS" ]'
        )
    )
    assert site.perfprobe("build").status == 0
    first, second = site.calls.read_text().splitlines()
    assert "torch/light" in first
    assert "torch/light" not in second
    assert (len(site.kept()), site.kept(".failed")) == (1, [])


def test_files_writable_by_others_are_not_loaded(site: Site) -> None:
    (site.folder / "main.py").write_text("print(1)\n")
    assert site.perfprobe("build").status == 0
    (file,) = site.kept()
    file.chmod(0o777)
    site.perfprobe("-q", "main.py")
    assert site.compiled() == 2  # the first file is not trusted
    assert stat.S_IMODE(site.kept()[0].stat().st_mode) == 0o700
    site.cache.chmod(0o777)
    assert "is not used: others may write into it" in site.perfprobe("build").said[0]


def test_another_compiler_or_source_causes_a_rebuild(tmp_path: Path) -> None:
    site = Site(tmp_path, environment(tmp_path))
    assert site.perfprobe("build").status == 0
    site.compiler.write_text(site.compiler.read_text() + "# another release\n")
    assert site.perfprobe("build").status == 0
    (header,) = site.venv.rglob("csrc/torch/signature.h")
    header.write_text(header.read_text() + "// changed\n")
    assert site.perfprobe("build").status == 0
    assert (site.compiled(), len(site.kept())) == (3, 3)
    found = site.perfprobe("build", CXX="/nowhere/g++")
    assert (found.status, site.compiled()) == (4, 3)


def test_a_too_old_compiler_is_named(site: Site, snapshot: Snapshot) -> None:
    seen = site.perfprobe("build", VERSION="10.2.1")
    assert (seen.status, site.compiled()) == (4, 0)
    snapshot(steady(site, seen.said[0]))


def test_an_interrupt_also_ends_the_compiler(site: Site) -> None:
    process = site.start(["-m", "perfprobe", "main.py"], {"SECONDS_IT_TAKES": "100"})
    while not site.compiled():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert (ended.status, ended.out) == (-signal.SIGINT, b"")
    assert not list(site.cache.glob("*.so"))
    mine = str(site.folder).encode()
    running = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mine in _content(path)]
    assert running == []


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_the_translation_unit_includes_every_source() -> None:
    named = re.findall(r'#include "(torch/\w+\.cpp)"', (ROOT / "csrc" / source.UNIT).read_text())
    there = sorted(f"torch/{path.name}" for path in (ROOT / "csrc/torch").glob("*.cpp"))
    assert named == there
    assert os.path.samefile(source.folder() or "", ROOT / "csrc")
