"""For any recording, every export works or one line says why not. No export is held in memory as a whole."""

import contextlib
import random
import tracemalloc
from importlib import import_module
from pathlib import Path

import pytest

from perfprobe.cli.export import FORMATS
from perfprobe.results import Results
from perfprobe.support.errors import InputError, UsageError
from tests import encoding
from tests.report.exports import content, counted, findings, sampled
from tests.report.test_untrusted import mutated


@pytest.mark.parametrize("seed", range(4))
def test_damaged_data_with_a_correct_checksum(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    payloads = [block[12:] for block in counted(sampled()).blocks(3)]
    path = tmp_path / "damaged.perfprobe"
    for _ in range(40):
        harmed = list(payloads)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(harmed))
            harmed[at] = mutated(rng, harmed[at])
        encoding.replace(path, encoding.head() + b"".join(encoding.block(payload) for payload in harmed))
        results = Results(str(path))
        for form, times in [*((form, None) for form in FORMATS), ("pstats", "samples")]:
            with contextlib.suppress(InputError, UsageError):
                assert content(results.export(form, times))


@pytest.mark.parametrize("form", ["speedscope", "collapsed"])
def test_the_file_is_not_held_in_memory(form: str, tmp_path: Path) -> None:
    program = sampled()
    stack = [f"/p/{'deep' * 20}.py:{at}/{at} f" for at in range(1, 200)]
    stacks = [
        program.stack(*stack, f"/p/a.py:5/{at + 1} g") for at in range(2200 if form == "speedscope" else 150)
    ]
    for at in range(2200):
        program.sample(at * 4_000, (at + 1) * 4_000, stack=stacks[at % len(stacks)])
    made = import_module(f"perfprobe.report.export.{form}").exported(findings(program, tmp_path))
    tracemalloc.start()
    written = longest = 0
    for part in made.parts:
        written, longest = written + len(part), max(longest, len(part))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert written > 1_500_000
    assert longest < 150_000
    assert peak < written / 3
