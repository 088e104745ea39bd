"""Native code of a program of known parts, compared with the clocks of its threads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe import _core
from perfprobe.analyse.native_split import parts
from perfprobe.collect.base import Facts
from perfprobe.collect.instructions import InstructionCollector
from perfprobe.merge import link
from perfprobe.report.rows.native import operator_rows
from perfprobe.tables import storage
from perfprobe.tables.native_code import NativeFunctions, NativePart, NativeSamples, NativeSplit
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.found import find
from tests.once import Once

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "benchmarks/native/known_parts.c"
PROGRAM = ROOT / "benchmarks/native/known_parts.py"
REFUSED = _core.instruction_samples_refused()
EXPECTED = {
    "loop": (NativePart.OTHER, "plain_loop"),
    "multiply": (NativePart.MATH, ""),
    "copy": (NativePart.COPY, ""),
    "allocate": (NativePart.MEMORY, ""),
    "wait": (NativePart.WAIT, ""),
}
SECONDS = "0.4"

pytestmark = pytest.mark.skipif(REFUSED is not None, reason="; ".join(REFUSED or ()))


def made(folder: Path) -> Path:
    """A recording of the program, and the times it printed."""
    compiler = shutil.which("cc") or pytest.skip("needs a C compiler")
    library, path = folder / "known_parts.so", folder / "known.perfprobe"
    subprocess.run([compiler, "-O2", "-fopenmp", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    command = [sys.executable, "-m", "perfprobe", "-q", "--native", "--counters", "-o", str(path)]
    run = subprocess.run(
        [*command, str(PROGRAM), str(library), SECONDS],
        env={**os.environ, "GOMP_SPINCOUNT": "infinite"},
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "printed.json").write_text(run.stdout)
    return path


@pytest.fixture(scope="session")
def known(once: Once) -> tuple[Recording, dict[str, Any]]:
    path = once("known_parts", made)
    return storage.read(path), json.loads((path.parent / "printed.json").read_text())


def of_part(recording: Recording, window: dict[str, int], *, is_wait: bool) -> NativeSamples:
    """Samples in a part's time: those of the main thread; for `wait`, those of its helper."""
    samples = recording[NativeSamples]
    inside = (samples.time_ns >= window["start_ns"]) & (samples.time_ns <= window["end_ns"])
    is_main = recording.main_thread()[samples.thread]
    found = samples.take(inside & (is_main != is_wait))
    if not is_wait:
        return found
    busiest = Counter(found.thread[parts(recording, found) == NativePart.WAIT].tolist()).most_common(1)[0][0]
    return found.take(found.thread == busiest)


@pytest.mark.parametrize("name", list(EXPECTED))
def test_each_part_is_found_with_its_cpu_time(known: tuple[Recording, dict[str, Any]], name: str) -> None:
    recording, printed = known
    part, function = EXPECTED[name]
    samples = of_part(recording, printed[name], is_wait=name == "wait")
    kinds = parts(recording, samples)
    found_ns = int(samples.cpu_ns[kinds == part].sum())
    assert abs(found_ns / printed[name]["cpu_ns"] - 1) < 0.1, Counter(kinds.tolist())
    functions, strings = recording[NativeFunctions], recording[Strings]
    names = Counter(strings[functions.name[each]] for each in samples.function[kinds == part].tolist())
    assert function in ("", names.most_common(1)[0][0])


def test_shares_of_all_parts_agree_with_their_clocks(known: tuple[Recording, dict[str, Any]]) -> None:
    """Within 5 points each, over all of their CPU time."""
    recording, printed = known
    whole_ns = sum(part["cpu_ns"] for part in printed.values())
    by_part: Counter[int] = Counter()
    for name, window in printed.items():
        samples = of_part(recording, window, is_wait=name == "wait")
        for kind, cpu_ns in zip(parts(recording, samples).tolist(), samples.cpu_ns.tolist(), strict=True):
            by_part[kind] += cpu_ns
    for name, (part, _) in EXPECTED.items():
        share = printed[name]["cpu_ns"] / whole_ns
        assert abs(by_part[part] / sum(by_part.values()) - share) < 0.05, (name, by_part)


def test_the_operator_has_its_line_and_its_parts(known: tuple[Recording, dict[str, Any]]) -> None:
    recording, printed = known
    rows = operator_rows(find(link(recording), NativeSplit))
    row = next(row for row in rows if row.operator == "aten::mm")
    line = row.line
    assert line is not None
    assert line.file.endswith("known_parts.py")
    assert "torch.mm(left, right, out=result)" in PROGRAM.read_text().splitlines()[line.line - 1]
    assert row.parts["math_ns"] > 0.9 * row.cpu_ns
    assert abs(row.cpu_ns / printed["multiply"]["cpu_ns"] - 1) < 0.1


def test_samples_stand_for_the_cpu_time_of_all_threads(known: tuple[Recording, dict[str, Any]]) -> None:
    split = find(link(known[0]), NativeSplit)[NativeSplit]
    assert split.process_cpu_ns is not None
    least = 0.93 if split.with_kernel else 0.5
    assert least < split.cpu_ns / split.process_cpu_ns < 1.05


def test_a_refusal_is_a_loss_with_the_command_that_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = _core.Recorder(str(tmp_path / "refused.perfprobe"))
    why = ("cpu-clock is not permitted", "sudo sysctl kernel.perf_event_paranoid=2")
    monkeypatch.setattr(_core, "instruction_samples_refused", lambda: why)
    missing = InstructionCollector(Facts(recorder, print)).available()
    assert missing is not None
    assert (missing.where, missing.remedy) == why
    recorder.close()


def test_all_functions_have_a_library(known: tuple[Recording, dict[str, Any]]) -> None:
    recording = known[0]
    functions, samples = recording[NativeFunctions], recording[NativeSamples]
    assert len(functions) > 20
    assert bool((functions.library >= 0).all())
    assert bool((samples.function >= 0).all())
    assert bool((np.diff(samples.time_ns) >= -(10**9)).all())
