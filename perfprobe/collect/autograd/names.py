"""Makes rows of the recording from what the profiler says about Python: frames, stacks, modules, threads."""

from __future__ import annotations

import os
import sys

from perfprobe.collect.autograd.lines import SourceTexts
from perfprobe.collect.host import code_folders
from perfprobe.support.first_line import FIRST_LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.native import Recorder

MOST_STACKS = 65_536  # the same as the observer's limit
_MOST_SEARCHES = 64  # searches for new modules; each examines every object of the process
GONE = "<code that is gone>"  # in angle brackets, like all code without a file


def plain(text: str) -> str:
    """Escapes characters that UTF-8 cannot encode."""
    return text.encode(errors="backslashreplace").decode()


class Call:
    """A call of a Python function as the profiler reports it. `outer` called it; None for the outermost.

    Importing a package makes a million such calls, and few of them run operators. So facts are only read when
    needed.
    """

    __slots__ = ("event", "known", "outer")

    def __init__(self, outer: Call | None, event: Any) -> None:
        self.outer = outer
        self.event = event
        self.known: Function | None = None


class Function:
    """The function that a call runs: its place, the stack around it, and the row of its nn.Module."""

    __slots__ = ("below", "file", "first_line", "is_users", "module", "name", "source")

    def __init__(self, below: int, file: str, code: Any, module: int, texts: SourceTexts | None) -> None:
        self.is_users = texts is not None
        self.below = below
        self.file = file
        self.name = _said(code, "function_name")
        self.first_line = int(code.line_number)
        self.module = module
        self.source = None if texts is None else texts.function(self.file, self.first_line, self.name)


class Files:
    """Finds whole paths of files: the profiler cuts off the folders of sys.path."""

    def __init__(self) -> None:
        self._whole: dict[str, str] = {}

    def whole(self, name: str) -> str:
        """Returns the file's path; the name itself if no folder of sys.path has such a file."""
        if name not in self._whole:
            self._whole[name] = name if name.startswith(("/", "<")) else _found(name)
        return self._whole[name]


def _said(code: Any, name: str) -> str:
    try:
        return str(getattr(code, name))
    except UnicodeDecodeError:  # the profiler does not keep code alive, and reads other data at its address
        return GONE


def _found(name: str) -> str:
    tracer = sys.modules.get("torch.profiler.python_tracer")
    prefixes: list[str] = tracer._prefix_regex() if tracer is not None else []
    found = [prefix + name for prefix in prefixes if os.path.isfile(prefix + name)]
    if len(found) > 1:
        loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        found = [path for path in found if path in loaded] or found
    return found[0] if found else name


class Names:
    """Adds rows when something is first seen. Each recording needs its own object.

    Args:
        torch: the program's torch, whose modules get rows.
    """

    def __init__(self, recorder: Recorder, torch: Any) -> None:
        self._recorder = recorder
        self._module_type = torch.nn.Module
        self._ids: dict[tuple[str, bool], int] = {}
        self._frames: dict[tuple[str, str, int, int], int] = {}
        self._stacks: dict[tuple[int, int, int], int] = {}
        self._modules: dict[tuple[int, str], int] = {}
        self._searches = 0
        self._threads: dict[int, int] = {}
        self._system_threads: dict[int, int] = {}
        self._source_texts = SourceTexts()
        self._files = Files()
        self._foreign = tuple(
            os.path.join(folder, "") for folder in (os.path.dirname(torch.__file__), *_library_folders())
        )
        self.other_stacks = 0

    def text(self, text: str, *, finite: bool = True) -> int:
        """Returns the id of a string. finite: False for names of ranges, which the program may invent."""
        key = (text, finite)
        if key not in self._ids:
            found = self._recorder.intern_name(plain(text), finite)
            if len(self._ids) > MOST_STACKS:
                return found
            self._ids[key] = found
        return self._ids[key]

    def signature(self, text: str, example: str | None, name: int, overload: int) -> int:
        """Returns the row of a signature of the operator with that name."""
        floats = None if example is None else plain(example)
        return self._recorder.add_signature(plain(text), floats, name, overload)

    def thread(self, forward_id: int, os_thread: int) -> int:
        """Returns the row of a thread by torch's number for it."""
        if forward_id not in self._threads:
            name = self.text(_thread_name(os_thread))
            self._threads[forward_id] = self._recorder.add_thread(os_thread, forward_id, name)
        return self._threads[forward_id]

    def thread_of_system(self, os_thread: int) -> int:
        """Returns the row of a thread by the system's number. torch's number for it may get a second row."""
        if os_thread not in self._system_threads:
            name = self.text(_thread_name(os_thread))
            self._system_threads[os_thread] = self._recorder.add_thread(os_thread, -1, name)
        return self._system_threads[os_thread]

    def function(self, call: Call) -> Function:
        """Returns the function that a call runs. Source is only read from the user's files."""
        unknown = []
        step: Call | None = call
        while step is not None and step.known is None:
            unknown.append(step)
            step = step.outer
        for inner in reversed(unknown):
            inner.known = self._function(inner)
        assert call.known is not None
        return call.known

    def _function(self, call: Call) -> Function:
        """Makes the function of a call; that of the outer call must be known."""
        about, outer = call.event.typed[1], None if call.outer is None else call.outer.known
        below = self.stack(call.outer, int(about.caller.line_number))
        module = -1 if outer is None else outer.module
        if about.module is not None:
            module = self.module(about.module, module)
        file = self._files.whole(_said(about.callsite, "file_name"))
        is_foreign = file.startswith(self._foreign) or file == GONE
        return Function(below, file, about.callsite, module, None if is_foreign else self._source_texts)

    def stack(self, call: Call | None, line: int | None) -> int:
        """Returns the stack that ends on this line of a function; -1 outside of Python.

        Args:
            line: None if not known.
        """
        if call is None:
            return -1
        function = self.function(call)
        name = function.name if function.source is None else function.source.name
        if line is None:
            line = function.first_line if function.source is None else function.source.first
            name += FIRST_LINE if function.is_users else ""
        place = (function.file, name, function.first_line, line)
        if place not in self._frames:
            file, row = self.text(function.file), self.text(name)
            self._frames[place] = self._recorder.add_frame(file, row, function.first_line, line)
        key = (function.below, self._frames[place], function.module)
        if key not in self._stacks:
            if len(self._stacks) >= MOST_STACKS:
                self.other_stacks += 1
                return self._recorder.add_stack(-1, -1, -1)
            self._stacks[key] = self._recorder.add_stack(*key)
        return self._stacks[key]

    def module(self, about: Any, outer: int) -> int:
        """Returns the row of an nn.Module that is called within the module of row `outer` (-1: none)."""
        key = (int(about.self_ptr), str(about.cls_name))
        if key not in self._modules:
            self._search(key)
        if key not in self._modules:  # it no longer exists: use its type
            name = self.text(key[1])
            self._modules[key] = self._recorder.add_module(outer, name, name)
        return self._modules[key]

    def _search(self, wanted: tuple[int, str]) -> None:
        """Adds the trees of all living modules: the module with this address is one of them."""
        self._searches += 1
        if self._searches > _MOST_SEARCHES:
            return
        collector: Any = sys.modules["gc"] if "gc" in sys.modules else __import__("gc")
        alive = [found for found in collector.get_objects() if self._module_type in type(found).__mro__]
        below = {id(child) for parent in alive for child in _children(parent).values()}
        roots_first = sorted(alive, key=lambda module: id(module) in below)
        for module in roots_first:
            if (id(module), type(module).__name__) not in self._modules and id(module) not in below:
                self._add_tree(module)

    def _add_tree(self, root: Any) -> None:
        kind = type(root).__name__
        row = self._recorder.add_module(-1, self.text(""), self.text(kind))
        self._modules[id(root), kind] = row
        open_modules = [(root, row)]
        while open_modules and len(self._modules) < MOST_STACKS:
            parent, parent_row = open_modules.pop()
            for name, child in _children(parent).items():
                key = (id(child), type(child).__name__)
                if child is None or key in self._modules:
                    continue
                row = self._recorder.add_module(parent_row, self.text(str(name)), self.text(key[1]))
                self._modules[key] = row
                open_modules.append((child, row))


def _children(module: Any) -> dict[str, Any]:
    """Returns the module's `_modules`, without running code of its class."""
    try:
        found = object.__getattribute__(module, "__dict__").get("_modules")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def _library_folders() -> list[str]:
    facts = code_folders(None)
    return [str(folder) for key in ("site", "stdlib") for folder in facts[key]] + [str(facts["perfprobe"])]  # type: ignore[attr-defined]


def _thread_name(os_thread: int) -> str:
    try:
        with open(f"/proc/self/task/{os_thread}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
