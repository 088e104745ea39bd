"""What becomes of the program's child processes: spawned ones record themselves, forked ones are counted."""

from __future__ import annotations

import os
import sys

from perfprobe.collect.imports import ImportWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from perfprobe.collect.base import Facts
    from perfprobe.native import Recorder

_FLAG = "-c"


class Forks:
    """Watches this process fork; one hook for all recordings, since it can never be taken off.

    While it forks, the recorder's thread is away: Python 3.12 warns of a fork with threads, and plain python
    has none.
    """

    def __init__(self) -> None:
        self._registered = False
        self._count = 0
        self._recorder: Recorder | None = None

    def watch(self, recorder: Recorder | None) -> int:
        """Pauses this recorder around every fork from now on; returns the number of forks so far."""
        if not self._registered:
            self._registered = True
            os.register_at_fork(before=self._before, after_in_parent=self._after_in_parent)
        self._recorder = recorder
        return self._count

    def _before(self) -> None:
        if self._recorder is not None:
            self._recorder.pause()

    def _after_in_parent(self) -> None:
        self._count += 1
        if self._recorder is not None:
            self._recorder.resume()


_FORKS = Forks()


class Children:
    """Follows children for one recording.

    Args:
        facts: where losses go.
        setup: Python source that a spawned child runs before anything else; None to leave children alone.
    """

    def __init__(self, facts: Facts, setup: str | None) -> None:
        self._facts = facts
        self._setup = setup
        self._process = os.getpid()
        self._forks_before = 0
        self._watch = ImportWatch("multiprocessing.spawn", self._follow_spawn)
        self._following = False

    def start(self) -> None:
        """Begin to follow."""
        self._following = True
        self._forks_before = _FORKS.watch(self._facts.recorder)
        if self._setup is not None:
            self._watch.start()

    def stop(self) -> None:
        """Stop following and write down which children are missing."""
        self._following = False
        self._watch.stop()
        forks = _FORKS.watch(None) - self._forks_before
        if forks:
            remedy = "start them with the spawn method to have each record itself"
            self._facts.loss("processes", "forked child processes were not recorded", forks, remedy)
        server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
        if getattr(server, "_forkserver_pid", None) is not None:
            remedy = "use the spawn start method to have each child record itself"
            self._facts.loss("processes", "the children of the fork server were not recorded", 1, remedy)

    def _follow_spawn(self, spawn: ModuleType) -> None:
        original = spawn.get_command_line

        def get_command_line(**values: object) -> list[str]:
            command: list[str] = original(**values)
            recording = self._following and self._process == os.getpid()
            return _with_setup(command, self._setup) if recording and self._setup else command

        spawn.get_command_line = get_command_line  # type: ignore[attr-defined]


def _with_setup(command: list[str], setup: str) -> list[str]:
    """The command with our code before the child's, on the same line: its tracebacks stay the same."""
    if _FLAG not in command[:-1]:
        return command
    place = command.index(_FLAG) + 1
    return [*command[:place], f"exec({setup!r}, {{}}); {command[place]}", *command[place + 1 :]]
