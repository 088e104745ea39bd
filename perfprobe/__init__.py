"""perfprobe: profiles unmodified PyTorch programs.

From a program or a notebook: `with perfprobe.profile("run.perfprobe") as p: ...`, then `p.report()`.
From a shell: `python -m perfprobe script.py`.
Parts of the program get a name with `with perfprobe.range("name"): ...` or `@perfprobe.range("name")`.
The end of a step is marked with `perfprobe.step()`.

Everything is imported on first use. Until the recorded program has ended, perfprobe imports only its own
recorder and as little as possible of the standard library, because a module that is already loaded would hide
a file with the same name in the program's folder.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.block import profile
    from perfprobe.collect.named import range, step
    from perfprobe.session import gpu_counters
    from perfprobe.support.errors import EnvironmentLack, InputError, PerfprobeError, UsageError

__version__ = "0.1.0"

__all__ = [
    "EnvironmentLack",
    "InputError",
    "PerfprobeError",
    "UsageError",
    "__version__",
    "gpu_counters",
    "profile",
    "range",
    "step",
]

_HOMES = {
    "profile": "perfprobe.block",
    "range": "perfprobe.collect.named",
    "step": "perfprobe.collect.named",
    "gpu_counters": "perfprobe.session",
    "PerfprobeError": "perfprobe.support.errors",
    "UsageError": "perfprobe.support.errors",
    "InputError": "perfprobe.support.errors",
    "EnvironmentLack": "perfprobe.support.errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'perfprobe' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
