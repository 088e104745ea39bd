"""Rows of threads: the sums of the times of Python functions."""

from __future__ import annotations

from perfprobe.report.rows.row import figures_of, named, unwritten, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.events import Threads
from perfprobe.tables.python import CallStructure
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings


@frozen(kw_only=True)
class ThreadRow:
    """A thread; figures as in `ThreadSums`. os_thread: None if the thread is not known.

    own_name: its name, None if it is only the name of the process, which the kernel gives unnamed threads.
    """

    thread: int
    name: str | None
    os_thread: int | None
    wall_ns: int | None
    own_ns: int | None
    perfprobe_ns: int | None
    no_python_ns: int | None
    failed_ns: int | None
    cpu_ns: int | None
    own_name: str | None = unwritten()
    is_main: bool = unwritten()


def thread_rows(recording: Recording, structure: CallStructure) -> list[ThreadRow]:
    """All of them, in the order of the recording."""
    threads = recording[Threads]
    is_main = recording.main_thread()[:-1]
    of_program = {recording[Strings][at] for at in threads.name[is_main].tolist()}
    found = []
    for value in values(structure.threads):
        thread = value.pop("thread")
        is_known = 0 <= thread < len(threads)
        os_thread = int(threads.os_thread[thread]) if is_known else None
        name = _name(recording, thread) if is_known else None
        found.append(
            ThreadRow(
                thread=thread,
                name=name,
                os_thread=os_thread,
                own_name=None if name in of_program else name,
                is_main=is_known and bool(is_main[thread]),
                **figures_of(value),
            )
        )
    return found


def _name(recording: Recording, thread: int) -> str | None:
    """The name that the program gave it, otherwise the kernel's."""
    number, name = recording[Threads].os_thread[thread], recording[Threads].name[thread]
    return named(recording.text("python_threads", str(number)) or recording[Strings][name])
