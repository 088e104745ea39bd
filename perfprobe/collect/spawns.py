"""Has the processes that `multiprocessing` spawns run code of ours first, which may be long."""

from __future__ import annotations

from os import close

from perfprobe.collect.held_signals import undisturbed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

_FLAG, _MARK = "-c", "--multiprocessing-fork"  # the code of a spawned child comes after it, the mark last
# Runs in a spawned child before anything else.
_FIRST = """
import sys
try:
    with open({}, "rb") as file:
        setup = file.read()
except OSError as error:
    setup = ""
    sys.stderr.write("perfprobe: this child process is not recorded: %s\\n" % error)
exec(setup, {{}})
"""


class Spawns:
    """Changes the commands of spawned children. All recordings share it, because others may wrap it."""

    def __init__(self) -> None:
        self._wrapped: ModuleType | None = None
        self._hand_over: Callable[[], int | None] | None = None

    def follow(self, hand_over: Callable[[], int | None] | None) -> None:
        """Sets the function that returns a descriptor for the child being spawned now, or None to leave it
        alone. From the descriptor the child reads code, which it runs first. None for the function to stop.
        """
        self._hand_over = hand_over and undisturbed(hand_over)

    def wrap(self, util: Any) -> None:
        """Wraps a function of `multiprocessing.util`."""
        original = getattr(util, "spawnv_passfds", None)
        if self._wrapped is util or original is None:  # the program may have a module with this name
            return
        self._wrapped = util

        def spawnv_passfds(path: object, args: Sequence[Any], passfds: Sequence[int]) -> Any:
            place, hand_over, setup = _place_of_code(args), self._hand_over, None
            try:
                if place is not None and hand_over is not None:
                    setup = hand_over()
                if place is not None and setup is not None:
                    args, passfds = _with_setup(args, place, setup), [*passfds, setup]
                return original(path, args, passfds)
            except BaseException as error:
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # see `ImportWatch`
                raise
            finally:
                if setup is not None:
                    close(setup)

        util.spawnv_passfds = spawnv_passfds


def _place_of_code(command: Sequence[Any]) -> int | None:
    """Returns where the code of a spawned child is in its command; None for other processes."""
    if _MARK not in command or _FLAG not in command[:-1]:
        return None
    return command.index(_FLAG) + 1


def _with_setup(command: Sequence[Any], place: int, setup: int) -> list[Any]:
    """Returns the command with our code before the child's, on the same line to keep its tracebacks."""
    code = f"exec({_FIRST.format(setup)!r}, {{}}); {command[place]}"
    return [*command[:place], code, *command[place + 1 :]]
