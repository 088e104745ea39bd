from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.workloads.recorded import Recorded, record


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
    """A recorded workload by its name; it runs when it is first asked for."""
    return cache(lambda name: record(name, tmp_path_factory.mktemp(name)))
