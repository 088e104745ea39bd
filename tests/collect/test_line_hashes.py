"""Frames have a hash of their line's text, so that a line is found again after an edit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.tables import storage
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings
from tests.build import TABLES, Program
from tests.versions import fnv

SCRIPT = """\
import os, sys, time
import torch
import helper

def written():
    with open("late.py", "w") as file:
        file.write("import torch\\ndef late():\\n    return torch.ones(3).sum()\\n")
    import late
    return late.late()

for _ in range(3):
    helper.work(  torch.ones(4)  )@
written()
os.chdir("/")
""".replace("@", " \t")
HELPER = "def work(x):\n\n    return (x +\n        1).sum()\n"


def hashes(recording: Recording) -> dict[tuple[str, int], int]:
    """By file and line."""
    frames, strings = recording[Frames], recording[Strings]
    rows = zip(frames.file.tolist(), frames.line.tolist(), frames.text_hash.tolist(), strict=True)
    return {(strings[file], line): text_hash for file, line, text_hash in rows}


def test_users_lines_have_a_hash_and_no_others(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    sources = {"script.py": SCRIPT, "helper.py": HELPER}
    for name, text in sources.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "run.perfprobe"
    words = [sys.executable, "-m", "perfprobe", "-q", "--no-config", "-o", str(path), "script.py"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, timeout=240)
    found = hashes(storage.read(path))
    seen = set()
    for (file, line), text_hash in found.items():
        known = sources.get(os.path.basename(file)) if str(tmp_path) in file or "/" not in file else None
        if "/site-packages/" in file or file.endswith("late.py") or file.startswith("<"):
            assert text_hash == -1, file
        elif known is not None:
            assert text_hash == fnv(known.split("\n")[line - 1]), (file, line)
            seen.add((os.path.basename(file), line))
    assert {("script.py", 12), ("helper.py", 3), ("script.py", 13)} <= seen
    assert any(file.endswith("late.py") for file, _ in found)


def test_an_older_recording_has_none(tmp_path: Path) -> None:
    program = Program()
    program.stack("/p/train.py:10 main")
    names = TABLES["frames"]
    try:
        TABLES["frames"] = names[:-1]
        recording = program.recording(tmp_path)
    finally:
        TABLES["frames"] = names
    assert recording[Frames].text_hash.tolist() == [-1]
