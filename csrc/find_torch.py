"""Find the torch to compile perfprobe's observer against, without importing it.

pip builds in isolation: the site-packages of the target environment are not on sys.path, but they are where
this interpreter's prefix says. So torch is searched for in the file system.

Prints one JSON object {"directory", "version", "cxx11_abi"}. If there is none, prints one line with the
reason on stderr and exits with code 1, or 2 if PERFPROBE_TORCH_DIR names a folder that cannot be used.
"""

from __future__ import annotations

import json
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

OLDEST = (2, 11)
NEWEST = (2, 15)
PYTHON_FOLDER = f"python{sys.version_info.major}.{sys.version_info.minor}"


class Unusable(Exception):
    """The observer cannot be built against the torch that was found; the text says why."""


def site_folders() -> Iterator[Path]:
    """Every site-packages folder this environment would import from, most specific first."""
    yield from (Path(entry) for entry in sys.path if entry)
    for scheme in ("purelib", "platlib"):
        yield Path(sysconfig.get_path(scheme))
    if os.environ.get("VIRTUAL_ENV"):  # `python -m build` and uv build in a temporary environment
        yield Path(os.environ["VIRTUAL_ENV"]) / "lib" / PYTHON_FOLDER / "site-packages"
    if sees_system_packages():
        yield Path(site.getusersitepackages())
        yield from (Path(entry) for entry in site.getsitepackages([sys.base_prefix, sys.base_exec_prefix]))


def sees_system_packages() -> bool:
    """Whether packages outside the virtual environment are importable. Also true without an environment."""
    configuration = Path(sys.prefix) / "pyvenv.cfg"
    if not configuration.is_file():
        return True
    text = configuration.read_text(encoding="utf-8")
    return re.search(r"(?im)^include-system-site-packages\s*=\s*true\s*$", text) is not None


def read_version(directory: Path) -> str:
    """The text of torch.__version__, such as '2.13.0+cpu'."""
    version_file = directory / "version.py"
    match = None
    if version_file.is_file():
        match = re.search(r"(?m)^__version__\s*=\s*['\"]([^'\"]+)", version_file.read_text(encoding="utf-8"))
    if match is None:
        raise Unusable("torch has no readable version.py")
    return match.group(1)


def read_cxx11_abi(directory: Path) -> int:
    """The value of _GLIBCXX_USE_CXX11_ABI that torch was built with, 1 or 0, found by torch's symbols."""
    symbols = (directory / "lib" / "libc10.so").read_bytes()
    return int(re.search(rb"_ZN3c10\w*NSt7__cxx1112basic_string", symbols) is not None)


def describe(directory: Path) -> dict[str, str | int]:
    """What the build needs to know about the torch in `directory`. Raises Unusable with the reason."""
    version = read_version(directory)
    for needed in ("lib/libtorch_cpu.so", "lib/libc10.so", "include/ATen/record_function.h"):
        if not (directory / needed).is_file():
            raise Unusable(f"torch {version} has no {needed}")
    return {"directory": str(directory), "version": version, "cxx11_abi": read_cxx11_abi(directory)}


def outside(version: str) -> str | None:
    """Why the observer does not support `version`; None if it does."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if OLDEST <= (major, minor) <= NEWEST:
        return None
    oldest, newest = (".".join(map(str, bound)) for bound in (OLDEST, NEWEST))
    return f"torch {version} is outside the supported {oldest} to {newest}"


def require_supported(version: str) -> None:
    """Raises Unusable if the observer does not support `version`."""
    reason = outside(version)
    if reason is not None:
        raise Unusable(f"{reason}; name its folder in PERFPROBE_TORCH_DIR to try")


def find() -> dict[str, str | int]:
    """The torch of this environment. Raises Unusable if there is none or it cannot be used."""
    for folder in dict.fromkeys(site_folders()):
        if (folder / "torch" / "version.py").is_file():
            found = describe(folder / "torch")
            require_supported(str(found["version"]))
            return found
    raise Unusable("no torch is installed in this environment")


def main() -> int:
    """Print what was found, or why nothing was found."""
    named = os.environ.get("PERFPROBE_TORCH_DIR")
    try:
        print(json.dumps(describe(Path(named).resolve()) if named else find()))
    except Unusable as reason:
        print(f"PERFPROBE_TORCH_DIR={named}: {reason}" if named else reason, file=sys.stderr)
        return 2 if named else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
