from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.once import Once
from tests.workloads.recorded import Recorded, read, record


@pytest.fixture(scope="session")
def recorded(once: Once) -> Callable[[str], Recorded]:
    """A recorded workload by its name. It runs on first use, once for all files."""
    return cache(lambda name: read(name, once(name, lambda folder: record(name, folder))))
