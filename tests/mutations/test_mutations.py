"""Every command on damaged files of every kind. `python -m tests.mutations` does the same many more times."""

from pathlib import Path

import pytest

from tests.mutations.reading import KINDS, read_all


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    assert read_all(kind, range(8), Path("/nonexistent"), tmp_path) == []
