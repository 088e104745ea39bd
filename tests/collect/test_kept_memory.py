"""What a recorded block leaves in the memory of the program."""

from __future__ import annotations

import json
from pathlib import Path

from tests.collect.runs import finish, start

# Each block calls functions that no other block calls, so that counts are not shared.
PROGRAM = """
import gc, json, os, sys, tracemalloc
import perfprobe

def called(number):
    names = {}
    exec("\\n".join(f"def f{at}(): pass" for at in range(40)), names)
    with perfprobe.profile(f"{number}.perfprobe", python="cprofile"):
        for at in range(40):
            names[f"f{at}"]()
    os.unlink(f"{number}.perfprobe")

for number in range(5):
    called(number)
gc.collect()
tracemalloc.start()
for number in range(10):
    called(number)
gc.collect()
before, _ = tracemalloc.get_traced_memory()
for number in range(50):
    called(number)
gc.collect()
print(json.dumps((tracemalloc.get_traced_memory()[0] - before) // 50))
"""


def test_counts_of_calls_do_not_outlive_their_block(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    outcome = finish(start(["program.py"], tmp_path))
    assert outcome.status == 0, outcome.err
    assert json.loads(outcome.out) < 2000  # bytes a block; 40 functions and their code take 20,000
