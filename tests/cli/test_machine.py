"""`perfprobe machine` with cached ceilings: nothing is measured here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfprobe import measuring
from perfprobe.bench.ceilings import cache
from perfprobe.cli import bench as bench_command
from perfprobe.cli import machine as machine_command
from perfprobe.support.errors import EnvironmentLack
from tests.bench.machines import machine
from tests.snapshots import Snapshot


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    key = cache.key("cpu")
    cache.write(machine(key=key), cache.path_of(key))
    return tmp_path


def called(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perfprobe", "machine", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("home")
def test_cached_ceilings_are_shown_at_once(snapshot: Snapshot) -> None:
    ended = called("--threads", "1", "2", COLUMNS="80")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert max(map(len, ended.stdout.splitlines())) <= 80
    snapshot(re.sub(r"(10:15, ).* ago", r"\1AGE ago", ended.stdout))


@pytest.mark.usefixtures("home")
def test_ceilings_as_json() -> None:
    ended = called("--json", "--threads", "1")
    assert json.loads(ended.stdout)["meta"]["name"] == "A processor"


def test_ceilings_as_a_plot(home: Path) -> None:
    ended = called("--threads", "1", "--plot", str(home / "roof.png"))
    assert ended.returncode == 0
    assert "roof.png" in ended.stderr
    assert (home / "roof.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("prepare", [machine_command.prepare, bench_command.prepare])
def test_missing_matplotlib_is_reported_before_measuring(
    prepare: Callable[[list[str]], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(measuring, "machine", pytest.fail)
    with pytest.raises(EnvironmentLack, match="pip install matplotlib"):
        prepare(["--plot", str(tmp_path / "roof.png")])


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["--plot", "roof.gif"], 2, "use a name that ends in .png, .svg or .pdf"),
        (["--device", "tpu"], 2, "neither cpu nor a GPU"),
        (["--threads", "0"], 2, "not a whole number from 1 up"),
        (["--plot", "/absent/roof.png"], 4, "does not exist"),
        (["more"], 2, "unrecognized"),
    ],
)
def test_errors_are_reported_before_measuring(words: list[str], status: int, says: str) -> None:
    ended = called(*words)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert len(ended.stderr.splitlines()) == 1
    assert says in ended.stderr


def test_an_interrupt_leaves_no_process(tmp_path: Path, snapshot: Snapshot) -> None:
    """Ctrl-C while measuring: one line, and no process is left."""
    pytest.importorskip("torch")
    program = (
        "import os, signal, sys\n"
        "from perfprobe.bench import ceilings\n"
        "def rows(plan):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    yield {}\n"
        "ceilings.rows = rows\n"
        "from perfprobe.cli import main\n"
        "sys.exit(main(['machine', '--again']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (ended.returncode, ended.stdout) == (-signal.SIGINT, "")
    snapshot(ended.stderr)
