"""Checks the machine: clock, compiler, folder, ceilings, terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from perfprobe.built.compiler import find, remedy
from perfprobe.doctor.part import LACK, NOTE, OK, Part
from perfprobe.support import units
from perfprobe.support.errors import EnvironmentLack

_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_LITTLE_BYTES = 1 << 30
_LIMIT_S = 5


def clock(path: str = _CLOCK) -> Part:
    """Checks the clock that times operators."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            source = file.read().strip()
    except OSError:
        source = "an unknown source"
    if source == "tsc":
        return Part("clock", OK, "the processor's time stamp counter, which the kernel trusts")
    why = f"the kernel uses {source}: every clock reading is a system call and costs more"
    return Part("clock", NOTE, "clock_gettime", why)


def compiler(*, needed: bool) -> Part:
    """Checks the C++ compiler and Python's headers, which a rebuild and torch.compile need."""
    found = find()
    state = LACK if needed else NOTE
    why = (
        "perfprobe's native modules cannot be built"
        if needed
        else "only a rebuild and torch.compile need one"
    )
    version = None if found is None else _version(found.words[0])
    if version is None:
        named = os.environ.get("CXX", "").split()
        missing = f"none: {named[0]} (from CXX) does not run" if named else "none was found"
        return Part("compiler", state, missing, why, remedy())
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    if not os.path.isfile(header):
        return Part("compiler", state, f"{version}; but {header} is missing", why, remedy())
    return Part("compiler", OK, version)


def _version(name: str) -> str | None:
    try:
        words = [name, "--version"]
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else None


def folder(path: str) -> Part:
    """Checks the current folder, into which recordings are written."""
    try:
        with tempfile.TemporaryFile(dir=path):
            free_bytes = shutil.disk_usage(path).free
    except OSError as error:
        why = f"recordings cannot be written here ({error.strerror})"
        return Part("folder", LACK, path, why, "go to another folder, or name a file with -o")
    found = f"{path}, {units.size(free_bytes)} free"
    if free_bytes < _LITTLE_BYTES:
        why = "a long recording takes 10 to 16 bytes an operator"
        return Part("folder", NOTE, found, why, "name a file on another disk with -o")
    return Part("folder", OK, found)


def ceilings() -> Part:
    """Checks for the ceilings of this machine: verdicts use them to name levels of memory."""
    from perfprobe.bench import ceilings

    said: list[str] = []
    kept = ceilings.cached(tell=said.append)
    if kept is None:
        why = said[0] if said else "perfprobe bench then names no level of memory, and draws no roofline"
        return Part("ceilings", NOTE, "not measured", why, "measure them with `perfprobe machine`")
    return Part("ceilings", OK, f"measured {kept.measured[:16].replace('T', ' ')}")


def roofline() -> Part:
    """Checks the library that draws the roofline."""
    from importlib.metadata import version

    from perfprobe.report.picture.figure import matplotlib

    try:
        matplotlib()
    except EnvironmentLack as missing:
        return Part("roofline", NOTE, "cannot be drawn", missing.where, missing.remedy)
    return Part("roofline", OK, f"drawn by matplotlib {version('matplotlib')}")


def call_graph() -> Part:
    """Checks what draws the call graph."""
    from perfprobe.report.picture.callgraph.render import GRAPHVIZ, require_packages

    try:
        require_packages()
    except EnvironmentLack as missing:
        return Part("call graph", NOTE, "cannot be drawn", missing.where, missing.remedy)
    if shutil.which("dot") is None:
        why = "the program dot is not installed; .dot files are written"
        return Part("call graph", NOTE, "cannot be drawn", why, GRAPHVIZ)
    return Part("call graph", OK, "drawn by gprof2dot and Graphviz's dot")


def terminal(width: int, *, color: bool) -> Part:
    """Checks the terminal that shows the report."""
    encoding = getattr(sys.stdout, "encoding", None) or "none"
    by = "COLUMNS" if os.environ.get("COLUMNS") else "the terminal" if os.isatty(1) else "no terminal to ask"
    found = f"{width} columns ({by}), {'colours' if color else 'no colours'}, {encoding}"
    if encoding.lower().replace("-", "") not in ("utf8", "none"):
        why = "characters outside its encoding are printed as ?"
        return Part("terminal", NOTE, found, why, "set `PYTHONIOENCODING=utf-8`")
    return Part("terminal", OK, found)
