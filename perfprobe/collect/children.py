"""What becomes of the program's child processes: spawned ones record themselves, all others are counted."""

from __future__ import annotations

import sys
from os import getpid, register_at_fork, times

from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.started import Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType

    from perfprobe.collect.base import Facts
    from perfprobe.native import Recorder

_FLAG = "-c"
_WORKERS, _OTHERS = (
    "DataLoader workers were not recorded: they are forked",
    "forked child processes were not recorded",
)
_REMEDIES = {
    _WORKERS: "multiprocessing_context='spawn' has each record itself",
    _OTHERS: "start them with the spawn method to have each record itself",
}


class Forks:
    """Watches this process fork; one hook for all recordings, since it can never be taken off.

    While it forks, the recorder's thread is away: Python 3.12 warns of a fork with threads, and plain python
    has none.
    """

    def __init__(self) -> None:
        self._registered = False
        self._counts = dict.fromkeys(_REMEDIES, 0)
        self._recorder: Recorder | None = None

    def watch(self, recorder: Recorder | None) -> dict[str, int]:
        """Pauses this recorder around every fork from now on; returns the forks so far, by kind."""
        if not self._registered:
            self._registered = True
            register_at_fork(before=self._before, after_in_parent=self._after_in_parent)
        self._recorder = recorder
        return dict(self._counts)

    def _before(self) -> None:
        if self._recorder is not None:
            self._recorder.pause()

    def _after_in_parent(self) -> None:
        self._counts[_WORKERS if _is_of_loader(sys._getframe()) else _OTHERS] += 1
        if self._recorder is not None:
            self._recorder.resume()


def _is_of_loader(frame: FrameType | None) -> bool:
    """Whether torch's DataLoader asked for this fork."""
    while frame is not None:
        if frame.f_code.co_filename.endswith("torch/utils/data/dataloader.py"):
            return True
        frame = frame.f_back
    return False


class Spawns:
    """Adds to the commands of spawned children; one for all recordings, since others may wrap ours."""

    def __init__(self) -> None:
        self._wrapped: ModuleType | None = None
        self._change: Callable[[list[str]], list[str]] | None = None

    def follow(self, change: Callable[[list[str]], list[str]] | None) -> None:
        """Have commands changed by this from now on, or no more."""
        self._change = change

    def wrap(self, spawn: ModuleType) -> None:
        """Takes `multiprocessing.spawn`."""
        original = getattr(spawn, "get_command_line", None)
        if self._wrapped is spawn or original is None:  # it may be a module of the program's own of that name
            return
        self._wrapped = spawn

        def get_command_line(**values: object) -> list[str]:
            command: list[str] = original(**values)
            change = self._change
            return command if change is None else change(command)

        spawn.get_command_line = get_command_line  # type: ignore[attr-defined]


_FORKS = Forks()
_SPAWNS = Spawns()


class Children:
    """Follows children for one recording.

    Args:
        facts: where losses go.
        setup: Python source that a spawned child runs before anything else; None to leave children alone.
    """

    def __init__(self, facts: Facts, setup: str | None) -> None:
        self._facts = facts
        self._setup = setup
        self._process = getpid()
        self._forks_before: dict[str, int] = {}
        self._cpu_before_s = 0.0
        self._watch = ImportWatch("multiprocessing.spawn", _SPAWNS.wrap)
        self._started = Started(facts)

    def start(self) -> None:
        """Begin to follow."""
        self._forks_before = _FORKS.watch(self._facts.recorder)
        self._cpu_before_s = _cpu_of_children_s()
        _SPAWNS.follow(self._spawned)
        self._watch.start()
        self._started.start()

    def stop(self) -> None:
        """Stop following and write down which children are missing."""
        _SPAWNS.follow(None)
        self._watch.stop()
        for reason, count in _FORKS.watch(None).items():
            forks = count - self._forks_before[reason]
            if forks:
                self._facts.loss("processes", reason, forks, _REMEDIES[reason])
        server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
        if getattr(server, "_forkserver_pid", None) is not None:
            remedy = "use the spawn start method to have each child record itself"
            self._facts.loss("processes", "the children of the fork server were not recorded", 1, remedy)
        self._started.stop(round((_cpu_of_children_s() - self._cpu_before_s) * 1e9))

    def _spawned(self, command: list[str]) -> list[str]:
        if self._process != getpid():
            return command
        self._started.add_spawned(records_itself=self._setup is not None)
        return command if self._setup is None else _with_setup(command, self._setup)


def _cpu_of_children_s() -> float:
    """CPU time of the children that have ended and were waited for."""
    so_far = times()
    return so_far.children_user + so_far.children_system


def _with_setup(command: list[str], setup: str) -> list[str]:
    """The command with our code before the child's, on the same line: its tracebacks stay the same."""
    if _FLAG not in command[:-1]:
        return command
    place = command.index(_FLAG) + 1
    return [*command[:place], f"exec({setup!r}, {{}}); {command[place]}", *command[place + 1 :]]
