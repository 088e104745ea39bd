"""The commands that install packages, and perfprobe again."""

from __future__ import annotations

import json
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 1 << 20  # characters of a file
_AGAIN = ("install", "--force-reinstall", "--no-deps")
_EDITABLE = ("--no-build-isolation", "-e")


def packages(*names: str) -> str:
    """Returns the remedy that installs packages for the running Python; options of pip come first."""
    return f"install it with `{_command('install', *names)}`"


def rebuild() -> str:
    """Returns the remedy that builds the native modules again for the running Python and torch.

    Never one that asks an index for perfprobe: what has this name there need not be perfprobe.
    """
    source, editable = _source()
    if source is None or source.endswith(".whl"):  # a wheel cannot be built again
        words = _command(*_AGAIN, "FOLDER")
        return f"rebuild it from its source: `{words}`, where FOLDER is a copy of perfprobe's source"
    return f"rebuild it with `{_command(*_AGAIN, *(_EDITABLE if editable else ()), source)}`"


def again() -> str:
    """Returns the remedy for an installation that lacks files of its own."""
    source, editable = _source()
    if source is not None and os.path.exists(source):
        return f"install it again with `{_command(*_AGAIN, *(_EDITABLE if editable else ()), source)}`"
    words = _command(*_AGAIN, "FILE")
    return f"install it again: `{words}`, where FILE is its wheel, or a copy of its source"


def _command(*words: str) -> str:
    return " ".join(_quoted(word) for word in (sys.executable, "-m", "pip", *words))


def _source() -> tuple[str | None, bool]:
    """Returns where perfprobe was installed from, and whether as an editable install; None if pip has no
    record.
    """
    recorded = _direct_url()
    url, about = str(recorded.get("url", "")), recorded.get("dir_info")
    if not url.startswith("file://"):
        return None, False
    path = re.sub(b"%([0-9a-fA-F]{2})", lambda code: bytes.fromhex(code[1].decode()), os.fsencode(url[7:]))
    return os.fsdecode(path), isinstance(about, dict) and bool(about.get("editable"))


def _direct_url() -> dict[str, Any]:
    """Returns what pip recorded about the source of the installation.

    importlib.metadata, shlex and urllib would do it, but this runs in the program's process: they would
    be searched in its folder first.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder in [os.path.dirname(package), *sys.path]:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            if name.startswith("perfprobe-") and name.endswith(".dist-info"):
                return json_object(os.path.join(folder, name, "direct_url.json"))
    return {}


def _quoted(word: str) -> str:
    """The word quoted for a shell."""
    if re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def json_object(path: str) -> dict[str, Any]:
    """The content of a small file; {} if it is missing, damaged, or holds something else."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
