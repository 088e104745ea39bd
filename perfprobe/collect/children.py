"""Follows the program's child processes.

Those that `multiprocessing` forks or spawns record themselves. All others are only counted.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from os import getpid, register_at_fork, times

from perfprobe import native
from perfprobe.collect.base import fault
from perfprobe.collect.held_signals import undisturbed
from perfprobe.collect.imports import ImportWatch
from perfprobe.collect.spawns import Spawns
from perfprobe.collect.started import Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from perfprobe.collect.base import Facts
    from perfprobe.collect.family import Family
    from perfprobe.native import Recorder

    Setup = Callable[[dict[str, Any]], str]

_WORKERS, _FORKED, _OTHERS, _FOLLOWED = (
    "DataLoader workers were not recorded",
    "child processes that multiprocessing forked were not recorded",
    "forked child processes were not recorded",
    "followed",
)
_KINDS = (_WORKERS, _FORKED, _OTHERS)


class Forks:
    """Watches forks of this process. There is one hook for all recordings, because it cannot be removed.

    During a fork the recorder's thread is stopped, because Python 3.12 warns of a fork with threads. Children
    that `multiprocessing` forks are followed: its hook in the child runs before all else there, and its
    finalizers run at the end of a child that leaves by `os._exit`.
    """

    def __init__(self) -> None:
        self._hooked: set[int] = set()
        self._counts = dict.fromkeys((*_KINDS, _FOLLOWED), 0)
        self._recorder: Recorder | None = None
        self._family: Family | None = None
        self._under_way: dict[int, int] = {}  # by thread: row of the child being forked, if followed

    def watch(self, recorder: Recorder | None, family: Family | None) -> dict[str, int]:
        """Pauses this recorder around every fork from now on; returns the forks so far, by kind."""
        if not self._hooked:
            self._hooked.add(0)
            register_at_fork(before=self._before, after_in_parent=self._after_in_parent)
        self._recorder, self._family = recorder, family
        return dict(self._counts)

    def hook(self, util: Any) -> None:
        """Registers with `multiprocessing.util`."""
        register = getattr(util, "register_after_fork", None)  # the program may have a module with this name
        if register is not None and id(util) not in self._hooked:
            self._hooked.add(id(util))
            register(self, Forks._in_child)

    @undisturbed
    def _before(self) -> None:
        family = self._family
        if family is not None and family.is_own and _is_of_multiprocessing(sys._getframe()):
            row = family.new_row()
            if row is not None:
                self._under_way[get_ident()] = row
        if self._recorder is not None:
            self._recorder.pause()

    @undisturbed
    def _after_in_parent(self) -> None:
        followed = self._under_way.pop(get_ident(), None) is not None
        self._counts[_FOLLOWED if followed else _kind(sys._getframe())] += 1
        if self._recorder is not None:
            self._recorder.resume()

    @undisturbed
    def _in_child(self) -> None:
        row, family = self._under_way.get(get_ident()), self._family
        self._under_way.clear()
        if row is not None and family is not None:
            family.enter_forked(row)
        else:
            native.let_go_in_child()


def _kind(hook: FrameType) -> str:
    """Returns the kind under which a fork that is not followed is counted."""
    if _is_of_loader(hook):
        return _WORKERS
    return _FORKED if _is_of_multiprocessing(hook) else _OTHERS


def _is_of_loader(frame: FrameType | None) -> bool:
    """Whether torch's DataLoader called for this fork."""
    while frame is not None:
        if frame.f_code.co_filename.endswith("torch/utils/data/dataloader.py"):
            return True
        frame = frame.f_back
    return False


def _is_of_multiprocessing(hook: FrameType) -> bool:
    """Whether `multiprocessing` called `os.fork`, which called this hook."""
    caller = hook.f_back
    return caller is not None and caller.f_code.co_filename.endswith("multiprocessing/popen_fork.py")


_FORKS = Forks()
_SPAWNS = Spawns()


class Children:
    """Follows children for one recording.

    Args:
        facts: takes losses.
        family: takes children of `multiprocessing`; None to leave them alone.
        setup: makes Python source from the family's settings, which a spawned child runs before anything
            else. It may be long: the settings contain the program's arguments.
        remedy: how to have children of `multiprocessing` recorded, if there is no family.
    """

    def __init__(self, facts: Facts, family: Family | None, setup: Setup, remedy: str) -> None:
        self._facts = facts
        self._family = family
        self._setup = setup
        self._remedy = remedy
        self._process = getpid()
        self._forks_before: dict[str, int] = {}
        self._cpu_before_s = 0.0
        self._watches = _watches()
        self._started = Started(facts, remedy)

    def start(self) -> None:
        """Starts following."""
        self._forks_before = _FORKS.watch(self._facts.recorder, self._family)
        self._cpu_before_s = _cpu_of_children_s()
        _SPAWNS.follow(self._hand_over)
        for watch in self._watches:
            watch.start()
        self._started.start()

    def stop(self) -> None:
        """Stops following, and writes which children are missing."""
        _SPAWNS.follow(None)
        for watch in self._watches:
            watch.stop()
        for kind, count in _FORKS.watch(None, None).items():
            forks = count - self._forks_before[kind]
            if forks and kind == _FOLLOWED:
                self._facts.extend("children", forked=forks)
            elif forks:
                of_others = "start them with multiprocessing: each then records itself"
                self._facts.loss("processes", kind, forks, of_others if kind == _OTHERS else self._remedy)
        server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
        if getattr(server, "_forkserver_pid", None) is not None:
            remedy = "use the spawn or the fork start method to have each child record itself"
            self._facts.loss("processes", "the children of the fork server were not recorded", 1, remedy)
        self._started.stop(round((_cpu_of_children_s() - self._cpu_before_s) * 1e9))

    def _hand_over(self) -> int | None:
        setup = _handed_over(self._family, self._setup, self._facts.tell)
        if self._process == getpid():
            self._started.add_spawned(records_itself=setup is not None)
        return setup


def follow_children(family: Family, setup: Setup, tell: Callable[[str], None]) -> None:
    """Adds children to the family, in a process that has no recording; see `Children`."""
    _FORKS.watch(None, family)
    _SPAWNS.follow(lambda: _handed_over(family, setup, tell))
    for watch in _watches():
        watch.start()


def _watches() -> tuple[ImportWatch, ...]:
    return tuple(ImportWatch("multiprocessing.util", follow) for follow in (_SPAWNS.wrap, _FORKS.hook))


def _handed_over(family: Family | None, setup: Setup, tell: Callable[[str], None]) -> int | None:
    """Returns a descriptor with the setup of the child that is spawned now; None if it is not followed."""
    if family is None or not family.is_own or not family.prepare():
        return None
    try:
        descriptor: int = native.core().handed_text(setup(family.settings_now()).encode())
    except Exception as error:
        tell(f"a child process is not recorded: {fault(error)}")
        return None
    return descriptor


def _cpu_of_children_s() -> float:
    """Returns the CPU time of the children that have ended and were waited for."""
    so_far = times()
    return so_far.children_user + so_far.children_system
