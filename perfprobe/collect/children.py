"""What becomes of the program's child processes: spawned ones record themselves, forked ones are counted."""

from __future__ import annotations

import os
import sys

from perfprobe.collect.imports import ImportWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from perfprobe.collect.base import Facts

_FLAG = "-c"


class ForkCount:
    """How often this process has forked; one hook for all recordings, since it can never be taken off."""

    def __init__(self) -> None:
        self._registered = False
        self._forks = 0

    def read(self) -> int:
        """The number of forks since the first call."""
        if not self._registered:
            self._registered = True
            os.register_at_fork(after_in_parent=self._forked)
        return self._forks

    def _forked(self) -> None:
        self._forks += 1


_FORK_COUNT = ForkCount()


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
        self._forks_before = _FORK_COUNT.read()
        if self._setup is not None:
            self._watch.start()

    def stop(self) -> None:
        """Stop following and write down which children are missing."""
        self._following = False
        self._watch.stop()
        forks = _FORK_COUNT.read() - self._forks_before
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
