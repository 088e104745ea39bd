"""The frame reader compiled for other Pythons, named by PERFPROBE_PYTHONS, and compared with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "csrc" / "python"
SOURCES = [
    ROOT / "tests/native/frames_module.cpp",
    ROOT / "csrc/bindings/bind_frames.cpp",
    ROOT / "csrc/core/descriptor.cpp",
    ROOT / "csrc/core/own_memory.cpp",
    *(
        PYTHON / f"{name}.cpp"
        for name in (
            "code_locations",
            "foreign_frames",
            "frame_layout",
            "frames",
            "held_signals",
            "layout_offsets",
            "next_instructions",
            "outermost",
            "seen_code",
        )
    ),
]
OTHERS = [name for name in os.environ.get("PERFPROBE_PYTHONS", "").split(os.pathsep) if name]
COMPILER = os.environ.get("CXX") or shutil.which("c++")


def said(python: str, *words: str) -> str:
    return subprocess.run(
        [python, *words], cwd=ROOT, check=True, capture_output=True, text=True, timeout=300
    ).stdout


def compiled(python: str, folder: Path, level: int = 0) -> Path:
    """The frame reader as an extension module of this interpreter. level: of optimisation."""
    spec = find_spec("pybind11")
    if spec is None or spec.origin is None or COMPILER is None:
        pytest.skip("needs pybind11 and a compiler")
    headers, suffix = said(
        python,
        "-c",
        "import sysconfig as s; print(s.get_paths()['include'], s.get_config_var('EXT_SUFFIX'))",
    ).split()
    if not (Path(headers) / "Python.h").exists():
        pytest.skip(f"{python} has no headers")
    module = folder / f"frames_module{suffix}"
    includes = [f"-I{ROOT / 'csrc'}", f"-isystem{headers}", f"-isystem{Path(spec.origin).parent / 'include'}"]
    options = [
        "-std=c++20",
        f"-O{level}",
        "-DNDEBUG",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        "-Wall",
        "-Werror",
    ]
    unit = folder / "unit.cpp"  # the headers take most of the time
    unit.write_text("".join(f'#include "{source}"\n' for source in SOURCES))
    subprocess.run([COMPILER, *options, *includes, str(unit), "-o", str(module)], check=True)
    return module


@pytest.mark.parametrize("python", OTHERS or [sys.executable], ids=lambda python: str(python)[-40:])
def test_frames_are_read_as_this_python_has_them(python: str, tmp_path: Path) -> None:
    if not OTHERS:
        pytest.skip("no other Python is named by PERFPROBE_PYTHONS")
    module = compiled(python, tmp_path)
    found = json.loads(said(python, "-m", "tests.collect.frames_elsewhere", str(module)))
    assert (found["misfit"], found["wrong"]) == ("", [])
    assert found["is_deep_right"]
    assert found["looks"] > 4000
    assert found["kept"] > found["looks"]
    version = said(python, "-c", "import sys; print(sys.version_info.minor)")
    assert (found["threads"] > 10) == (int(version) > 10)
