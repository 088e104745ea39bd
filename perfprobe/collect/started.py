"""Counts, by command, the processes that the program starts without forking itself."""

from __future__ import annotations

import sys
from os import getpid

from perfprobe import native
from perfprobe.collect.commands import COMPILER, command, launcher_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from perfprobe.collect.base import Facts

_MOST_COMMANDS = 50
_COMPILER_FOLDERS = ("/torch/_inductor/", "/torch/_dynamo/")
_REST = "others"


class Started:
    """Counts processes for one recording, in the meta value `children`.

    It is {"started": [{"kind", "command", "recipe", "count"}], "spawned", "cpu_ns"}: processes that are not
    recorded, those of `multiprocessing` that record themselves, and the CPU time of all that have ended. It
    is written when a command is first seen and whenever its count has doubled, so that the recording of a
    killed program has it too.

    remedy: how to have those recorded that `multiprocessing` spawns, if they are not.
    """

    def __init__(self, facts: Facts, remedy: str) -> None:
        self._facts = facts
        self._remedy = remedy
        self._process = getpid()
        self._rows: dict[str, dict[str, object]] = {}
        self._counts: dict[str, int] = {}
        self._spawned = 0
        self._last: object = None

    def start(self) -> None:
        """Starts counting."""
        program = self._facts.known("program")
        self._launcher = launcher_of(str(program.get("module") or ""), str(program.get("script") or ""))
        native.core().tell_of_process_starts(self._seen)

    def stop(self, cpu_ns: int) -> None:
        """Ends counting; writes the counts and the CPU time of children."""
        native.core().tell_of_process_starts(None)
        if self._rows:
            self._write()
        if self._spawned:
            self._facts.extend("children", spawned=self._spawned)
        if cpu_ns > 0:
            self._facts.extend("children", cpu_ns=cpu_ns)

    def add_spawned(self, *, records_itself: bool) -> None:
        """Counts a process that `multiprocessing` spawns."""
        if not records_itself:
            self._add("spawned", "spawned by multiprocessing", self._remedy)
            return
        self._spawned += 1
        if self._spawned & (self._spawned - 1) == 0:
            self._facts.extend("children", spawned=self._spawned)

    def _seen(self, event: str, arguments: tuple[object, ...]) -> None:
        if getpid() != self._process:
            return
        words = arguments[0] if event == "os.system" else arguments[1]
        if event == "os.posix_spawn" and words is self._last:
            return  # by subprocess, which has reported this one already
        self._last = words
        given = ["sh", "-c", words] if event == "os.system" else words
        self._count([_text(word) for word in given] if isinstance(given, (list, tuple)) else [_text(given)])

    def _count(self, words: list[str]) -> None:
        found = command(words)
        if not found.records_itself:
            is_compiler = _by_compiler(sys._getframe())
            recipe = "" if is_compiler else found.recipe(self._launcher)
            self._add(COMPILER if is_compiler else found.kind, found.text, recipe)

    def _add(self, kind: str, command: str, recipe: str) -> None:
        key = f"{kind} {command}" if kind == COMPILER else command
        if key not in self._rows and len(self._rows) >= _MOST_COMMANDS:
            key, command, recipe = _REST, _REST, ""
        self._rows.setdefault(key, {"kind": kind, "command": command, "recipe": recipe})
        self._counts[key] = count = self._counts.get(key, 0) + 1
        if count & (count - 1) == 0:
            self._write()

    def _write(self) -> None:
        rows = [{**row, "count": self._counts[key]} for key, row in self._rows.items()]
        self._facts.extend("children", started=rows)


def _by_compiler(frame: FrameType | None) -> bool:
    """Whether torch.compile started this process: compilers, checks of their features, its workers."""
    while frame is not None:
        if any(folder in frame.f_code.co_filename for folder in _COMPILER_FOLDERS):
            return True
        frame = frame.f_back
    return False


def _text(word: object) -> str:
    # Converting other types would run the program's code.
    if type(word) is bytes:
        return word.decode(errors="backslashreplace")
    return word if type(word) is str else "(?)"
