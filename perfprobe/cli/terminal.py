"""What is known of the terminal on standard output: its width, and whether it shows colours."""

from __future__ import annotations

import os

_WIDTH = 200  # if there is no terminal to ask


def width() -> int:
    """Columns to print: COLUMNS, otherwise those of the terminal on standard output, otherwise 200."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return _WIDTH


def colored(choice: str = "auto") -> bool:
    """Whether to print colours. choice: the value of `--color`.

    With auto the environment decides (https://no-color.org, https://force-color.org), then whether standard
    output is a terminal that can show them.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_screen()


def is_screen() -> bool:
    """Whether standard output is a terminal that obeys escape sequences."""
    return os.isatty(1) and os.environ.get("TERM") != "dumb"
