"""Checks Python, perfprobe itself and the packages it needs."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import sysconfig
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from perfprobe import __version__, native
from perfprobe.built import kept
from perfprobe.doctor.part import LACK, NOTE, OK, Part
from perfprobe.support import install
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.masking.text import masked_text

_PYTHONS = ((3, 10), (3, 14))
_TORCHES = ((2, 11), (2, 15))
_FIRST_TORCH = (2, 6)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_VARIABLES = (
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "PYTHONPATH",
    "PYTHONSAFEPATH",
    "PYTHONUSERBASE",
)


def python() -> Part:
    """Checks the interpreter."""
    found = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    oldest, newest = _PYTHONS
    if sys.implementation.name != "cpython" or not oldest <= sys.version_info[:2] <= newest:
        why = f"perfprobe is made for CPython {_spelled(_PYTHONS)}"
        remedy = "install torch and perfprobe for one of these, as in `python3.12 -m venv .venv`"
        return Part("python", LACK, found, why, remedy)
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return Part("python", NOTE, f"{found}, free-threaded", "not tried without the interpreter's lock")
    return Part("python", OK, found)


def perfprobe() -> Part:
    """Checks which perfprobe this is, and whether a source folder hides the installed one."""
    found = f"{__version__} in {_PACKAGE}"
    hidden = hidden_package()
    if hidden is not None:
        return Part("perfprobe", LACK, found, f"this folder hides the installed {hidden}", _away())
    try:
        installed = metadata.version("perfprobe")
    except metadata.PackageNotFoundError:
        why = "not installed, only found on sys.path: its native modules are those in this folder"
        return Part("perfprobe", NOTE, found, why)
    if installed != __version__:
        why = f"pip reports version {installed}: two versions are mixed"
        return Part("perfprobe", LACK, found, why, install.rebuild())
    return Part("perfprobe", OK, found)


def hidden_package() -> str | None:
    """Returns the folder of an installed perfprobe if another one was imported; else None."""
    try:
        init = str(metadata.distribution("perfprobe").locate_file("perfprobe/__init__.py"))
    except metadata.PackageNotFoundError:
        return None
    folder = os.path.dirname(os.path.abspath(init))
    other = os.path.isfile(init) and os.path.realpath(folder) != os.path.realpath(_PACKAGE)
    return folder if other else None


def _away() -> str:
    source = os.path.dirname(_PACKAGE)
    paths = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if source in paths:
        return f"take {source} out of PYTHONPATH"
    return f"run it from another folder than {source}"


def pip() -> Part:
    """Checks pip, which most remedies use."""
    if importlib.util.find_spec("pip") is None:
        remedy = f"install it with `{sys.executable} -m ensurepip --upgrade`"
        return Part("pip", NOTE, "not installed here", "the commands below need it", remedy)
    return Part("pip", OK, metadata.version("pip"))


def environment() -> Part:
    """Finds settings that change the start of every Python program."""
    set_here = [f"{name}={masked_text(os.environ[name])}" for name in _VARIABLES if os.environ.get(name)]
    loaded = [
        f"{name} ({module.__file__})"
        for name in ("sitecustomize", "usercustomize")
        if (module := sys.modules.get(name)) is not None
    ]
    if not set_here and not loaded:
        return Part("environment", OK, "nothing that changes how Python starts")
    return Part("environment", NOTE, ", ".join([*set_here, *loaded]), "acts on every Python program here")


def recorder() -> Part:
    """Checks the native recorder `_core`."""
    try:
        core = native.core()
    except EnvironmentLack as missing:
        if hidden_package() is not None:
            return Part("recorder", LACK, "not in the source folder that was imported", missing.what, _away())
        return Part("recorder", LACK, missing.where, missing.what, missing.remedy)
    return Part("recorder", OK, f"loads, writes version {core.FORMAT_VERSION} of the file format")


def frames() -> Part:
    """Checks how the observer reads Python's stack."""
    try:
        core = native.core()
    except EnvironmentLack:
        return Part("frames", LACK, "not read", "the recorder is missing", "fix the recorder")
    why = core.frames_misfit()
    if why:
        return Part("frames", NOTE, "read through Python's public functions, which is slower", why)
    fast, public = core.stack_fast(), core.stack_public()
    if [row[:3] for row in fast] != [row[:3] for row in public]:
        return Part(
            "frames", LACK, "two ways to read the stack disagree", "lines would be wrong", install.rebuild()
        )
    return Part("frames", OK, "read without the interpreter's lock")


def torch(said: Mapping[str, Any]) -> Part:
    """Checks torch, as a child process imported it."""
    if said.get("missing"):
        return Part(
            "torch", LACK, "not installed", "there are no operators to record", install.packages("torch")
        )
    version = said.get("version")
    if version is None:
        path = said.get("path")
        if path is not None and "error" not in said:
            why = "a file of that name hides torch"
            return Part("torch", LACK, f"{path} is not torch", why, "rename it, or run from another folder")
        why = said.get("error") or said.get("ended") or "the import printed nothing"
        return Part("torch", LACK, "cannot be imported", why, install.packages("--force-reinstall", "torch"))
    kind = f"CUDA {said['cuda']}" if said.get("cuda") else "for CPU"
    return _torch_version(version, f"{version}, {kind}, {os.path.dirname(said['path'])}")


def _torch_version(version: str, found: str) -> Part:
    try:
        by_pip = metadata.version("torch")
    except metadata.PackageNotFoundError:
        by_pip = version
    if by_pip.partition("+")[0] != version.partition("+")[0]:
        why = f"pip reports torch {by_pip}: another copy hides it, or an upgrade was incomplete"
        return Part("torch", NOTE, found, why, install.packages("--force-reinstall", "torch"))
    oldest, newest = _TORCHES
    if _FIRST_TORCH <= _release(version) < oldest:
        why = f"its own profiler records the operators: the observer is made for torch {_spelled(_TORCHES)}"
        return Part("torch", NOTE, found, why)
    if not oldest <= _release(version) <= newest:
        return Part("torch", NOTE, found, f"perfprobe is made for torch {_spelled((_FIRST_TORCH, newest))}")
    return Part("torch", OK, found)


def observer(said: Mapping[str, Any]) -> Part:
    """Checks the native operator observer."""
    why = said.get("observer")
    if why == "":
        return Part("observer", OK, f"built for torch {said['version']}, loads", _where(said))
    if hidden_package() is not None:
        return Part("observer", LACK, "not in the source folder that was imported", "", _away())
    if why is None:
        remedy = "fix torch" if said.get("version") is None else install.rebuild()
        return Part(
            "observer", LACK, "not tried", said.get("ended") or "there is no torch to try it with", remedy
        )
    found = "cannot be used; torch.profiler is used instead, at many times the cost"
    if said.get("observer_can_be_built"):
        found = (
            f"not built yet for torch {said['version']}; the next recording builds it, in a minute or less"
        )
        return Part("observer", NOTE, found, why, "build it now with `perfprobe build`")
    if said.get("profiler"):
        found = "operators cannot be observed"
    return Part("observer", LACK, found, why, said["remedy"])


def _where(said: Mapping[str, Any]) -> str:
    """Returns a sentence with the path of an observer in the user's cache; "" for an installed one."""
    path = str(said.get("observer_file", ""))
    return "" if not path or os.path.dirname(path) != kept.folder() else f"it is {path}"


def profiler(said: Mapping[str, Any]) -> Part:
    """Checks torch's own profiler."""
    if "profiler" not in said:
        why = said.get("ended") or "there is no torch to try it with"
        return Part("torch.profiler", NOTE, "not tried", why)
    why = said["profiler"]
    if why is None:
        found = "not tried: with a GPU driver a session sets up GPU tracing"
        return Part("torch.profiler", NOTE, found, "--operators autograd and both use it, the GPU's included")
    if why:
        return Part("torch.profiler", NOTE, "does not work", f"{why}; the observer does not need it")
    return Part("torch.profiler", OK, "records operators (Kineto): the second source")


def reading(said: Mapping[str, Any]) -> Part:
    """Checks the packages that reports need."""
    if "broken" in said:
        name = said["broken"]
        why = f"{said['error']}: recordings are written but cannot be read here"
        return Part(
            "reading", LACK, f"{name} cannot be imported", why, install.packages("--force-reinstall", name)
        )
    if "rich.console" not in said:
        return Part("reading", LACK, "not tried", said.get("ended", ""), install.packages("numpy", "rich"))
    return Part("reading", OK, f"numpy {said['numpy']} and rich load")


def newest(said: Mapping[str, Any]) -> Part:
    """Checks the newest recording in this folder."""
    path = said.get("newest")
    if not path:
        return Part("newest recording", OK, "none in this folder" if path == "" else "not looked for")
    name = os.path.basename(path)
    if "unreadable" in said:
        return Part("newest recording", NOTE, name, said["unreadable"], "record again, or remove it")
    if "operators" not in said:
        return Part(
            "newest recording", NOTE, name, f"not read to its end: {said.get('ended', 'it is large')}"
        )
    cut = "" if said["complete"] else ", cut short: its program was killed, or still runs"
    return Part("newest recording", OK, f"{name}, {said['operators']:,} operators{cut}")


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _spelled(bounds: tuple[tuple[int, int], tuple[int, int]]) -> str:
    return " to ".join(".".join(map(str, bound)) for bound in bounds)
