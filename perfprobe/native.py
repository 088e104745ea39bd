"""The only door to the extension modules: says why one cannot be used, and the command that mends it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys

from perfprobe.support.errors import EnvironmentLack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from perfprobe._core import RangeLog as RangeLog  # the names other modules take them by
    from perfprobe._core import Recorder as Recorder
    from perfprobe._core import Sampler as Sampler
    from perfprobe._core import range as range
    from perfprobe._core import range_begin as range_begin
    from perfprobe._core import range_end as range_end

_STAMP = "_observer_stamp.json"  # beside the observer: the torch it was built against
_BUILD = "_build.json"  # in the package: why a module was not built


def core() -> ModuleType:
    """`perfprobe._core`, the recorder; needs no torch.

    Raises:
        EnvironmentLack: it was not built, or not for this Python.
    """
    try:
        return importlib.import_module("perfprobe._core")
    except ImportError as error:
        raise EnvironmentLack(
            "nothing can be recorded", _reason("perfprobe._core", error), rebuild()
        ) from error


def injection() -> str:
    """Path of the library that NVTX and ITT load into a program whose ranges are recorded.

    Raises:
        EnvironmentLack: `_core` cannot be used; the library is built with it.
    """
    return os.path.join(os.path.dirname(str(core().__file__)), "libperfprobe_inject.so")


def observer(torch: Any) -> ModuleType:
    """`perfprobe._observer`, the operator observer, for the torch module the program has imported.

    The torch it was built against is compared before the module is loaded: its C++ symbols fit no other.

    Raises:
        EnvironmentLack: it was not built, or for another torch or Python.
    """
    what, name, running = "operators cannot be recorded", "perfprobe._observer", str(torch.__version__)
    found = importlib.util.find_spec(name)
    if found is not None and found.origin is not None:
        built_for = _stamped_torch(os.path.dirname(found.origin)) or "(unknown)"
        if built_for != running:
            where = f"{name} was built for torch {built_for}, this is torch {running}"
            raise EnvironmentLack(what, where, rebuild())
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EnvironmentLack(what, _reason(name, error), rebuild()) from error


def rebuild() -> str:
    """The exact command that builds the native modules again for the Python and torch that are running."""
    import shlex

    source, editable = _source()
    command = [sys.executable, "-m", "pip", "install", "--force-reinstall", "--no-deps"]
    if source is None:
        command += ["--no-cache-dir", "--no-binary", "perfprobe", "perfprobe"]
    elif editable:
        command += ["--no-build-isolation", "-e", source]
    else:
        command += [source]
    return f"rebuild it with `{shlex.join(command)}`"


def _source() -> tuple[str | None, bool]:
    """Where perfprobe was installed from, and whether as an editable install; None when pip does not say."""
    from importlib import metadata
    from urllib.parse import unquote

    try:
        recorded = json.loads(metadata.distribution("perfprobe").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None, False
    url = str(recorded.get("url", ""))
    editable = bool(recorded.get("dir_info", {}).get("editable"))
    return (unquote(url.removeprefix("file://")), editable) if url.startswith("file://") else (None, False)


def _stamped_torch(folder: str) -> str | None:
    version = _loaded(os.path.join(folder, _STAMP)).get("torch")
    return version if isinstance(version, str) else None


def _reason(module: str, error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == module:
        because = _why_not_built(module.rpartition(".")[2])
        return f"{module} was not built" + (f": {because}" if because else "")
    return f"{module} cannot be loaded ({' '.join(str(error).split())})"


def _why_not_built(name: str) -> str | None:
    """What the build wrote down about a module it left out; None when it did not."""
    found = importlib.util.find_spec("perfprobe")
    for folder in (found.submodule_search_locations or []) if found is not None else []:
        reason = _loaded(os.path.join(folder, _BUILD)).get(name)
        if reason is not None:
            return " ".join(str(reason).split())
    return None


def _loaded(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
