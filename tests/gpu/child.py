"""Runs one check in a process of its own: python -m tests.gpu.child MODULE:FUNCTION OUT RESULT."""

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
    """What a check gets. out: folder for files that stay; folder: for those that do not; said: evidence."""

    out: Path
    folder: Path
    result: Path
    said: dict[str, Any] = field(default_factory=dict)

    def note(self, **said: Any) -> None:
        """Evidence; what was noted before a crash stays."""
        self.said.update(said)
        self.end("", "")

    def end(self, status: str, reason: str) -> None:
        """Write down how the check ended; an empty status while it runs."""
        content = {"status": status, "reason": reason, "said": self.said}
        self.result.write_text(json.dumps(content, default=str), encoding="utf-8")


def expect(condition: object, otherwise: str) -> None:
    """Raises `Unmet` with the text when the condition does not hold."""
    if not condition:
        raise Unmet(otherwise)


def main(function: str, out: str, result: str) -> None:
    """Run the check and write its result."""
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
    os._exit(0)  # CUPTI may have something for a callback in Python when there is no interpreter any more
