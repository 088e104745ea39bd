"""Makes the kernels that inductor generates for the CPU visible to the observer, and names all kernels.

The generated code calls its kernels directly, so torch's observers do not see them. A setting of inductor
fixes that, but it is part of inductor's cache keys: everything would be compiled again. Calls of Triton
kernels are recorded by `launches`.
"""

from __future__ import annotations

import os
import sys
import weakref
from os import getpid
from types import BuiltinFunctionType

from perfprobe.collect import generated, launches
from perfprobe.collect.base import fault
from perfprobe.collect.held_signals import around
from perfprobe.collect.imports import ImportWatch
from perfprobe.models import fused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from perfprobe.collect.base import Facts

_CACHE_MODULE = "torch._inductor.codecache"
_LOAD = "load_by_key_path"  # of PyCodeCache, which loads every generated module
_IN_CPP = "inductor_entry"  # defined only by modules made with cpp_wrapper


class CompiledKernels:
    """Replaces every kernel of every module that inductor generates by a callable that records it.

    It waits until the program imports inductor. Then it wraps the modules that are already loaded, and those
    that inductor loads later, newly compiled or from its cache. `stop` restores all of them.

    Args:
        wrap: makes the callable from a name and a kernel.
        names: takes the names of Triton kernels.
    """

    def __init__(
        self, facts: Facts, torch: Any, wrap: Callable[[str, Any], Any], names: launches.KernelNames
    ) -> None:
        self._facts = facts
        self._torch = torch
        self._wrap = wrap
        self._names = names
        self._process = getpid()
        self._recording = True
        self._watch = ImportWatch(_CACHE_MODULE, self._hook)
        self._cache: Any = None
        self._config: Any = None
        self._original: Any = None
        self._ours: Any = None
        self._wrapped: list[tuple[weakref.ref[ModuleType], str, Any]] = []
        self._known: set[str] = set()  # names of operators
        self._keys: dict[str, list[str]] = {}  # kernel -> modules with a kernel of this name
        self._kernels: dict[str, object] = {}  # the meta value `compiled`
        self._written = 0  # number of kernels in it when it was last written
        self._folders: set[str] = set()
        self._faults: set[str] = set()
        self._in_cpp: set[str] = set()  # modules made with cpp_wrapper

    def start(self) -> None:
        """Waits for inductor; starts at once if it is imported already."""
        self._watch.start()

    def stop(self) -> None:
        """Restores the kernels, and writes what is only known at the end."""
        self._watch.stop()
        self._recording = False
        if self._cache is not None and vars(self._cache).get(_LOAD) is self._ours:
            setattr(self._cache, _LOAD, self._original)
        for module_of, name, kernel in self._wrapped:
            module: Any = module_of()  # None if it is gone; None has no such attribute
            held: Any = getattr(module, name, None)
            if held is kernel:
                setattr(module, name, held.__wrapped__)
        self._write(len(self._kernels))
        if self._in_cpp:
            reason = "graphs compiled with cpp_wrapper: their kernels are called by C++ code and not recorded"
            remedy = (
                "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1 in the environment; inductor then compiles again"
            )
            self._facts.loss("operators", reason, len(self._in_cpp), remedy)

    def _hook(self, codecache: ModuleType) -> None:
        self._guarded("kernels of torch.compile cannot be recorded", lambda: self._replace_load(codecache))

    def _replace_load(self, codecache: Any) -> None:
        cache = codecache.PyCodeCache
        original = vars(cache)[_LOAD]
        load = around(original.__func__, after=self._loaded)
        self._cache, self._original, self._ours = cache, original, classmethod(load)
        self._config = codecache.config
        setattr(cache, _LOAD, self._ours)
        for module in list(cache.modules):
            self._take(module)

    def _loaded(self, succeeded: bool, module: ModuleType, *_: Any) -> ModuleType:
        if succeeded:
            self._guarded("kernels of torch.compile were not recorded", lambda: self._take(module))
        return module

    def _guarded(self, what: str, step: Callable[[], None]) -> None:
        """Runs a step. If inductor is not as expected, writes one loss and does nothing else."""
        if not self._recording or getpid() != self._process:  # a forked child does not record
            return
        try:
            step()
        except Exception as error:
            if what not in self._faults:
                self._faults.add(what)
                remedy = "perfprobe knows inductor from torch 2.11 to 2.15"
                self._facts.loss("operators", f"{what}: {fault(error)}", 1, remedy)

    def _take(self, module: ModuleType) -> None:
        """Wraps the kernels of a generated module that are not wrapped yet."""
        path = str(module.__file__)
        self._note_folder(os.path.abspath(path))
        shown = self._name_triton(module, path)
        if _IN_CPP in vars(module):
            self._in_cpp.add(path)
        if not self._config.cpp.enable_kernel_profile:
            # Otherwise the generated code itself notifies observers.
            shown |= self._wrap_kernels(module, path)
        if shown:
            self._guarded("what compiled kernels were made from", lambda: self._describe(path, shown))

    def _wrap_kernels(self, module: ModuleType, path: str) -> dict[str, str]:
        kernels = {name: value for name, value in vars(module).items() if _is_kernel(name, value)}
        shown = {name: self._shown(name, path) for name in kernels}
        for name, kernel in kernels.items():
            wrapped = self._wrap(shown[name], kernel)
            setattr(module, name, wrapped)
            self._wrapped.append((weakref.ref(module), name, wrapped))
        return shown

    def _name_triton(self, module: ModuleType, path: str) -> dict[str, str]:
        kernels = launches.generated_kernels(module, sys.modules.get(launches.INDUCTORS))
        return {
            name: self._names.note(kernel, self._shown(name, path, launches.prefix(kernel)))
            for name, kernel in kernels.items()
        }

    def _shown(self, kernel: str, path: str, prefix: str = "inductor::") -> str:
        """Returns the kernel's name in the report. Equal names of other modules get #2, #3, ..."""
        keys = self._keys.setdefault(kernel, [])
        if path not in keys:
            keys.append(path)
        number = keys.index(path) + 1
        return f"{prefix}{kernel}#{number}" if number > 1 else f"{prefix}{kernel}"

    def _describe(self, path: str, shown: dict[str, str]) -> None:
        self._known = self._known or generated.known_operators(self._torch)
        with open(path, encoding="utf-8") as file:
            source = file.read()
        noted = self._cache.linemaps.get(path) or ((), ())
        traces = generated.call_traces(source, shown, zip(*noted, strict=True))
        library = os.path.dirname(os.path.abspath(self._torch.__file__))
        for kernel, name in shown.items():
            self._kernels[name] = {
                "operators": fused.operators(kernel, self._known),
                "lines": generated.places(traces.get(kernel, ()), library),
            }
        self._write(2 * self._written)

    def _write(self, least: int) -> None:
        # Completely written whenever the number of kernels has doubled (for killed runs), and at the end.
        if len(self._kernels) >= max(least, self._written + 1):
            self._written = len(self._kernels)
            self._facts.meta("compiled", self._kernels)

    def _note_folder(self, path: str) -> None:
        """Remembers inductor's folder, so that generated code is not taken for the user's."""
        part, file = os.path.split(path)
        folder = os.path.dirname(part)
        if os.path.basename(part) == file[1:3] and folder not in self._folders:  # inductor's layout
            self._folders.add(folder)
            self._facts.extend("roots", inductor=sorted(self._folders))


def _is_kernel(name: str, value: object) -> bool:
    return name.startswith("cpp_") and type(value) is BuiltinFunctionType
