from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from perfprobe.collect.imports import ImportWatch
from perfprobe.results import Results
from perfprobe.session import Session
from tests import eager, snapshots
from tests.collect import nvtx_client
from tests.collect import standin as standins
from tests.native import listener as listeners
from tests.once import Once
from tests.report.invariants import violations
from tests.seconds import Seconds
from tests.snapshots import Snapshot


@pytest.fixture(autouse=True)
def nothing_is_left_running(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No recording or import hook outlives a test. RANK and terminal width are not inherited from outside."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    check()
    yield
    check()


@pytest.fixture(autouse=True)
def no_screen_contradicts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever report a test asks for as JSON."""
    document = Results.document

    def checked(self: Results, *given: Any, **named: Any) -> dict[str, Any]:
        found = document(self, *given, **named)
        assert violations(found["tables"]) == []
        return found

    monkeypatch.setattr(Results, "document", checked)


@pytest.fixture(autouse=True, scope="session")
def programs_start_sooner() -> Iterator[None]:
    """Only those that tests start. In a process of tests, torch is whole."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in eager.VARIABLES.items():
            patch.setenv(name, value)
        yield


def check() -> None:
    assert not Session._active
    assert not [finder for finder in sys.meta_path if isinstance(finder, ImportWatch)]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Once:
    """Makes what the tests of a run share."""
    own = tmp_path_factory.getbasetemp()
    # For a process of pytest-xdist it is in the folder of the whole run.
    return Once((own.parent if hasattr(request.config, "workerinput") else own) / "once")


@pytest.fixture(scope="session")
def standin(once: Once) -> Path:
    """The stand-in for libcupti, which needs no GPU."""
    return once("standin", standins.build)


@pytest.fixture(scope="session")
def nvtx_library(once: Once) -> Path:
    """A library that contains NVTX."""
    return once("nvtx_client", nvtx_client.build)


@pytest.fixture(scope="session")
def listener(once: Once) -> Callable[[str], Path]:
    """A listening tool of a kind, see `listeners.build`. Skips the test if it cannot be compiled."""

    def built(kind: str) -> Path:
        try:
            return once(f"{kind}_listener", lambda folder: listeners.build(kind, folder))
        except RuntimeError as missing:
            pytest.skip(f"the listener cannot be built: {missing}")

    return built


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """Compares a text with the file of the test."""
    return Snapshot(snapshots.path_of(request.node), is_rewritten=request.config.getoption("write_snapshots"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """For `make snapshots`."""
    parser.addoption("--write-snapshots", action="store_true", help="write the texts that tests expect again")


def pytest_configure(config: pytest.Config) -> None:
    """Prints the cost of each folder at the end of the run."""
    config.pluginmanager.register(Seconds())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No collection of garbage looks at torch's objects and pytest's: a tenth of the tests' CPU time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Runs the longest tests first, so that several processes end at about the same time.

    Only those that have snapshots are run to write them.
    """
    if config.getoption("write_snapshots"):
        items[:] = [item for item in items if "snapshot" in getattr(item, "fixturenames", ())]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
