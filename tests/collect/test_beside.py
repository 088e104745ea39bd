"""Programs that use unusual parts of torch: output and exit code are as under plain python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect import beside, recorded

pytest.importorskip("torch")


def test_unusual_parts_of_torch_work_as_under_plain_python(tmp_path: Path) -> None:
    pair = beside.run(beside.CHEAP, tmp_path)
    assert (pair.recorded.status, pair.recorded.out) == (3, pair.plain.out)
    assert pair.recorded.err == pair.plain.err
    assert pair.plain.out.count(b"\n") == 8
    assert len(list(recorded.rows(pair.recording))) > 50
