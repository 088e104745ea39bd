"""`perfprobe trigger`: makes a program that runs with `--wait` record its next steps."""

from __future__ import annotations

import os
import re
import socket
import struct

from perfprobe.cli.options import Parser, rows, steps
from perfprobe.cli.report import write
from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.support.runtime_folder import found_socket_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PATIENCE_S = 10.0
_STEPS = 20
_ANSWER = re.compile(r"ok ([0-9]+) ([0-9]+)\n?")
_PEER = struct.Struct("iII")  # struct ucred: process, user, group
_DESCRIPTION = """\
Make a program record its next steps. It must have been started by the same user
with `perfprobe run --wait`; until then it records no operators. The recording
can be read at any time, and is complete when the program has ended."""
_EXAMPLES = """\
examples:
  perfprobe run --wait train.py              prints its PID when it begins
  perfprobe trigger 4711                     20 steps from the next one on
  perfprobe trigger 4711 --steps 100

Exit code: 0 if the program will record, 3 if it refuses, 4 if it does not
listen.
"""


def parser() -> Parser:
    """The options of `trigger`."""
    parser = Parser("trigger", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument(
        "pid", metavar="PID", type=rows, help="process ID of the program, which it prints at its start"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=steps,
        default=_STEPS,
        help="number of steps to record (default: %(default)s)",
    )
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Send the request. The function that is returned prints the program's answer."""
    given = parser().parse_args(words)
    answer = _asked(given.pid, given.steps)
    found = _ANSWER.fullmatch(answer)
    if found is None:
        raise InputError("the program refuses", answer.removeprefix("refused: ").strip() or "no answer")
    return lambda: write(f"Process {given.pid} records the steps {found[1]}:{found[2]}.\n") or 0


def _asked(pid: int, count: int) -> str:
    path = found_socket_of(pid)
    if path is None:
        raise _missing(pid)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_PATIENCE_S)
        try:
            client.connect(path)
            _check_peer(client, path)
            client.sendall(f"record {count}\n".encode())
            return client.recv(256).decode(errors="replace")
        except (FileNotFoundError, PermissionError, ConnectionRefusedError) as error:
            raise _missing(pid) from error
        except OSError as error:
            where = f"{path}: {error.strerror or error}"
            raise EnvironmentLack(
                "the process cannot be asked", where, "ask as the user who runs it"
            ) from error


def _check_peer(client: socket.socket, path: str) -> None:
    """Raises EnvironmentLack if a process of another user listens: it could answer anything."""
    found = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, user, _ = _PEER.unpack(found)
    if user != os.geteuid():
        raise EnvironmentLack("the process is not asked", f"user {user} listens at {path}", "remove it")


def _missing(pid: int) -> EnvironmentLack:
    """Why nobody listens. A killed program leaves its socket behind."""
    again = "start the program with `perfprobe run --wait`"
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return EnvironmentLack("there is no such process, or it has ended", str(pid), again)
    if owner != os.geteuid():
        remedy = f"ask as that user: sudo -u '#{owner}' perfprobe trigger {pid}"
        return EnvironmentLack("this process belongs to another user", f"{pid}, user {owner}", remedy)
    return EnvironmentLack("this process does not wait to be triggered", str(pid), again)
