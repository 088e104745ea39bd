"""`perfprobe doctor` with missing parts, each simulated from outside."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from perfprobe.doctor import gpu, installation, text
from perfprobe.doctor.child import answers, probe
from perfprobe.doctor.part import Part
from tests.collect.runs import command, perfprobe
from tests.snapshots import Snapshot, masked

torch = pytest.importorskip("torch")

TORCH = Path(torch.__file__).parent


def examined(folder: Path, status: int, **environment: str) -> dict[str, dict[str, str]]:
    """All parts by name. The exit code must be `status`."""
    outcome = perfprobe(["doctor", "--json"], folder, environment)
    assert (outcome.status, outcome.err, outcome.said) == (status, b"", ())
    document = json.loads(outcome.out)
    assert document["schema"] == 1
    assert document["meta"]["works"] is (status == 0)
    return {part["part"]: part for part in document["parts"]}


def fake(folder: Path, name: str, code: str) -> str:
    """A folder for PYTHONPATH that contains a package with this name."""
    (folder / "fakes" / name).mkdir(parents=True)
    (folder / "fakes" / name / "__init__.py").write_text(code)
    return str(folder / "fakes")


def told(part: dict[str, str]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in part.items())


def steady(text: str) -> str:
    return masked(text, python=sys.executable, torch=torch.__version__)


def test_everything_works_here(tmp_path: Path, snapshot: Snapshot) -> None:
    parts = examined(tmp_path, 0)
    assert [name for name, part in parts.items() if part["state"] == "lack"] == []
    assert torch.__version__ in parts["torch"]["found"]
    assert list(tmp_path.iterdir()) == []
    for width in (80, 200):
        drawn = text.render([Part(**part) for part in parts.values()], width=width, color=False).splitlines()
        assert max(len(line) for line in drawn if "`" not in line and "/" not in line) <= width
        assert sum(line.startswith(("ok ", "note ")) for line in drawn) == len(parts) == 26
    found = [parts["observer"]["found"], parts["trial"]["found"], drawn[-1]]
    snapshot(steady(re.sub(r"\d+(?= operators)|[\d.]+(?= s$)", "N", "\n".join(found), flags=re.MULTILINE)))


def test_missing_torch_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    path = fake(tmp_path, "torch", "raise ModuleNotFoundError('No module named torch', name='torch')")
    parts = examined(tmp_path, 4, PYTHONPATH=path)
    assert parts["recorder"]["state"] == "ok"
    snapshot(steady("\n".join(told(parts[name]) for name in ("torch", "trial"))))


def test_a_crashing_torch_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    path = fake(tmp_path, "torch", "import os; os.kill(os.getpid(), 11)")
    part = installation.torch(asked("torch", PYTHONPATH=path))
    assert part.state == "lack"
    snapshot(part.why)


def test_a_hanging_torch_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    path = fake(tmp_path, "torch", "import time; print('{', flush=True); time.sleep(100)")
    part = installation.torch(asked("torch", limit_s=3, PYTHONPATH=path))
    assert part.state == "lack"
    snapshot(part.why)


def test_an_upgrade_of_torch_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    """The real torch, file by file, with another version number."""
    (tmp_path / "fakes" / "torch").mkdir(parents=True)
    for entry in TORCH.iterdir():
        (tmp_path / "fakes" / "torch" / entry.name).symlink_to(entry)
    version = tmp_path / "fakes" / "torch" / "version.py"
    changed = version.read_text().replace(f"'{torch.__version__}'", "'2.14.0'")
    version.unlink()
    version.write_text(changed)
    paths = os.pathsep.join([str(tmp_path / "fakes"), os.environ["PYTHONPATH"]])
    environment = {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    parts = examined(tmp_path, 0, **environment)
    assert parts["observer"]["state"] == "note"
    assert parts["trial"]["state"] == "ok"
    assert not (tmp_path / "cache" / "perfprobe").exists()
    # Of pip's version only the number is said.
    of_torch = masked(told(parts["torch"]), folder=tmp_path, torch=torch.__version__.partition("+")[0])
    snapshot(steady(told(parts["observer"])), torch=steady(of_torch))


def test_a_file_that_hides_torch_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "torch.py").write_text("print('a test of mine')\n")
    snapshot(masked(told(examined(tmp_path, 4)["torch"]), folder=tmp_path))


def test_missing_packages_of_reports_are_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    path = fake(tmp_path, "rich", "raise ImportError('broken')")
    part = installation.reading(asked("reading", str(tmp_path), PYTHONPATH=path))
    snapshot(steady(told(asdict(part))))


def test_a_broken_numpy_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    path = fake(tmp_path, "numpy", "raise ImportError('no multiarray')")
    part = installation.reading(asked("reading", str(tmp_path), PYTHONPATH=path))
    assert part.state == "lack"
    snapshot(part.found)


def test_wrong_words_are_refused(tmp_path: Path, snapshot: Snapshot) -> None:
    said: list[str] = []
    for words in (["doctor", "--nothing"], ["doctor", "all"]):
        outcome = command(words, tmp_path)
        assert (outcome.status, outcome.out, len(outcome.said)) == (2, b"", 1)
        said += outcome.said
    snapshot("\n".join(said))


def driver(folder: Path, code: str) -> None:
    """Builds a libcuda.so.1 with these functions."""
    compiler = shutil.which("cc") or pytest.skip("needs a C compiler")
    (folder / "driver.c").write_text(f"#include <string.h>\n#include <unistd.h>\n{code}")
    command = [compiler, "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"]
    subprocess.run(command, cwd=folder, check=True)


def asked(name: str, *words: str, limit_s: float = 60, **environment: str) -> Any:
    """The answer of a probe with this environment."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in environment.items():
            patch.setenv(variable, value)
        patch.setattr(sys, "path", [environment.get("PYTHONPATH", ""), *sys.path])
        child = probe(name, *words, limit_s=limit_s)
    return answers(child)


WORKING = """
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuInit(unsigned flags) { return %s; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strcpy(name, "Card"); return 0; }
"""


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("0", "2 Card; the driver supports CUDA 12.8"),
        ("100", "the driver does not work (error 100 of cuInit)"),
        ("(int)sleep(100)", "the driver does not work (it did not answer within 5 s)"),
    ],
)
def test_the_gpu_part(status: str, found: str, tmp_path: Path) -> None:
    driver(tmp_path, WORKING % status)
    said = asked("gpu", limit_s=5, LD_LIBRARY_PATH=str(tmp_path))
    part = gpu.gpu(said)
    assert (part.state, part.found) == ("ok" if status == "0" else "note", found)
    assert gpu.cupti({"cuda": "12.8", "cupti": "error 39"}, said).state == (
        "lack" if status == "0" else "note"
    )


def test_the_newest_recording_is_checked(tmp_path: Path, snapshot: Snapshot) -> None:
    none = installation.newest(asked("reading", str(tmp_path)))
    (tmp_path / "program.py").write_text("print()")
    perfprobe(["-q", "-o", "good.perfprobe", "program.py"], tmp_path)
    assert installation.newest(asked("reading", str(tmp_path))).found == "good.perfprobe, 0 operators"
    (tmp_path / "bad.perfprobe").write_text("no recording")
    os.utime(tmp_path / "good.perfprobe", (1, 1))
    part = installation.newest(asked("reading", str(tmp_path)))
    assert (part.state, part.found) == ("note", "bad.perfprobe")
    snapshot(none=none.found, bad=masked(part.why, folder=tmp_path))


def test_the_trial_of_cupti_calls_the_recorder_as_a_run_does() -> None:
    code = (
        "import types; from perfprobe.doctor import probes\n"
        "probes._has_driver = lambda: True\n"
        "version = types.SimpleNamespace(cuda='13.0')\n"
        "probes._cupti(types.SimpleNamespace(version=version, __file__='/t/torch/__init__.py'))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert '"cupti": ' in ended.stdout
