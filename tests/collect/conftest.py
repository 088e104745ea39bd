from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.collect.recorded import Row


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[Callable[[], Any]], list[Row]]:
    """Records a function with a single torch thread."""
    # Imported here, because many tests in this folder need no torch.
    from tests.collect.recorded import one_thread, record

    one_thread()
    return lambda run: record(tmp_path / "run.perfprobe", run)
