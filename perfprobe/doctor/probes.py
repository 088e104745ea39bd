"""Functions that run in a child process. Each reports a result as soon as it is known."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from perfprobe.collect.program import safe_path
from perfprobe.collect.shadowed import find_in
from perfprobe.doctor.child import MARK
from perfprobe.support import install
from perfprobe.support.errors import PerfprobeError
from perfprobe.support.view import View


def main() -> None:
    """Runs the probe that the command line names."""
    name, *words = sys.argv[1:]
    probes: dict[str, Callable[..., None]] = {"torch": torch, "reading": reading, "gpu": gpu}
    probes[name](*words)


def _say(**found: object) -> None:
    sys.stdout.write(f"\n{MARK}{json.dumps(found)}\n")
    sys.stdout.flush()


def _error(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def torch() -> None:
    """Probes torch as a script in this folder imports it, the observer for it, and its own profiler.

    A file with torch's name in this folder is found, but not run: `doctor` runs no code of the current
    folder.
    """
    hiding = _hiding("torch")
    if hiding is not None:
        _say(path=hiding)
        return
    try:
        import torch as found
    except BaseException as error:
        _say(error=_error(error), missing=isinstance(error, ModuleNotFoundError) and error.name == "torch")
        return
    _say(path=getattr(found, "__file__", None), version=str(getattr(found, "__version__", "")) or None)
    if not hasattr(found, "__version__"):
        return
    _say(cuda=getattr(getattr(found, "version", None), "cuda", None))
    _observer(found)
    _profiler(found)
    _cupti(found)


def _hiding(name: str) -> str | None:
    """Returns the file in the current folder that a script would import in place of the installed package."""
    here = None if safe_path() else find_in(os.getcwd(), name)
    installed = importlib.util.find_spec(name)
    if here is None or here.origin is None:
        return None
    return None if installed is not None and installed.origin == here.origin else here.origin


def _observer(found: Any) -> None:
    from perfprobe import native
    from perfprobe.built import build, torch_there

    there = torch_there.at(os.path.dirname(os.path.abspath(found.__file__)))
    if there is not None and not native.has_observer(there):
        try:
            build.require(there)
            _say(observer_can_be_built=True)
        except PerfprobeError as missing:
            native.observer_not_built(there, missing.where, missing.remedy)
    try:
        native.observer(found)
        _say(observer="", observer_file=native.observer_file())
    except PerfprobeError as error:
        _say(observer=error.where, remedy=error.remedy)
    except Exception as error:
        _say(observer=_error(error), remedy=install.rebuild())


def _profiler(found: Any) -> None:
    try:
        from torch.profiler import ProfilerActivity, kineto_available, profile

        if not kineto_available():
            _say(profiler="torch was built without Kineto")
            return
        if _has_driver():
            _say(profiler=None)
            return
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            found.ones(2) + 1
        names = {event.name for event in profiler.events()}
        _say(profiler="" if "aten::add" in names else "it saw no operator")
    except Exception as error:
        _say(profiler=_error(error))


def _has_driver() -> bool:
    # /proc/driver/nvidia is missing in some sandboxes with a GPU.
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _cupti(found: Any) -> None:
    """Starts to record GPUs as a run would, if there is a driver and a torch that uses it."""
    cuda = getattr(getattr(found, "version", None), "cuda", None)
    if cuda is None or not _has_driver():
        return
    import tempfile

    from perfprobe import native
    from perfprobe.collect.options import SMALLEST_BUFFER_BYTES, Options

    core, graphs = native.core(), Options().gpu_graphs
    folders = [os.path.dirname(os.path.dirname(found.__file__))]
    with tempfile.TemporaryDirectory() as folder:
        recorder = core.Recorder(os.path.join(folder, "trial.perfprobe"), SMALLEST_BUFFER_BYTES)
        session = core.GpuSession(recorder.capsule(), int(cuda.partition(".")[0]), folders, False, graphs)
        fault = session.start()
        if fault is not None:
            _say(cupti=fault[0], cupti_remedy=fault[1])
        else:
            facts = session.facts()
            known = ("library", "library_found", "cupti_version", "faults")
            _say(cupti="", **{name: facts[name] for name in known})
        session.stop()
        recorder.close()


def reading(folder: str) -> None:
    """Probes what the report needs, and the newest recording in the folder."""
    for name in ("numpy", "rich.console"):
        try:
            _say(**{name: str(getattr(importlib.import_module(name), "__version__", "unknown"))})
        except BaseException as error:
            _say(broken=name.partition(".")[0], error=_error(error))
            return
    from perfprobe import results
    from perfprobe.tables import storage

    try:
        newest = storage.newest(folder)
    except PerfprobeError:
        _say(newest="")
        return
    _say(newest=newest)
    try:
        document = results.Results(newest).document(View(top=1))
        totals = document["tables"]["totals"][0]
        _say(operators=totals["operators"], complete=totals["complete"])
    except PerfprobeError as error:
        _say(unreadable=str(error))


def gpu() -> None:
    """Reports facts from NVIDIA's driver (https://docs.nvidia.com/cuda/cuda-driver-api/)."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        _say(missing=str(error))
        return
    version, devices = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    _say(cuda=f"{version.value // 1000}.{version.value % 1000 // 10}")
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(devices))
    if status:
        _say(status=status)
        return
    names = []
    for device in range(devices.value):
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, len(name), device)
        names.append(name.value.decode(errors="replace"))
    _say(devices=names)
