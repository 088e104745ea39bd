"""Runs perfprobe's command line where its C++ extension cannot be imported, as where it was not built."""

from __future__ import annotations

import sys

from perfprobe.cli import main


class Refusing:
    """An import hook that refuses it."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "perfprobe._core":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, Refusing())
    status = main(sys.argv[1:])
    assert "perfprobe._core" not in sys.modules
    sys.exit(status)
