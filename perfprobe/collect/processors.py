"""How long this process's threads waited for a processor while they were recorded, and what others used.

From the scheduler's own accounting: the second number of /proc/PID/task/TID/schedstat is the time a thread
was ready to run and did not (Documentation/scheduler/sched-stats.rst of Linux). A thread that has ended by
the time the recording stops is not in the sums.
"""

from __future__ import annotations

from os import getpid, listdir, sysconf, times

from perfprobe.collect.base import Collector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.base import Facts
    from perfprobe.support.errors import EnvironmentLack

_open = open  # as it is now: a program may put anything in its place
_BUSY = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq: the columns of /proc/stat that are work (proc(5))


class ProcessorWaits(Collector):
    """Writes the fact `processors` at the end, as far as the kernel tells."""

    name = "processors"

    def __init__(self, facts: Facts, root: str = "/") -> None:
        self._facts = facts
        self._root = root

    def available(self) -> EnvironmentLack | None:
        """It always works; what the kernel does not tell is left out."""
        return None

    def start(self) -> None:
        """What lies before is not the program's."""
        self._waited_ns = _waited_ns(self._root)
        self._others_ns = _others_ns(self._root)

    def stop(self) -> None:
        """Write down what has come since."""
        waited_ns = {
            thread: time_ns - self._waited_ns.get(thread, 0)
            for thread, time_ns in _waited_ns(self._root).items()
        }
        if not waited_ns:
            return
        self._facts.extend(
            "processors",
            waited_ns=sum(waited_ns.values()),
            main_waited_ns=waited_ns.get(str(getpid())),
            others_cpu_ns=_since(self._others_ns, _others_ns(self._root)),
        )


def _since(before_ns: int | None, now_ns: int | None) -> int | None:
    return None if before_ns is None or now_ns is None else max(now_ns - before_ns, 0)


def _waited_ns(root: str) -> dict[str, int]:
    """Run-queue waiting so far of every thread there is, by its number."""
    folder = f"{root}proc/self/task"
    found = {}
    try:
        for thread in listdir(folder):
            words = _text(f"{folder}/{thread}/schedstat").split()
            if len(words) == 3 and words[1].isdigit():
                found[thread] = int(words[1])
    except OSError:
        return {}
    return found


def _others_ns(root: str) -> int | None:
    """CPU time that all other processes have used so far; None where it cannot be told."""
    words = _text(f"{root}proc/stat").partition("\n")[0].split()
    if len(words) <= max(_BUSY) + 1 or words[0] != "cpu":
        return None
    tick_ns = 1_000_000_000 // sysconf("SC_CLK_TCK")
    own_s = sum(times()[:4])  # with the children that have ended
    return sum(int(words[1 + at]) for at in _BUSY) * tick_ns - int(own_s * 1e9)


def _text(path: str) -> str:
    """A file of the kernel's, "" where it cannot be read: a thread may end at any time."""
    try:
        with _open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
