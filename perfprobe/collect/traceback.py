"""Removes the launcher's frames from the traceback that the interpreter prints when the program fails."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType, TracebackType


def hide_from_traceback(launcher: CodeType, core: ModuleType) -> None:
    """Prints the exception that is being raised without the frames of `launcher` and above.

    The current `sys.excepthook`, which may be the program's, prints it. It gets the traceback that it would
    get under plain python.

    Args:
        core: `perfprobe._core`, which the program may have removed from sys.modules.
    """
    hook = getattr(sys, "excepthook", None)

    @core.undisturbed  # type: ignore[untyped-decorator]
    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        shown = below(launcher, traceback)
        error.__traceback__ = sys.last_traceback = shown
        if hook is None:
            del sys.excepthook
            _write("sys.excepthook is missing\n")
            _display(error)
            return
        sys.excepthook = hook
        try:
            core.released(hook, kind, error, shown)
        except SystemExit:
            raise
        except BaseException as second:
            # As the interpreter does, in its words; the interpreter would show this frame too.
            second.__traceback__ = second.__traceback__ and second.__traceback__.tb_next
            _write("Error in sys.excepthook:\n")
            _display(second)
            _write("\nOriginal exception was:\n")
            _display(error)

    sys.excepthook = excepthook


def below(launcher: CodeType, traceback: TracebackType | None) -> TracebackType | None:
    """Returns the part of a traceback below the launcher's frame and the functions of its file."""
    entry = traceback
    while entry is not None and entry.tb_frame.f_code is not launcher:
        entry = entry.tb_next
    if entry is None:
        return _below_last(os.path.dirname(os.path.dirname(launcher.co_filename)), traceback)
    while entry is not None and entry.tb_frame.f_code.co_filename == launcher.co_filename:
        entry = entry.tb_next
    return entry


def _below_last(folder: str, traceback: TracebackType | None) -> TracebackType | None:
    """Returns the part below the innermost frame of this folder's files; all of it if there is none."""
    entry = found = traceback
    while entry is not None:
        if entry.tb_frame.f_code.co_filename.startswith(f"{folder}/"):
            found = entry.tb_next
        entry = entry.tb_next
    return found


def _display(error: BaseException) -> None:
    sys.__excepthook__(type(error), error, error.__traceback__)


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
