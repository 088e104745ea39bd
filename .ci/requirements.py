"""Prints what an extra of the project requires, with what the project itself does, one requirement a line.

    python .ci/requirements.py EXTRA

So pip can install these while C++ is compiled.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # scikit-build-core needs it there

ROOT = Path(__file__).resolve().parent.parent


def of(project: dict[str, Any], extra: str) -> Iterator[str]:
    """The requirements of an extra, without those of the project itself."""
    for words in project["optional-dependencies"][extra]:
        own = re.fullmatch(rf"{project['name']}\[([\w,-]+)\]", words)
        if own is None:
            yield words
        else:
            for name in own[1].split(","):
                yield from of(project, name)


def main(extra: str) -> None:
    """Print them all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print(*project["dependencies"], *of(project, extra), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
