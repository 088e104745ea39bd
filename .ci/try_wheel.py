"""Tries a wheel as a user would, in a clean environment: without a compiler, then with one.

    python .ci/try_wheel.py WHEEL [--python PYTHON] [--torch FOLDER ...]

Without a compiler there must be samples, calls counted by cProfile, and operators by torch's profiler, and
the report must say so. With one, the observer must build itself before the first program that needs it.
FOLDER contains torch for PYTHON, and torch's dependencies. Each further one is tried as an upgrade, for which
the observer must be rebuilt. Default: the torch of the interpreter that runs this, if it is the same version
as PYTHON; otherwise only Python functions are tried. A source distribution is built first. Exits with code 1
at the first failure.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

_PLAIN = (
    "def busy(n):\n    total = 0\n    for i in range(n):\n        total += i * i\n    return total\n"
    "for _ in range(400):\n    busy(20000)\nprint('ended')\n"
)
_TORCH = (
    "import torch\ndef busy(x):\n    return (x @ x / 2).sum()\n"
    "x = torch.ones(200, 200, requires_grad=True)\nfor _ in range(400): busy(x).backward()\nprint('ended')\n"
)
_LACK = 4  # exit code
_INSTEAD = "the autograd profiler records them instead"


class Trial:
    """One clean environment with the wheel in it."""

    def __init__(self, folder: Path, python: str, wheel: Path, torches: list[Path]) -> None:
        self.folder = folder
        self.torches = torches
        self.python = folder / "venv" / "bin" / "python"
        self._call([python, "-m", "venv", "--without-pip", str(folder / "venv")])
        if torches:
            self._use(torches[0])
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(self.python), "install"]
        needs_compiler = wheel.suffix != ".whl"
        self._call([*pip, str(wheel)], PERFPROBE_OBSERVER="OFF", **({} if needs_compiler else self._alone()))
        (folder / "plain.py").write_text(_PLAIN)
        (folder / "operators.py").write_text(_TORCH)

    def _alone(self) -> dict[str, str]:
        """Variables with which only this environment is on PATH."""
        return {"PATH": str(self.python.parent), "CXX": ""}

    def _use(self, torch: Path) -> None:
        (packages,) = (self.folder / "venv" / "lib").glob("python3*/site-packages")
        (packages / "torch.pth").write_text(f"{torch}\n")

    def _call(self, words: list[str], status: int = 0, /, **variables: str) -> str:
        begun_s = time.monotonic()
        given = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        done = subprocess.run(
            words,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**given, "XDG_CACHE_HOME": str(self.folder / "cache"), **variables},
        )
        if done.returncode != status:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        print(f"  {time.monotonic() - begun_s:5.1f} s  {' '.join(words)[-100:]}", flush=True)
        return done.stdout + done.stderr

    def recorded(
        self, name: str, *words: str, **variables: str
    ) -> tuple[str, dict[str, list[dict[str, object]]], str]:
        """Runs a program; returns its output, the tables of its report, and all losses as one text."""
        ours = [str(self.python), "-m", "perfprobe", "-o", f"{name}.perfprobe", "--json", f"{name}.json"]
        said = self._call([*ours, *words], **variables)
        report = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        return said, report["tables"], " ".join(str(loss["reason"]) for loss in report["missing"])

    def without_compiler(self) -> None:
        """Tries it with only this environment on PATH."""
        alone = self._alone()
        said, tables, _ = self.recorded("plain", "plain.py", **alone)
        _need("ended" in said, "the program's own output", said)
        busy = [row for row in tables["functions"] if row["function"] == "busy"]
        _need(len(busy) == 1 and bool(busy[0]["total_ns"]), "the time of busy, by samples", busy)
        # Alone, cProfile counts to the end; with samples only while that is cheap, not on a busy machine.
        _, tables, _ = self.recorded("counted", "--python", "cprofile", "plain.py", **alone)
        busy = [row for row in tables["functions"] if row["function"] == "busy"]
        _need(len(busy) == 1 and busy[0]["calls"] == 400, "400 calls of busy, by cProfile", busy)
        if not self.torches:  # its folder has all packages
            self._lacks_pictures(alone)
        else:
            _, tables, losses = self.recorded("stand-in", "operators.py", **alone)
            _need_operators(tables)
            _need(
                _INSTEAD in losses and "no C++ compiler was found" in losses, "the loss that says so", losses
            )

    def _lacks_pictures(self, alone: dict[str, str]) -> None:
        """Without the extra packages, pictures are one line with the command that installs them."""
        words = [str(self.python), "-m", "perfprobe", "graph", "plain.perfprobe"]
        said = self._call(words, _LACK, **alone)
        _need(said.count("\n") == 1 and "pip install gprof2dot graphviz`" in said, "the command", said)

    def with_compiler(self) -> None:
        """Checks that the observer builds itself once for each torch."""
        for torch in self.torches:
            self._use(torch)
            self._built_once(str(self.torches.index(torch)))

    def _built_once(self, which: str) -> None:
        for name, built in ((f"first-{which}", True), (f"second-{which}", False)):
            said, tables, losses = self.recorded(name, "operators.py")
            _need(
                ("building the operator observer" in said) == built,
                f"a build in the {name} run: {built}",
                said,
            )
            _need_operators(tables)
            _need(_INSTEAD not in losses, "operators by the observer", losses)


def torch_for(python: str) -> list[Path]:
    """The folder of the torch that this interpreter can import, if there is one."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    folder = Path(sysconfig.get_path("purelib"))
    has_torch = (folder / "torch" / "version.py").is_file()
    return [folder] if has_torch and version == sysconfig.get_python_version() else []


def _need_operators(tables: dict[str, list[dict[str, object]]]) -> None:
    found = {str(row["operator"]): row["calls"] for row in tables["hotspots"]}
    _need(any(calls == 400 and "mm" in name for name, calls in found.items()), "400 calls of mm", found)


def _need(is_there: bool, what: str, seen: object) -> None:
    if not is_there:
        raise SystemExit(f"missing: {what}; seen: {str(seen)[:2000]}")


def main() -> int:
    """Run both trials."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", action="append", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    torches = [folder.resolve() for folder in given.torch or torch_for(given.python)]
    with tempfile.TemporaryDirectory(prefix="perfprobe-wheel-") as folder:
        trial = Trial(Path(folder), given.python, given.wheel.resolve(), torches)
        trial.without_compiler()
        if torches and shutil.which(os.environ.get("CXX") or "g++"):
            trial.with_compiler()
    print(f"{given.wheel.name}: good", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
