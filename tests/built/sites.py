"""Environments with perfprobe installed as by a wheel: with the source of the observer, not yet built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from perfprobe import native
from perfprobe.built import source
from tests.collect.runs import Outcome, finish

ROOT = Path(__file__).resolve().parent.parent.parent

# A fake C++ compiler that takes no time: it records its call and outputs the file in OBSERVER.
_COMPILER = """\
#!/bin/sh
case "$*" in
  *-dumpfullversion*) echo "${VERSION:-12.2.0}"; exit 0 ;;
  --version) echo "g++ (made up) ${VERSION:-12.2.0}"; exit 0 ;;
esac
echo "$*" >> "$CALLS"
sleep "${SECONDS_IT_TAKES:-0}"
if [ -n "$FAILS" ]; then echo "observer_unit.cpp:1: error: $FAILS" >&2; exit 1; fi
while [ "$1" != -o ]; do shift; done
cat "$OBSERVER" > "$2"
"""


class Site:
    """One environment: an interpreter that sees our packages, with its own cache and compiler."""

    def __init__(self, folder: Path, venv: Path) -> None:
        self.folder, self.venv = folder, venv
        self.python = venv / "bin" / "python"
        self.cache = folder / "cache" / "perfprobe" / "observer"
        self.calls = folder / "calls"
        self.compiler = folder / "g++"
        self.compiler.write_text(_COMPILER)
        self.compiler.chmod(0o755)
        (folder / "cache").mkdir()

    def start(
        self,
        words: Sequence[str],
        variables: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> subprocess.Popen[bytes]:
        """Starts `python WORDS` in the site's folder. before: the words of a program that starts it."""
        own = {
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "CXX": str(self.compiler),
            "CALLS": str(self.calls),
            "OBSERVER": observer_file(),
        }
        return subprocess.Popen(
            [*before, str(self.python), *words],
            cwd=self.folder,
            env={**os.environ, **own, **(variables or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def perfprobe(self, *words: str, **variables: str) -> Outcome:
        """Runs `perfprobe WORDS` with additional variables."""
        return finish(self.start(["-m", "perfprobe", *words], variables))

    def read_only(self, *words: str) -> Outcome:
        """Runs `perfprobe WORDS` with the cache on a read-only file system. Skips if none can be mounted."""
        mounted = "mount --bind cache cache && mount -o remount,ro,bind cache"
        if subprocess.run(["unshare", "-m", "sh", "-c", mounted], cwd=self.folder, check=False).returncode:
            pytest.skip("no file system can be mounted here")
        before = ["unshare", "-m", "sh", "-c", f'{mounted} && exec "$@"', "sh"]
        return finish(self.start(["-m", "perfprobe", *words], before=before))

    def compiled(self) -> int:
        """The number of compilations."""
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def kept(self, suffix: str = ".so") -> list[Path]:
        """The files with this suffix in the cache."""
        return sorted(self.cache.glob(f"*{suffix}"))


def observer_file() -> str:
    """The observer installed here, built for the torch of this environment."""
    import torch

    return str(native.observer(torch).__file__)


def environment(folder: Path, python: str = sys.executable) -> Path:
    """A virtual environment of this interpreter with a copy of the package."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    (packages / "visible.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    package = packages / "perfprobe"
    shutil.copytree(ROOT / "perfprobe", package, ignore=shutil.ignore_patterns("*.so"))
    core = Path(str(native.core().__file__))
    for file in (core, core.parent / "libperfprobe_inject.so"):
        (package / file.name).symlink_to(file)
    sources = ROOT / "csrc"
    for name in [*source.files(str(sources)), "find_torch.py"]:
        (package / "csrc" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sources / name, package / "csrc" / name)
    return folder / "venv"


def without_headers(folder: Path) -> str:
    """This interpreter, installed elsewhere without C headers, as without a -dev package."""
    real = Path(os.path.realpath(sys.executable))
    library = Path(sysconfig.get_path("stdlib"))
    made = folder / "prefix" / "bin" / real.name
    made.parent.mkdir(parents=True)
    shutil.copy(real, made)
    (folder / "prefix" / library.parent.name).mkdir()
    (folder / "prefix" / library.parent.name / library.name).symlink_to(library)
    asked = [str(made), "-c", "import sys; print(sys.prefix)"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    if said != str(folder / "prefix"):
        pytest.skip("this interpreter cannot be moved")
    return str(made)


def other_torch(folder: Path, version: str) -> str:
    """A folder for PYTHONPATH: the real torch, file by file, with another version number."""
    import torch

    made = folder / f"torch-{version}" / "torch"
    made.mkdir(parents=True)
    real = Path(str(torch.__file__)).parent
    for entry in real.iterdir():
        (made / entry.name).symlink_to(entry)
    text = (real / "version.py").read_text().replace(f"'{torch.__version__}'", f"'{version}'")
    (made / "version.py").unlink()
    (made / "version.py").write_text(text)
    return str(made.parent)
