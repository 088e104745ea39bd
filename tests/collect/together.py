"""Programs that are recorded in one process, because torch takes longer to import than they run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.collect.runs import finish, start

ALL = """
import json, runpy, sys
import perfprobe
with open("all.json") as file:
    programs = json.load(file)
for name, words in programs.items():
    sys.argv[1:] = words
    with perfprobe.profile(f"{name}.perfprobe"):
        runpy.run_path(f"programs/{name}.py", run_name="__main__")
    print(f"== {name}")
"""


def run(folder: Path, programs: Mapping[str, tuple[str, ...]]) -> str:
    """Records each of these, a text and its words, as NAME.perfprobe. Returns what they printed."""
    (folder / "programs").mkdir()  # which is not searched for modules, as a name may be that of one
    for name, (text, *_) in programs.items():
        (folder / "programs" / f"{name}.py").write_text(text)
    (folder / "all.json").write_text(json.dumps({name: words for name, (_, *words) in programs.items()}))
    (folder / "all.py").write_text(ALL)
    outcome = finish(start(["all.py"], folder))
    assert outcome.status == 0, outcome.err.decode()
    return outcome.out.decode()


def together(
    folder: Path, programs: Mapping[str, tuple[str, ...]]
) -> Callable[[str], tuple[dict[str, Any], str]]:
    """The tables of the report on each program by its name, and what the program printed."""
    out = run(folder, programs)
    said = dict(zip(programs, re.split(r"^== .*\n", out, flags=re.MULTILINE), strict=False))
    return cache(
        lambda name: (Results(str(folder / f"{name}.perfprobe")).document(View())["tables"], said[name])
    )
