"""The only importer of the extension modules: says why one cannot be used, and the command that fixes it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import ExtensionFileLoader

from perfprobe.built import kept, torch_there
from perfprobe.support import install
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.scarcity import scarcity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

    from perfprobe._core import ChildSheet as ChildSheet
    from perfprobe._core import DeviceMemoryLog as DeviceMemoryLog
    from perfprobe._core import GpuSession as GpuSession  # the names under which other modules use them
    from perfprobe._core import InstructionSamples as InstructionSamples
    from perfprobe._core import OperatorBudget as OperatorBudget
    from perfprobe._core import PerfCounters as PerfCounters
    from perfprobe._core import RangeLog as RangeLog
    from perfprobe._core import Recorder as Recorder
    from perfprobe._core import Sampler as Sampler
    from perfprobe._core import StepLog as StepLog
    from perfprobe._core import ThreadTimes as ThreadTimes
    from perfprobe._core import range as range
    from perfprobe._core import range_begin as range_begin
    from perfprobe._core import range_end as range_end
    from perfprobe.built.torch_there import TorchThere

_OBSERVER = "perfprobe._observer"
_NO_OPERATORS = "operators cannot be recorded"
_STAMP = "_observer_stamp.json"  # beside the observer: the torch it was built against
_BUILD = "_build.json"  # in the package: reasons for modules that were not built
_CUDA = "libperfprobe_cuda"
_not_built: dict[str, tuple[str, str]] = {}  # by torch's version: why no observer was built, and the remedy


def core() -> ModuleType:
    """`perfprobe._core`, the recorder; needs no torch.

    Raises:
        EnvironmentLack: it was not built, or not for this Python.
    """
    try:
        return importlib.import_module("perfprobe._core")
    except ImportError as error:
        why = scarcity(error) or (_reason("perfprobe._core", error), install.rebuild())
        raise EnvironmentLack("nothing can be recorded", *why) from error


def injection() -> str:
    """Path of the library that NVTX and ITT load into a program whose ranges are recorded.

    Raises:
        EnvironmentLack: `_core` cannot be used; the library is built with it.
    """
    return os.path.join(os.path.dirname(str(core().__file__)), "libperfprobe_inject.so")


def observer(torch: Any) -> ModuleType:
    """`perfprobe._observer`, the operator observer, for the torch module the program has imported.

    The installed one, else the one in the user's cache. The torch it was built against
    is checked before the module is loaded: its C++ symbols fit no other.

    Raises:
        EnvironmentLack: there is none for this torch and Python.
    """
    running, was_for = str(torch.__version__), installed_for()
    if was_for == running:
        return _installed_observer()
    there = torch_there.at(os.path.dirname(os.path.abspath(getattr(torch, "__file__", None) or "torch.py")))
    path = None if there is None or there.version != running else kept.find(there)
    if path is not None:
        return _kept_observer(path)
    if was_for is None:
        where = _reason(_OBSERVER, ModuleNotFoundError(name=_OBSERVER))
    elif was_for == "":
        where = f"{_OBSERVER} is not used: {_STAMP}, which says for which torch it was built, cannot be read"
    else:
        where = f"{_OBSERVER} was built for torch {was_for}, this is torch {running}"
    why, remedy = _not_built.get(running, ("", "build it with `perfprobe build`"))
    raise EnvironmentLack(_NO_OPERATORS, f"{where}: {why}" if why else where, remedy)


def has_observer(torch: TorchThere) -> bool:
    """Whether `observer` finds one for this torch, without importing torch."""
    return installed_for() == torch.version or kept.find(torch) is not None


def observer_not_built(torch: TorchThere, why: str, remedy: str) -> None:
    """Set what `observer` reports for a torch without an observer."""
    _not_built[torch.version] = (why, remedy)


def observer_file() -> str:
    """The path of the loaded observer; "" before."""
    return str(getattr(sys.modules.get(_OBSERVER), "__file__", ""))


def let_go_in_child() -> None:
    """Takes the observer's callbacks off torch, in a forked child that records nothing."""
    loaded = sys.modules.get(_OBSERVER)
    if loaded is not None:
        loaded.let_go_in_child()


def installed_for() -> str | None:
    """The torch that the observer beside this package was built for; None where there is no observer.

    Empty if its stamp is missing or damaged.
    """
    found = importlib.util.find_spec(_OBSERVER)
    if found is None or found.origin is None or not os.path.exists(found.origin):
        return None  # the finder of an editable install still knows it after it was removed
    return _stamped_torch(os.path.dirname(found.origin)) or ""


def _installed_observer() -> ModuleType:
    try:
        return importlib.import_module(_OBSERVER)
    except ImportError as error:
        why = scarcity(error) or (_reason(_OBSERVER, error), install.rebuild())
        raise EnvironmentLack(_NO_OPERATORS, *why) from error


def _kept_observer(path: str) -> ModuleType:
    """The module of a file in the cache, loaded once in a process, under its compiled name."""
    if observer_file() == path:
        return sys.modules[_OBSERVER]
    loader = ExtensionFileLoader(_OBSERVER, path)
    spec = importlib.util.spec_from_file_location(_OBSERVER, path, loader=loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        why = scarcity(error) or (_reason(_OBSERVER, error), "build it again with `perfprobe build --again`")
        raise EnvironmentLack(_NO_OPERATORS, *why) from error
    sys.modules[_OBSERVER] = module
    return module


class CudaKernels:
    """Kernels whose number, duration and work are known: libperfprobe_cuda.so, csrc/cuda/cuda_abi.h.

    They run on the calling thread's current device; `stream` is a cudaStream_t as a number, 0 the default
    stream. Times are those of CUDA events.

    Raises (every method):
        EnvironmentLack: there is no GPU, or it refused; says CUDA's name of the error and its text.
    """

    def __init__(self, library: Any) -> None:
        for name in ("error_name", "error_text"):
            getattr(library, f"perfprobe_cuda_{name}").restype = _ctypes().c_char_p
        self._library = library

    def device_count(self) -> int:
        """The number of GPUs, at least one."""
        count = _ctypes().c_int()
        self._call("device_count", _ctypes().byref(count))
        return int(count.value)

    def empty(self, launches: int, stream: int = 0) -> None:
        """Launch an empty kernel `count` times, without waiting for them."""
        self._call("empty", self._stream(stream), launches, None)

    def timed_empty(self, launches: int, stream: int = 0) -> float:
        """Launch an empty kernel `count` times: ns until the last had ended."""
        elapsed_ns = _ctypes().c_double()
        self._call("empty", self._stream(stream), launches, _ctypes().byref(elapsed_ns))
        return float(elapsed_ns.value)

    def spin(
        self, duration_ns: int, launches: int, stream: int = 0
    ) -> tuple[float, list[tuple[int, int, int]]]:
        """Launch a kernel that is busy for duration_ns `count` times: ns of all, and what each one measured.

        Each measures its start and end by the device's own clock, and the cycles between. The stamps
        come by one copy of 24 bytes a launch, from the device to pageable memory, after the kernels.
        """
        ctypes = _ctypes()
        elapsed_ns, stamps = ctypes.c_double(), (ctypes.c_int64 * (3 * launches))()
        arguments = (ctypes.c_int64(duration_ns), launches, stamps, ctypes.byref(elapsed_ns))
        self._call("spin", self._stream(stream), *arguments)
        return elapsed_ns.value, list(zip(stamps[0::3], stamps[1::3], stamps[2::3], strict=True))

    def triad(self, elements: int, repeats: int, stream: int = 0) -> float:
        """a = b + s * c on arrays of `count` floats (a multiple of four): ns of the fastest run.

        12 bytes are moved for each.
        """
        best_ns = _ctypes().c_double()
        arguments = (_ctypes().c_int64(elements), repeats, _ctypes().byref(best_ns))
        self._call("triad", self._stream(stream), *arguments)
        return float(best_ns.value)

    def multiply_add(self, repeats: int, stream: int = 0) -> tuple[float, float]:
        """Multiply-adds of 32-bit floats: operations of a run (each counts two), and ns of the fastest."""
        operations, best_ns = _ctypes().c_double(), _ctypes().c_double()
        arguments = (repeats, _ctypes().byref(operations), _ctypes().byref(best_ns))
        self._call("multiply_add", self._stream(stream), *arguments)
        return operations.value, best_ns.value

    @staticmethod
    def _stream(stream: int) -> Any:
        return _ctypes().c_void_p(stream or None)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, f"perfprobe_cuda_{name}")(*arguments)
        if code != 0:
            texts = (
                self._library.perfprobe_cuda_error_name(code),
                self._library.perfprobe_cuda_error_text(code),
            )
            raise EnvironmentLack("the GPU cannot be used", ": ".join(text.decode() for text in texts))


def cuda_kernels() -> CudaKernels:
    """The kernels of csrc/cuda; the library loads without a driver, its functions then raise.

    Raises:
        EnvironmentLack: it was not built, or cannot be loaded.
    """
    what = "the GPU cannot be measured"
    for folder in _package_folders():
        path = os.path.join(folder, f"{_CUDA}.so")
        if os.path.exists(path):
            try:
                return CudaKernels(_ctypes().CDLL(path))
            except OSError as error:
                raise EnvironmentLack(
                    what, f"{_CUDA} cannot be loaded ({error})", install.rebuild()
                ) from error
    because = why_not_built(_CUDA)
    raise EnvironmentLack(
        what, f"{_CUDA} was not built" + (f": {because}" if because else ""), install.rebuild()
    )


def _ctypes() -> Any:
    import ctypes

    return ctypes


def why_not_built(name: str) -> str | None:
    """The build's reason for leaving out a part ("nvtx", a module); None if it was built."""
    for folder in _package_folders():
        reason = install.json_object(os.path.join(folder, _BUILD)).get(name)
        if reason is not None:
            return " ".join(str(reason).split())
    return None


def _stamped_torch(folder: str) -> str | None:
    version = install.json_object(os.path.join(folder, _STAMP)).get("torch")
    return version if isinstance(version, str) else None


def _reason(module: str, error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == module:
        because = why_not_built(module.rpartition(".")[2])
        return f"{module} was not built" + (f": {because}" if because else "")
    return f"{module} cannot be loaded ({' '.join(str(error).split())})"


def _package_folders() -> Iterator[str]:
    found = importlib.util.find_spec("perfprobe")
    yield from (found.submodule_search_locations or []) if found is not None else []
