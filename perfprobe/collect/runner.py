"""Runs the user's program in this process as plain `python` would: it sees, prints and ends with the same."""

from __future__ import annotations

import builtins
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from types import ModuleType

from perfprobe.collect.program import safe_path
from perfprobe.collect.traceback import hide_from_traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from perfprobe.collect.program import Program

# Before Python 3.12 the `exec` that runs a module counts against the recursion limit like a frame.
_EXEC_DEPTH = 1 if sys.version_info < (3, 12) else 0

# For the life of the process: the interpreter uses the module of the launcher's file without owning it.
_launchers: list[ModuleType] = []


class Ending:
    """How the program ended, in words; None while it runs."""

    def __init__(self) -> None:
        self.text: str | None = None


def run(program: Program, ending: Ending, begin: Callable[[], None]) -> None:
    """Run the program as `__main__`; what it raises goes on to the interpreter, which ends as it always does.

    `begin` is called when nothing but the program is left to run.
    Nothing of the launcher's is in its way: `__main__` is a new module, `sys.argv` and `sys.path` are those
    of a plain start, the launcher's frames count neither in tracebacks nor against the recursion limit.
    """
    import runpy

    namespace = _fresh_main()
    sys.argv[:] = program.argv
    _put_on_path(program)
    _allow_for_frames(program)
    try:
        if program.kind == "script":
            code = _script_code(program, namespace)
            begin()
            exec(code, namespace)
        elif program.kind == "module":
            begin()
            runpy._run_module_as_main(program.name)  # type: ignore[attr-defined]
        else:
            begin()
            runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
    except BaseException as error:
        ending.text = _ending(error)
        hide_from_traceback(run.__code__)
        raise
    ending.text = "returned"


def _ending(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return (
            f"exit {error.code}" if isinstance(error.code, int) else f"exit {0 if error.code is None else 1}"
        )
    return type(error).__name__


def _fresh_main() -> dict[str, Any]:
    launcher = sys.modules["__main__"]
    main = ModuleType("__main__")
    namespace = main.__dict__
    if "__annotations__" in launcher.__dict__:  # whether the interpreter makes one depends on its version
        namespace["__annotations__"] = {}
    namespace["__builtins__"] = builtins
    _launchers.append(launcher)
    sys.modules["__main__"] = main
    return namespace


def _script_code(program: Program, namespace: dict[str, Any]) -> Any:
    path = program.file
    kind = SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader
    loader = kind("__main__", path)
    namespace.update(__loader__=loader, __file__=path, __cached__=None)
    if kind is SourcelessFileLoader:
        return loader.get_code("__main__")
    # Bytes, so that the compiler itself reads the encoding declaration.
    return compile(program.source, path, "exec", dont_inherit=True)


def _put_on_path(program: Program) -> None:
    # The launcher's own first entry is gone already (`program.leave_launcher`).
    if program.kind == "archive" or not safe_path():
        sys.path.insert(0, program.first_on_path)


def _allow_for_frames(program: Program) -> None:
    """Raise the recursion limit by the launcher's depth: the program gets as deep as under plain python."""
    depth = _EXEC_DEPTH if program.kind == "script" else 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        depth += 1
        if frame.f_code.co_name == "<module>" and frame.f_back is not None:
            depth += _EXEC_DEPTH
        frame = frame.f_back
    sys.setrecursionlimit(sys.getrecursionlimit() + depth)
