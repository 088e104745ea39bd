from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.recorded import Row, one_thread, record


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[Callable[[], Any]], list[Row]]:
    """Records a function on one thread of torch's."""
    one_thread()
    return lambda run: record(tmp_path / "run.perfprobe", run)
