from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from perfprobe.collect.imports import ImportWatch
from perfprobe.session import Session
from tests.seconds import Seconds


@pytest.fixture(autouse=True)
def nothing_is_left_running(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No recording and no import hook outlives a test, and no rank or width is taken over from outside."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    check()
    yield
    check()


def check() -> None:
    assert not Session._active
    assert not [finder for finder in sys.meta_path if isinstance(finder, ImportWatch)]


def pytest_configure(config: pytest.Config) -> None:
    """The run ends with what each folder cost."""
    config.pluginmanager.register(Seconds())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: several processes then end at about the same time."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
