"""Builds this tree for the running Python, without a network, with the installed build tools."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.gpu import byhand, process
from tests.gpu.result import FAIL, PASS, Result

LIMIT_S = 240.0
_PARTS = ("_core*.so", "_observer*.so")


def site(folder: Path) -> Path:
    """The folder of the finished package in the build folder."""
    return folder / "site"


def build(root: Path, folder: Path, end_s: float) -> tuple[Result, str]:
    """Returns the first way that works, and the output of all. end_s: in time.monotonic()."""
    begin = time.monotonic()
    said: dict[str, str] = {}
    output = ""
    ways: dict[str, Callable[[Path, Path, float], process.Ended | str]] = {
        "pip": with_pip,
        "cmake": with_cmake,
        "compiler": byhand.build,
    }
    for name, way in ways.items():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        limit_s = min(LIMIT_S, end_s - time.monotonic())
        ended = way(root, folder, limit_s) if limit_s > 1 else "no time is left"
        if not isinstance(ended, str):
            output += f"--- {name}\n{ended.output}\n"
            ended = "" if ended.status == 0 else f"{ended.how()}: {ended.last_line()}"
        ended = ended or missing_parts(site(folder) / "perfprobe")
        said[name] = ended or "built"
        if not ended:
            break
    built = said[name] == "built"
    reason = "" if built else "; ".join(f"{way}: {why}" for way, why in said.items())
    seconds = round(time.monotonic() - begin, 1)
    return Result("build", PASS if built else FAIL, reason, seconds, {**said, **build_notes(folder)}), output


def missing_parts(package: Path) -> str:
    """What is missing in the built package; "" if it is complete."""
    missing = [part for part in _PARTS if not list(package.glob(part))]
    return f"nothing was built as {', '.join(missing)}" if missing else ""


def build_notes(folder: Path) -> dict[str, str]:
    """The reasons that the build itself wrote for parts it left out."""
    path = site(folder) / "perfprobe" / "_build.json"
    return {"_build.json": " ".join(path.read_text(encoding="utf-8").split())} if path.exists() else {}


def missing_modules(*names: str) -> str:
    """Which of these modules cannot be imported, as a reason; "" if all can."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return f"no {', '.join(missing)} here" if missing else ""


def environment() -> dict[str, str]:
    """For every way of building: the observer is required, and one compiler runs per processor."""
    return {
        "PERFPROBE_OBSERVER": "ON",
        "CMAKE_BUILD_PARALLEL_LEVEL": str(len(os.sched_getaffinity(0))),
    }


def with_pip(root: Path, folder: Path, limit_s: float) -> process.Ended | str:
    """As a user installs it, except for the network."""
    missing = missing_modules("pip", "scikit_build_core", "pybind11")
    if missing:
        return missing
    words = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index"]
    words += ["--disable-pip-version-check", "--target", str(site(folder)), str(root)]
    return process.run(words, limit_s, folder, environment())


def with_cmake(root: Path, folder: Path, limit_s: float) -> process.Ended | str:
    """With only CMake. The package's Python files are copied to its output."""
    missing = missing_modules("pybind11")
    if missing or shutil.which("cmake") is None:
        return missing or "no cmake here"
    import pybind11

    copy_package(root, site(folder))
    made = folder / "cmake"
    configure = ["cmake", "-S", root, "-B", made, f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}", "-DPERFPROBE_OBSERVER=ON"]
    install = ["cmake", "--install", made, "--prefix", site(folder)]
    end_s = time.monotonic() + limit_s
    ended = process.Ended(0, "", 0.0)
    for words in (configure, ["cmake", "--build", made], install):
        ended = process.run([*words], end_s - time.monotonic(), folder, environment())
        if ended.status != 0:
            break
    return ended


def copy_package(root: Path, to: Path) -> None:
    """The package's own files, without files of an earlier build."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "_build.json", "_observer_stamp.json")
    shutil.copytree(root / "perfprobe", to / "perfprobe", ignore=ignored)
