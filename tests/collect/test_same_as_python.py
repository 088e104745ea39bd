from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.collect.programs import ENCODED, SOURCES
from tests.collect.runs import Outcome, both, perfprobe, where

ARGUMENTS = ["--epochs", "1", "-o", "x", "--", "-m", "report"]


def seen(outcome: Outcome) -> tuple[int, bytes, bytes]:
    # Addresses of objects and process ids also differ between runs of plain python.
    err = re.sub(rb"0x[0-9a-f]+", b"0x", outcome.err)
    return outcome.status, re.sub(rb"0x[0-9a-f]+", b"0x", outcome.out), err


def scripts() -> dict[str, bytes]:
    return {**{name: source.encode() for name, source in SOURCES.items()}, **ENCODED}


def test_descriptors_have_the_same_numbers_as_under_plain_python(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print(open(__file__).fileno())")
    pair = both(["main.py"], tmp_path)
    assert seen(pair.recorded) == seen(pair.plain)


@pytest.mark.parametrize("name", scripts())
def test_script_behaves_as_under_plain_python(name: str, tmp_path: Path) -> None:
    script = tmp_path / f"{name}_main.py"
    script.write_bytes(scripts()[name])
    # From 3.12 on a fork with threads causes a warning, and the recording has a thread.
    variables = {"PYTHONWARNINGS": "ignore:This process:DeprecationWarning"} if "fork" in name else {}
    pair = both([script.name, *ARGUMENTS], tmp_path, given=b"first\nsecond\n", environment=variables)
    assert seen(pair.recorded) == seen(pair.plain)
    does_start = name not in ("syntax_error", "indentation_error")
    assert (pair.recording.exists() and pair.recording.stat().st_size > 0) == does_start


def test_a_program_that_replaces_functions_is_recorded(tmp_path: Path) -> None:
    """`os.fstat = None`: perfprobe has saved the functions that it needs at the end."""
    pytest.importorskip("numpy", reason="reports need numpy")
    (tmp_path / "main.py").write_text(SOURCES["spoils_functions"])
    outcome = perfprobe(["-o", "run.perfprobe", "--json", "run.json", "main.py"], tmp_path)
    assert outcome.status == 0
    assert outcome.said[0] == where(tmp_path / "run.perfprobe")
    document = json.loads((tmp_path / "run.json").read_text())
    assert document["meta"]["stop"]["exit"] == "returned"
    assert [row["source"] for row in document["missing"] if row["source"] != "operators"] == []
