"""What the user wants to run, examined before anything is recorded."""

from __future__ import annotations

import importlib.util
import os
import sys

from perfprobe.collect.shadowed import find_in, importer
from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

_NEEDS = {
    "": "there is no script to run",
    "-m": "-m needs the name of a module",
    "-c": "-c needs code to run",
}
_STDIN = 0


class Program:
    """A script, a module (-m), code (-c), a script on standard input (-), or a folder or zip file.

    Args:
        words: the program's command line, without `option`.
        option: "-m", "-c", or "" for a script, a folder, a zip file or "-".

    Attributes:
        argv: the program's own.
        file: absolute path of a script or archive; "" for others.
        name: of a module.
        source: bytes of a script, or the code of -c.
        first_on_path: what plain python puts first on sys.path; None for nothing.
        stem: the beginning of the recording's name.
        missing: whether plain python would find nothing to run. For a script it is python's own message.
    """

    def __init__(self, words: Sequence[str], option: str = "") -> None:
        if not words:
            raise UsageError(_NEEDS[option], "", "see `python -m perfprobe --help`")
        self.kind: Literal["script", "module", "command", "stdin", "archive"] = "script"
        self.argv = list(words)
        self.name = self.file = ""
        self.source: bytes | str = b""
        self.first_on_path: str | None = None
        self.missing: str | bool = False
        if option == "-m":
            self._be_module(words[0])
        elif option == "-c":
            self._be_command(words[0])
        elif words[0] == "-":
            self._be_stdin()
        elif _importable(words[0]):
            self._be_archive(words[0])
        else:
            self._be_script(words[0])

    @property
    def folder(self) -> str | None:
        """The program's folder, else the current one; None if that was removed."""
        if self.kind == "script":
            return os.path.dirname(os.path.realpath(self.file))
        return self.first_on_path or current_folder()

    def _be_module(self, name: str) -> None:
        self.kind = "module"
        self.name = self.stem = name
        self.argv[0] = "-m"  # plain python has this while it looks for the module
        self.first_on_path = current_folder()
        top = name.partition(".")[0]
        # A module's package is not imported to search it, because that would run its code before recording
        # starts.
        self.missing = not top or (top not in sys.modules and not _found(top, self.first_on_path))

    def _be_command(self, code: str) -> None:
        self.kind = "command"
        self.stem = "command"
        self.source = code
        self.argv[0] = "-c"
        self.first_on_path = ""

    def _be_stdin(self) -> None:
        if os.isatty(_STDIN):
            raise UsageError("interactive input cannot be recorded", "-", "write it to a file, or pipe it in")
        self.kind = self.stem = "stdin"
        self.source = _all_of_stdin()
        self.first_on_path = ""

    def _be_archive(self, path: str) -> None:
        self.kind = "archive"
        self.file = self.first_on_path = _absolute(path)
        self.stem = os.path.splitext(os.path.basename(os.path.normpath(path)))[0]
        self.missing = not _has_main(path)

    def _be_script(self, path: str) -> None:
        self.file = _absolute(path)
        self.stem = os.path.splitext(os.path.basename(path))[0]
        try:
            self.first_on_path = os.path.dirname(os.path.realpath(path))
            with open(self.file, "rb") as file:
                self.source = file.read()
        except OSError as error:
            why = f"[Errno {error.errno}] {error.strerror}"
            self.missing = f"{sys.orig_argv[0]}: can't open file {self.file!r}: {why}\n"


def safe_path() -> bool:
    """Whether this interpreter must not put a folder of its choice on sys.path (-P, -I)."""
    return bool(getattr(sys.flags, "safe_path", sys.flags.isolated))


def leave_launcher() -> None:
    """Removes the console script's folder from sys.path. `python -m` has no such entry by now."""
    own = os.path.dirname(os.path.realpath(sys.argv[0]))
    if sys.path[:1] == [own]:
        del sys.path[0]


def current_folder() -> str | None:
    """Returns the current folder; None if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _absolute(path: str) -> str:
    # Not os.path.abspath, because the interpreter does not normalise either.
    folder = None if os.path.isabs(path) else current_folder()
    return path if folder is None else os.path.join(folder, path)


def _all_of_stdin() -> bytes:
    """Reads standard input to its end, as plain python does before it runs any of it; b"" if it is closed."""
    parts = []
    try:
        while part := os.read(_STDIN, 1 << 16):
            parts.append(part)
    except OSError:
        pass
    return b"".join(parts)


def _importable(path: str) -> bool:
    return os.path.isdir(path) or (os.path.isfile(path) and importer(path) is not None)


def _has_main(path: str) -> bool:
    return find_in(path, "__main__") is not None


def _found(name: str, folder: str | None) -> bool:
    before = sys.path[:]
    sys.path[:] = before if safe_path() or folder is None else [folder, *before]
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return True  # a finder that fails; the run itself will show the error
    finally:
        sys.path[:] = before
