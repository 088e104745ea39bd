"""What the user asked to run, checked before anything is recorded."""

from __future__ import annotations

import importlib.util
import os
import sys

from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal


class Program:
    """A script, a module (-m), or a folder or zip file with a `__main__`.

    `argv` is the program's own; `file` the absolute path of a script or archive, "" for a module; `name` that
    of the module; `first_on_path` what plain python puts first on sys.path; `stem` begins a recording's name.
    """

    def __init__(self, words: Sequence[str], *, as_module: bool) -> None:
        if not words:
            what = "-m needs the name of a module" if as_module else "there is no script to run"
            raise UsageError(what, "", "see `python -m perfprobe --help`")
        self.kind: Literal["script", "module", "archive"] = "script"
        self.argv = list(words)
        self.name = self.file = ""
        self.source = b""
        if as_module:
            self._be_module(words[0])
        elif _importable(words[0]):
            self._be_archive(words[0])
        else:
            self._be_script(words[0])

    @property
    def folder(self) -> str:
        """The folder the program lies in; for a module the current one."""
        return os.path.dirname(os.path.realpath(self.file)) if self.kind == "script" else self.first_on_path

    def _be_module(self, name: str) -> None:
        self.kind = "module"
        self.name = self.stem = name
        self.argv[0] = "-m"  # as plain python has it while it looks for the module
        self.first_on_path = os.getcwd()
        top = name.partition(".")[0]
        # A module's package is not imported to look into it: that would run its code before recording starts.
        if top and top not in sys.modules and not _found(top, self.first_on_path):
            raise UsageError(f"there is no module named {top}", "", "name one that can be imported from here")

    def _be_archive(self, path: str) -> None:
        self.kind = "archive"
        self.file = self.first_on_path = _absolute(path)
        self.stem = os.path.splitext(os.path.basename(os.path.normpath(path)))[0]
        if not _has_main(path):
            kind = "folder" if os.path.isdir(path) else "zip file"
            raise UsageError(f"the {kind} has no __main__.py to run", path, "name a script")

    def _be_script(self, path: str) -> None:
        if path == "-":
            raise UsageError("a program on standard input cannot be recorded", "", "write it to a file")
        self.file = _absolute(path)
        self.first_on_path = os.path.dirname(os.path.realpath(path))
        self.stem = os.path.splitext(os.path.basename(path))[0]
        try:
            with open(self.file, "rb") as file:
                self.source = file.read()
        except OSError as error:
            raise UsageError("the script cannot be read", path, error.strerror or str(error)) from error


def safe_path() -> bool:
    """Whether this interpreter was told to put no folder of its own choice on sys.path (-P, -I)."""
    return bool(getattr(sys.flags, "safe_path", sys.flags.isolated))


def leave_launcher() -> None:
    """Take off sys.path the folder of the launching console script; `python -m` puts none there by now."""
    own = os.path.dirname(os.path.realpath(sys.argv[0]))
    if sys.path[:1] == [own]:
        del sys.path[0]


def _absolute(path: str) -> str:
    # Not os.path.abspath: the interpreter normalises nothing either.
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def _importer(path: str) -> object:
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            continue
    return None


def _importable(path: str) -> bool:
    return os.path.isdir(path) or (os.path.isfile(path) and _importer(path) is not None)


def _has_main(path: str) -> bool:
    find = getattr(_importer(path), "find_spec", None)
    return find is not None and find("__main__") is not None


def _found(name: str, folder: str) -> bool:
    before = sys.path[:]
    sys.path[:] = before if safe_path() else [folder, *before]
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return True  # a finder that fails: the run itself shows how
    finally:
        sys.path[:] = before
