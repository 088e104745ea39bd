"""Compiles the observer for one torch, as one translation unit, and stores it in the user's cache."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from perfprobe.built import compiler, kept, source, torch_there
from perfprobe.built.compiler import Compiler
from perfprobe.built.torch_there import TorchThere
from perfprobe.built.waiting import finished
from perfprobe.support import install, user_cache
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.text import printable

Tell: TypeAlias = Callable[[str], None]

WHAT = "the operator observer cannot be built"
AGAIN = "run `perfprobe build`"
_OPTIONS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w", "-s")
_LIBRARIES = ("libtorch_python.so", "libtorch_cpu.so", "libc10.so")
_OLDEST_GCC = 11
_MOST_KEPT = 20
_PART = ".part-"
_LEFT_OVER_S = 3600.0


class Built(NamedTuple):
    """An observer's path, and the seconds that compiling took; None if it was in the cache."""

    path: str
    seconds: float | None


def build(
    torch: TorchThere, tell: Tell, *, again: bool = False, untried: bool = False, watched: bool = True
) -> Built:
    """Returns the observer for this torch; compiles it if it is missing.

    Args:
        tell: called with a line before a slow step.
        again: compile even if it exists, or if compiling failed before.
        untried: also accept a version of torch that the observer was not written for.
        watched: whether a terminal shows that the compiler works.

    Raises:
        EnvironmentLack: something is missing, the cache cannot be written, or compiling fails.
    """
    sources, with_compiler = require(torch, untried=untried)
    there = None if again else kept.find(torch)
    if there is not None:
        return Built(there, None)
    folder = _made_folder()
    path = os.path.join(folder, f"{kept.stem(sources, torch)}-{with_compiler.identity()}.so")
    with _alone(path, tell):
        if not again:
            if os.path.exists(path) and kept.refused(path) is None:
                return Built(path, None)
            _raise_as_before(path)
        tell(f"building the operator observer for torch {torch.version}, once (about 20 s of CPU time) ...")
        begun_s = time.monotonic()
        _compile(with_compiler, sources, torch, path, watched=watched)
        _forget(folder)
        return Built(path, time.monotonic() - begun_s)


def require(torch: TorchThere, *, untried: bool = False) -> tuple[str, Compiler]:
    """Returns the folder of the source, and the compiler.

    Raises:
        EnvironmentLack: something is missing; says what.
    """
    sources = source.folder()
    if sources is None:
        raise EnvironmentLack(WHAT, "its source, csrc, is not in the installed package", install.again())
    finder = _finder(sources)
    try:
        finder.describe(Path(torch.folder))
    except finder.Unusable as reason:
        raise EnvironmentLack(WHAT, str(reason)) from reason
    outside = finder.outside(torch.version)
    if outside is not None and not untried:
        raise EnvironmentLack(WHAT, outside, f"try it with `perfprobe build --torch {torch.folder}`")
    if not os.path.isfile(os.path.join(torch.folder, "include", "pybind11", "pybind11.h")):
        raise EnvironmentLack(WHAT, f"torch {torch.version} has no headers of pybind11")
    return sources, _compiler()


def _compiler() -> Compiler:
    found = compiler.find()
    if found is None:
        named = os.environ.get("CXX")
        where = f"no C++ compiler: {named} (from CXX) is missing" if named else "no C++ compiler was found"
        raise EnvironmentLack(WHAT, where, f"{compiler.remedy()}, then {AGAIN}")
    said = _said([*found.words, "-dumpfullversion", "-dumpversion"])
    major = re.match(r"\d+", said)
    is_clang = "clang" in _said([*found.words, "--version"])
    if major is not None and not is_clang and int(major[0]) < _OLDEST_GCC:
        where = f"{found.words[0]} is gcc {said}, older than {_OLDEST_GCC}"
        raise EnvironmentLack(WHAT, where, f"name a newer one in CXX, then {AGAIN}")
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    if not os.path.isfile(header):
        raise EnvironmentLack(WHAT, f"{header} is missing", f"{compiler.remedy()}, then {AGAIN}")
    return found


def _said(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _finder(sources: str) -> Any:
    """Imports csrc/find_torch.py, which the build of a checkout uses too."""
    spec = importlib.util.spec_from_file_location(
        "perfprobe_find_torch", os.path.join(sources, "find_torch.py")
    )
    if spec is None or spec.loader is None:
        raise EnvironmentLack(WHAT, "csrc/find_torch.py is missing", install.again())
    finder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(finder)
    return finder


def _made_folder() -> str:
    """Makes and returns the cache's folder. Only this user can write to it."""
    folder = kept.folder()
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        where = f"{folder} cannot be written ({error.strerror})"
        raise EnvironmentLack(WHAT, where, f"{user_cache.MOVE}, then {AGAIN}") from error
    reason = kept.refused(folder)
    if reason is not None:
        raise EnvironmentLack(WHAT, f"{folder} is not used: {reason}", f"{user_cache.MOVE}, then {AGAIN}")
    return folder


@contextlib.contextmanager
def _alone(path: str, tell: Tell) -> Iterator[None]:
    """Lets only one process compile an observer. If locks do not work several do, and the last file stays."""
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another process, which builds the operator observer ...")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)


def _compile(made_by: Compiler, sources: str, torch: TorchThere, path: str, *, watched: bool) -> None:
    descriptor, part = tempfile.mkstemp(prefix=_PART, dir=os.path.dirname(path))
    os.close(descriptor)
    try:
        # Another torch may need the large headers.
        for light in (True, False):
            status, said = finished(_command(made_by, sources, torch, part, light=light), watched=watched)
            if status == 0:
                break
        else:
            _raise_failed(path, said)
        os.chmod(part, 0o700)  # the linker's mode might let others write
        os.replace(part, path)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentLack(WHAT, " ".join(str(error).split()), AGAIN) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{path}.failed")


def _command(made_by: Compiler, sources: str, torch: TorchThere, part: str, *, light: bool) -> list[str]:
    headers = [os.path.join(torch.folder, "include")]
    headers += [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    return [
        *made_by.words,
        *("-shared", "-o", part, *_OPTIONS, "-DNDEBUG"),
        f"-D_GLIBCXX_USE_CXX11_ABI={torch.cxx11_abi()}",
        f'-DPERFPROBE_TORCH_VERSION="{torch.version}"',
        *made_by.faster(),
        *([f"-I{os.path.join(sources, source.LIGHT)}"] if light else []),
        f"-I{sources}",
        *(word for header in dict.fromkeys(headers) for word in ("-isystem", header)),
        os.path.join(sources, source.UNIT),
        # Libraries of a CUDA build refer to others that only torch's own rpath finds.
        "-Wl,--allow-shlib-undefined",
        *(os.path.join(torch.folder, "lib", name) for name in _LIBRARIES),
        *("-lpthread", "-ldl"),
    ]


def _raise_failed(path: str, output: str) -> None:
    """Notes that compiling failed, so that later runs do not try it again. Raises EnvironmentLack."""
    errors = [line for line in output.splitlines() if "error" in line] or output.splitlines()[-1:]
    text = printable(errors[0].strip()[:300] if errors else "the compiler said nothing")
    with open(f"{path}.failed", "w", encoding="utf-8", errors="replace") as file:
        file.write(f"{text}\n{output}")
    _raise_as_before(path)


def _raise_as_before(path: str) -> None:
    with contextlib.suppress(FileNotFoundError), open(f"{path}.failed", encoding="utf-8") as file:
        where = f"the compiler failed: {file.readline().strip()} (all it said is in {path}.failed)"
        raise EnvironmentLack(WHAT, where, "try it again with `perfprobe build --again`")


def _forget(folder: str) -> None:
    """Removes observers of old sources and torches, and files that killed processes left."""
    files = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.is_file())
    old = [path for _, path in files if path.endswith(".so")][:-_MOST_KEPT]
    old += [path for at, path in files if _PART in path and time.time() - at > _LEFT_OVER_S]
    for path in old:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def main() -> int:
    """Runs in the child process of `child.build`. Its words are torch's folder, and "quiet" or "say".

    Prints one line of JSON: {} or {"where", "remedy"}.
    """
    torch = torch_there.at(sys.argv[1])

    def tell(line: str) -> None:
        if sys.argv[2] == "say":
            sys.stderr.write(f"perfprobe: {printable(line)}\n")
            sys.stderr.flush()

    said: dict[str, str] = {}
    try:
        if torch is not None:
            build(torch, tell, watched=sys.argv[2] == "say")
    except EnvironmentLack as missing:
        said = {"where": missing.where, "remedy": missing.remedy}
    sys.stdout.write(json.dumps(said))
    return 0
