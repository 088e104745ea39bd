"""Runs one check in its own process: python -m tests.gpu.child MODULE:FUNCTION OUT RESULT."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.gpu.result import FAIL, PASS, SKIP, Skip, Unmet


@dataclass
class Room:
    """What a check gets. out: folder for files to keep; folder: for temporary files; said: evidence."""

    out: Path
    folder: Path
    result: Path
    said: dict[str, Any] = field(default_factory=dict)

    def note(self, **said: Any) -> None:
        """Adds evidence. It is kept if the check crashes later."""
        self.said.update(said)
        self.end("", "")

    def end(self, status: str, reason: str) -> None:
        """Writes how the check ended. The status is empty while it runs."""
        content = {"status": status, "reason": reason, "said": self.said}
        self.result.write_text(json.dumps(content, default=str), encoding="utf-8")


def expect(condition: object, otherwise: str) -> None:
    """Raises `Unmet` with this text if the condition is false."""
    if not condition:
        raise Unmet(otherwise)


def main(function: str, out: str, result: str) -> None:
    """Runs the check and writes its result."""
    room = Room(Path(out), Path.cwd(), Path(result))
    module, name = function.split(":")
    try:
        getattr(importlib.import_module(module), name)(room)
    except Skip as skip:
        room.end(SKIP, str(skip))
    except Unmet as unmet:
        room.end(FAIL, str(unmet))
    except Exception as error:
        traceback.print_exc()
        room.end(FAIL, f"{type(error).__name__}: {error}")
    else:
        room.end(PASS, "")


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # CUPTI may call back into Python when the interpreter no longer exists
