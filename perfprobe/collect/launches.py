"""Makes calls visible to the observer that use a GPU outside of operators.

Triton kernels, including those that inductor generated, and replays of CUDA graphs become rows at the line
that called them. Waiting for a GPU becomes a range, because it is neither work nor an operator's time.
"""

from __future__ import annotations

import weakref
from os import getpid
from types import BuiltinFunctionType, FunctionType, ModuleType

from perfprobe.collect.base import fault
from perfprobe.collect.held_signals import undisturbed
from perfprobe.collect.imports import ImportWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfprobe.collect.base import Facts

INDUCTORS = "torch._inductor.runtime.triton_heuristics"  # its Triton kernels are CachingAutotuner objects
_TRITONS = "triton.runtime.jit"
_REMEDY = "perfprobe knows torch from 2.11 to 2.15 and Triton 3.6"
_REPLAY = "cuda::graph_replay"
# Attributes of torch that wait, and the name of the range.
_WAITS = (
    ("_C", "_cuda_synchronize", "cuda::synchronize"),
    ("_C", "_accelerator_synchronizeDevice", "cuda::synchronize"),
    ("cuda.Stream", "synchronize", "cuda::Stream.synchronize"),
    ("cuda.Event", "synchronize", "cuda::Event.synchronize"),
)


class KernelNames:
    """The names of Triton kernels for their rows, by address, as long as the kernels live."""

    def __init__(self) -> None:
        self.by_id: dict[int, str] = {}
        self._alive: dict[int, weakref.ref[object]] = {}

    def note(self, kernel: object, name: str) -> str:
        """Sets the kernel's name; returns it."""
        key = id(kernel)

        @undisturbed
        def forget(_: object) -> None:
            self.by_id.pop(key, None)
            self._alive.pop(key, None)

        self._alive[key] = weakref.ref(kernel, forget)
        self.by_id[key] = name
        return name


class LaunchCalls:
    """Replaces these functions by callables that record them. `stop` restores all of them.

    Args:
        wrap: `recorded_method` of the observer.
        names: of the kernels that inductor generated and that are known already.
    """

    def __init__(self, facts: Facts, torch: Any, wrap: Callable[..., Any], names: KernelNames) -> None:
        self._facts = facts
        self._torch = torch
        self._wrap = wrap
        self._names = names
        self._process = getpid()
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._faults: set[str] = set()
        self._watches = [ImportWatch(INDUCTORS, self._see_inductor), ImportWatch(_TRITONS, self._see_triton)]

    def start(self) -> None:
        """Replaces the functions that exist, and others when the program imports their modules."""
        for path, attribute, name in _WAITS:
            self._replace_in_torch(path, attribute, name, is_range=True)
        self._replace_in_torch("cuda.CUDAGraph", "replay", _REPLAY)
        for watch in self._watches:
            watch.start()

    def stop(self) -> None:
        """Restores the functions, except those that somebody else has replaced since."""
        for watch in self._watches:
            watch.stop()
        while self._replaced:
            owner, attribute, original, ours = self._replaced.pop()
            if vars(owner).get(attribute) is ours:
                setattr(owner, attribute, original)

    def _replace_in_torch(self, path: str, attribute: str, name: str, *, is_range: bool = False) -> None:
        owner = self._torch
        for part in path.split("."):
            owner = getattr(owner, part, None)
        if self._torch.version.cuda is None and not hasattr(owner, attribute):
            return  # a build without CUDA has nothing to replace
        what = f"lines of torch.{path}.{attribute}"
        self._guarded(what, lambda: self._replace(owner, attribute, name, is_range=is_range))

    def _see_inductor(self, module: Any) -> None:
        # Kernels that inductor's tuning runs (`bench`) are recognised by their stack.
        for method in ("run", "bench"):
            self._guarded(
                f"lines of Triton kernels that inductor generated ({method})",
                lambda method=method: self._replace(  # type: ignore[misc]
                    module.CachingAutotuner, method, self._names.by_id, self._name_of_generated
                ),
            )

    def _see_triton(self, module: Any) -> None:
        step = lambda: self._replace(module.JITFunction, "run", self._names.by_id, self._name_of_own)  # noqa: E731
        self._guarded("lines of Triton kernels", step)

    def _replace(
        self, owner: Any, attribute: str, names: object, name_of: object = None, *, is_range: bool = False
    ) -> None:
        original = vars(owner)[attribute]
        if not isinstance(original, FunctionType | BuiltinFunctionType):
            raise TypeError(f"{attribute} is a {type(original).__name__}")
        ours = self._wrap(original, names, name_of, is_range)
        setattr(owner, attribute, ours)
        self._replaced.append((owner, attribute, original, ours))

    def _name_of_generated(self, tuner: Any) -> str | None:
        return self._named(tuner, lambda: name_of_generated(tuner))

    def _name_of_own(self, kernel: Any) -> str | None:
        return self._named(kernel, lambda: f"triton::{kernel.__name__}")

    def _named(self, kernel: object, name: Callable[[], str]) -> str | None:
        found: list[str] = []
        self._guarded("names of Triton kernels", lambda: found.append(self._names.note(kernel, name())))
        return found[0] if found else None

    def _guarded(self, what: str, step: Callable[[], None]) -> None:
        """Runs a step. If something is not as expected, writes one loss and does nothing else."""
        if getpid() != self._process:
            return
        try:
            step()
        except Exception as error:
            if what not in self._faults:
                self._faults.add(what)
                self._facts.loss("gpu", f"{what} are not known: {fault(error)}", 1, _REMEDY)


def name_of_generated(tuner: Any) -> str:
    """Returns the name of a kernel that inductor generated or took over from the user (`custom_kernel`)."""
    kernel = str(tuner.inductor_meta.get("kernel_name") or tuner.fn.__name__)
    return f"{prefix(tuner)}{kernel}"


def prefix(tuner: Any) -> str:
    """Returns the prefix that says whose kernel it is: inductor's or the user's."""
    return "triton::" if getattr(tuner, "custom_kernel", False) else "inductor::"


def generated_kernels(module: ModuleType, heuristics: object) -> dict[str, object]:
    """Returns the Triton kernels of a generated module, by name. heuristics: inductor's module of kernels."""
    tuner = getattr(heuristics, "CachingAutotuner", None)
    if not isinstance(tuner, type):
        return {}
    return {name: value for name, value in vars(module).items() if isinstance(value, tuner)}
