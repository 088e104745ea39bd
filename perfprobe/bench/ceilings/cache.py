"""Stores a machine's ceilings in a file of the user's cache, under a key of all they depend on."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import tempfile
from dataclasses import asdict
from typing import Any, TypeAlias, TypeVar

from perfprobe.support import user_cache
from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.tables.machine import Ceiling, Machine
from perfprobe.tables.measurements import Estimate

_VERSION = 2
_MOST_BYTES = 1 << 20
_MOST_ROWS = 5000
_LONGEST = 500  # characters
# Variables that select instructions or memory for torch and its libraries.
_LIMITING = (
    "ATEN_CPU_CAPABILITY",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
    "THP_MEM_ALLOC_ENABLE",
    "LD_PRELOAD",
)
_LARGEST = 1e30  # FLOP/s and the like
Plain: TypeAlias = "dict[str, Any]"
_Type = TypeVar("_Type", str, int, float, list[Any], dict[str, Any])


def key(device: str) -> str:
    """Returns all that ceilings depend on: processor, usable processors, torch, GPUs and settings."""
    parts = [processor(), f"{len(os.sched_getaffinity(0))} processors", f"torch {torch_version()}", device]
    parts += [f"{name}={os.environ[name][:60]}" for name in _LIMITING if os.environ.get(name)]
    if device != "cpu":
        parts += [*_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES", "all")]
    return ", ".join(parts)


def path_of(made_key: str) -> str:
    """Returns the path of the file in the user's cache."""
    name = hashlib.sha256(made_key.encode()).hexdigest()[:16]
    return os.path.join(user_cache.folder(), f"machine-{name}.json")


def read(path: str, made_key: str) -> Machine | None:
    """Returns the ceilings in the file; None if there is no file.

    Raises:
        InputError: the file is unreadable, damaged, too large, another user's, or of another machine or
            version.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError("the cached ceilings cannot be read", path, error.strerror or "") from error
    with open(descriptor, "rb") as file:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise InputError("the cached ceilings are another user's", path)
        try:
            text = file.read(_MOST_BYTES + 1)
            machine = machine_of(json.loads(text) if len(text) <= _MOST_BYTES else None)
        except (OSError, ValueError, RecursionError) as error:
            raise InputError("the cached ceilings are damaged", path) from error
    if machine.key != made_key:
        raise InputError("the cached ceilings are of another machine", path)
    return machine


def write(machine: Machine, path: str) -> None:
    """Writes the ceilings atomically.

    Raises:
        EnvironmentLack: the folder cannot be made or written.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, made = tempfile.mkstemp(dir=folder)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"version": _VERSION, **asdict(machine)}, file)
            os.replace(made, path)
        except BaseException:
            os.unlink(made)
            raise
    except OSError as error:
        what = f"the ceilings cannot be cached ({error.strerror})"
        raise EnvironmentLack(what, folder, user_cache.MOVE) from error


def machine_of(plain: object) -> Machine:
    """Returns the machine in parsed JSON. Raises ValueError for anything that `write` would not write."""
    row = _checked(plain, dict)
    if row.get("version") != _VERSION:
        raise ValueError("another version")
    return Machine(
        name=_text(row, "name"),
        key=_text(row, "key"),
        torch=_text(row, "torch"),
        measured=_text(row, "measured"),
        seconds=_number(row.get("seconds")),
        noise=_number(row.get("noise")),
        contention=_number(row.get("contention")),
        ceilings=tuple(_ceiling(one) for one in _rows(row, "ceilings")),
        levels=tuple((_short(name), _whole(size)) for name, size in map(_pair, _rows(row, "levels"))),
        missing=tuple((_short(what), _short(why)) for what, why in map(_pair, _rows(row, "missing"))),
    )


def _ceiling(plain: object) -> Ceiling:
    row = _checked(plain, dict)
    rate = _checked(row.get("rate"), dict)
    return Ceiling(
        kind=_text(row, "kind"),
        device=_text(row, "device"),
        dtype=_text(row, "dtype"),
        threads=_whole(row.get("threads")),
        rate=Estimate(*(_number(rate.get(name)) for name in ("value", "low", "high"))),
        what=_text(row, "what"),
        mix=_text(row, "mix"),
        footprint_bytes=_whole(row.get("footprint_bytes")),
    )


def _checked(value: object, kind: type[_Type]) -> _Type:
    if not isinstance(value, kind):
        raise ValueError(f"{type(value).__name__} instead of {kind.__name__}")
    return value


def _text(row: Plain, name: str) -> str:
    return _short(row.get(name))


def _short(value: object) -> str:
    text = _checked(value, str)
    if len(text) > _LONGEST:
        raise ValueError("text too long")
    return text


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
        raise ValueError("no number")  # nan fails every comparison
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not 0 <= _checked(value, int) < 1 << 62:
        raise ValueError("no whole number")
    return _checked(value, int)


def _rows(row: Plain, name: str) -> list[Any]:
    rows = _checked(row.get(name), list)
    if len(rows) > _MOST_ROWS:
        raise ValueError("too many rows")
    return rows


def _pair(value: object) -> list[Any]:
    pair = _checked(value, list)
    if len(pair) != 2:
        raise ValueError("no pair")
    return pair


def processor() -> str:
    """Returns the processor's name from /proc/cpuinfo."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*: (.*)$", file.read(1 << 16), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip()[:_LONGEST] if found is not None else "unknown processor"


def torch_version() -> str:
    """Finds the version of the torch that would be imported, without importing it; "none" without torch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return "none"
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as file:
            found = re.search(r"^__version__ = '([^']{1,100})'", file.read(1 << 16), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found is not None else "unknown"


def _gpus() -> list[str]:
    folder = "/proc/driver/nvidia/gpus"
    names = []
    try:
        for entry in sorted(os.listdir(folder)):
            with open(os.path.join(folder, entry, "information"), encoding="utf-8") as file:
                found = re.search(r"^Model:\s*(.*)$", file.read(1 << 14), re.MULTILINE)
            names.append(found[1] if found is not None else "unknown GPU")
    except OSError:
        pass
    return names
