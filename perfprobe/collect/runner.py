"""Runs the user's program in this process as plain `python` would: same environment, output and exit."""

from __future__ import annotations

import builtins
import importlib
import sys
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader
from types import ModuleType

from perfprobe import native
from perfprobe.collect.program import safe_path
from perfprobe.collect.shadowed import give_back, loaded_for_us
from perfprobe.collect.traceback import hide_from_traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from perfprobe.collect.program import Program

    class Watch(Protocol):
        """Called when the program begins and ends."""

        def begin(self) -> None:
            """Called right before the program."""

        def end(self) -> None:
            """Called when the program has ended. A profile function that saw it must not see what follows."""

        def go_on(self) -> None:
            """Called when it may see frames again: it knows those that are left."""


_NO_SCRIPT = 2  # python's exit code when the script cannot be read

# Kept for the life of the process: the interpreter uses the module of the launcher's file without owning it.
_launchers: list[ModuleType] = []


class Ending:
    """How the program ended.

    Attributes:
        text: in words; None while it runs.
        is_of_start: whether it did not start: its source has an error, or there is no such module.
    """

    def __init__(self) -> None:
        self.text: str | None = None
        self.is_of_start = False


def run(program: Program, ending: Ending, watch: Watch) -> None:
    """Runs the program as `__main__`. Its exceptions go on to the interpreter, which ends as usual.

    `watch` is called right before and after the program, and when only frames of the launcher are left. The
    launcher does not show. `__main__` is a new module. `sys.argv` and `sys.path` are those of a plain start.
    No traceback or dump has the launcher's frames, and they do not count against the recursion limit. No
    module that only perfprobe has loaded hides a file of the program. A caller that holds signals
    (`held_signals`) does not hold them while the program runs.
    """
    core = native.core()
    through_runpy = program.kind in ("module", "archive")
    loaded = loaded_for_us(by_runpy_too=not through_runpy)
    namespace = _fresh_main()
    sys.argv[:] = program.argv
    runpy = importlib.import_module("runpy") if through_runpy else None
    _put_on_path(program)
    if program.first_on_path is not None and sys.path[:1] == [program.first_on_path]:
        give_back(loaded, program.first_on_path)
    try:
        if runpy is None:
            ending.is_of_start = True
            code = _code(program, namespace)
            ending.is_of_start = False
            core.run_outermost(watch.begin, watch.end, code, namespace)
        else:
            core.call_outermost(watch.begin, watch.end, runpy._run_module_as_main, *_module(program))
    except BaseException as error:
        ending.text = _ending(error)
        ending.is_of_start |= runpy is not None and _is_of_runpy(error, namespace)
        hide_from_traceback(run.__code__, core)
        raise
    finally:
        _return_from(core, watch, ending)  # from here on perfprobe's frames only return
    ending.text = "returned"


def _is_of_runpy(error: BaseException, namespace: dict[str, Any]) -> bool:
    """Whether runpy found no module, or one with an error in its source: it then did not fill `__main__`."""
    is_its_own = isinstance(error, SystemExit) and isinstance(error.code, str)
    return namespace.get("__spec__") is None and (is_its_own or isinstance(error, SyntaxError))


def _return_from(core: ModuleType, watch: Watch, ending: Ending) -> None:
    # A separate function, because cProfile, which saw it begin, then knows it as perfprobe's and counts no
    # calls in it.
    if ending.text is None and core.signals_have_arrived():
        hide_from_traceback(run.__code__, core)  # of what their handlers raise when `run` has returned
    watch.go_on()
    core.count_frames()


def run_missing(program: Program) -> int:
    """Lets python say that there is nothing to run; returns the exit code or raises SystemExit."""
    if isinstance(program.missing, str):
        if sys.stderr is not None:
            sys.stderr.write(program.missing)
        return _NO_SCRIPT
    runpy = importlib.import_module("runpy")
    sys.argv[:] = program.argv
    _put_on_path(program)
    runpy._run_module_as_main(*_module(program))
    return 0


def _module(program: Program) -> tuple[object, ...]:
    return (program.name,) if program.kind == "module" else ("__main__", False)


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
    if "__annotations__" in launcher.__dict__:  # some versions of the interpreter make one
        namespace["__annotations__"] = {}
    namespace["__builtins__"] = builtins
    _launchers.append(launcher)
    sys.modules["__main__"] = main
    return namespace


def _code(program: Program, namespace: dict[str, Any]) -> Any:
    if program.kind == "command":
        return _command_code(str(program.source), namespace)
    if program.kind == "stdin":
        namespace.update(__loader__=BuiltinImporter, __file__="<stdin>", __cached__=None)
        return compile(program.source, "<stdin>", "exec", dont_inherit=True)
    path = program.file
    kind = SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader
    loader = kind("__main__", path)
    namespace.update(__loader__=loader, __file__=path, __cached__=None)
    if kind is SourcelessFileLoader:
        return loader.get_code("__main__")
    # As bytes, so that the compiler reads the encoding declaration.
    return compile(program.source, path, "exec", dont_inherit=True)


def dedented(source: str) -> str:
    """What `textwrap.dedent` returns. Importing that could import a file of the program."""
    lines = source.split("\n")
    margins = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip(" \t")]
    first, last = min(margins, default=""), max(margins, default="")
    common = 0
    while common < len(first) and first[common] == last[common]:
        common += 1
    return "\n".join(line[common:] if line.strip(" \t") else "" for line in lines)


def _command_code(source: str, namespace: dict[str, Any]) -> Any:
    namespace.update(__loader__=BuiltinImporter)
    if sys.version_info >= (3, 14):
        source = dedented(source)
    code = compile(f"{source}\n", "<string>", "exec", dont_inherit=True)
    if sys.version_info >= (3, 13):  # these versions show the lines of -c in tracebacks
        linecache = importlib.import_module("linecache")
        key = code if hasattr(linecache, "_interactive_cache") else "<string>"  # 3.13.0 to 3.13.2 have none
        linecache._register_code(key, source, "<string>")
    return code


def _put_on_path(program: Program) -> None:
    # The launcher's own first entry was removed by `program.leave_launcher`.
    if program.first_on_path is not None and (program.kind == "archive" or not safe_path()):
        sys.path.insert(0, program.first_on_path)
