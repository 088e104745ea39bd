"""The profilers of whole scripts that are compared: perfprobe and others, each as a command line."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class Tool:
    """A profiler.

    Attributes:
        words: makes the command that runs a script (given as words) and writes into a file.
        suffix: of that file.
        needs: the package that must be installed, None for none.
        sees_operators: whether its report is about operators.
    """

    name: str
    suffix: str
    words: Callable[[Path, Sequence[str]], list[str]]
    needs: str | None = None
    sees_operators: bool = True

    @property
    def refusal(self) -> str | None:
        """Why it cannot run here; None if it can."""
        if self.needs is None or importlib.util.find_spec(self.needs) or _program(self.needs):
            return None
        return f"{self.name}: not installed (pip install {self.needs})"


def _program(name: str) -> str | None:
    """A program next to this Python, or on PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def _perfprobe(*options: str) -> Callable[[Path, Sequence[str]], list[str]]:
    return lambda output, script: [sys.executable, "-m", "perfprobe", *options, "-o", str(output), *script]


def _py_spy(output: Path, script: Sequence[str]) -> list[str]:
    program = _program("py-spy") or "py-spy"
    return [program, "record", "--format", "raw", "-o", str(output), "--", sys.executable, *script]


def _pyinstrument(output: Path, script: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pyinstrument", "-r", "json", "-o", str(output), *script]


def _launched(name: str) -> Callable[[Path, Sequence[str]], list[str]]:
    return lambda output, script: [sys.executable, str(LAUNCH), name, str(output), *script]


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("perfprobe", ".perfprobe", _perfprobe()),
        Tool("perfprobe --python off", ".perfprobe", _perfprobe("--python", "off")),
        Tool("perfprobe --python sample", ".perfprobe", _perfprobe("--python", "sample")),
        Tool("perfprobe --python cprofile", ".perfprobe", _perfprobe("--python", "cprofile")),
        Tool("perfprobe, both sources", ".perfprobe", _perfprobe("--operators", "both")),
        Tool("torch.profiler", ".json", _launched("torch.profiler")),
        Tool("torch.profiler shapes", ".json", _launched("torch.profiler shapes")),
        Tool("torch.profiler shapes+stack", ".json", _launched("torch.profiler shapes+stack")),
        Tool("cProfile", ".pstats", _launched("cProfile"), sees_operators=False),
        Tool("py-spy", ".stacks", _py_spy, needs="py-spy", sees_operators=False),
        Tool("pyinstrument", ".json", _pyinstrument, needs="pyinstrument", sees_operators=False),
        Tool("viztracer", ".json", _launched("viztracer"), needs="viztracer", sees_operators=False),
    )
}
