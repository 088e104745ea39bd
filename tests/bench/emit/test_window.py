"""The commands that tools get, in order, with a stand-in for torch if that needs a GPU."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfprobe.bench.emit import window as window_module
from perfprobe.bench.emit.window import Refused, Window, window_for
from tests.snapshots import Snapshot


def events_of(window: Window) -> None:
    """The events of a runner with two blocks."""
    block = chain(window.begins, reversed(window.ends))
    for action in chain(window.opens, list(block) * 2, reversed(window.closes)):
        action()


def test_for_a_gpu_the_profiler_api_and_torchs_nvtx_are_called(
    snapshot: Snapshot, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    cuda = SimpleNamespace(
        profiler=SimpleNamespace(start=lambda: heard.append("start"), stop=lambda: heard.append("stop")),
        nvtx=SimpleNamespace(range_push=heard.append, range_pop=lambda: heard.append("pop")),
    )
    version = SimpleNamespace(cuda="13.0", hip=None)
    events_of(window_for(SimpleNamespace(__file__="", cuda=cuda, version=version), "name", "cuda:0", None))
    assert heard == ["start", "name", "pop", "name", "pop", "stop"]
    lines = capfd.readouterr().err.splitlines()
    snapshot("\n".join(line for line in lines if line.startswith("NVTX")))


def test_without_a_tool_nothing_is_called(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.delenv("INTEL_LIBITTNOTIFY64", raising=False)
    torch = SimpleNamespace(__file__="", version=SimpleNamespace(cuda=None, hip=None))
    assert window_for(torch, "name", "cpu", None) == Window()
    snapshot(capfd.readouterr().err)


@pytest.mark.parametrize("pauses", [True, False])
def test_listeners_without_pause_and_disabled_listeners(
    pauses: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    domain = (ctypes.c_int64 * 6)(1)

    def hear(text: str, answer: int | None = None) -> int | None:
        heard.append(text)
        return answer

    given: dict[str, Callable[..., Any]] = {
        "domain_create": lambda name: hear(name.decode(), ctypes.addressof(domain)),
        "string_handle_create": lambda text: hear(text.decode(), 7),
        "task_begin": lambda *words: hear(f"begin {words[0] == ctypes.addressof(domain)} {words[3]}"),
        "task_end": lambda domain: hear("end"),
        "resume": lambda: hear("resume"),
        "pause": lambda: hear("pause"),
    }
    kept = {key: window_module._ITT[key](function) for key, function in given.items()}
    addresses = {key: ctypes.cast(one, ctypes.c_void_p).value for key, one in kept.items()}
    if not pauses:
        addresses.update(resume=None, pause=None)
    monkeypatch.setattr(window_module, "_itt_of_torch", lambda torch: addresses)
    monkeypatch.setitem(sys.modules, "nvtx", None)
    window = window_for(SimpleNamespace(version=SimpleNamespace(cuda=None, hip=None)), "name", "cpu", None)
    events_of(window)
    block = ["begin True 7", "end"]
    inside = ["resume", *block, *block, "pause"] if pauses else [*block, *block]
    assert heard == ["perfprobe", "name", *inside]
    assert ("cannot resume and pause" in capfd.readouterr().err) != pauses
    domain[0] = 0
    events_of(window)
    assert heard[len(inside) + 2 :] == (["resume", "pause"] if pauses else [])


def test_perf_is_switched_on_around_each_block(tmp_path: Path) -> None:
    torch = SimpleNamespace(__file__="", version=SimpleNamespace(cuda=None, hip=None))
    control, acknowledge = tmp_path / "control", tmp_path / "ack"
    os.mkfifo(control)
    os.mkfifo(acknowledge)
    with pytest.raises(Refused, match="perf does not listen to"):
        window_for(torch, "name", "cpu", f"{control},{acknowledge}")
    perf = os.open(control, os.O_RDONLY | os.O_NONBLOCK)
    window = window_for(torch, "name", "cpu", f"{control},{acknowledge}")
    answer = os.open(acknowledge, os.O_WRONLY)
    os.write(answer, b"ack\n")
    window.begins[0]()
    assert os.read(perf, 100) == b"enable\n"
    os.write(answer, b"ack\n")
    window.ends[0]()
    assert os.read(perf, 100) == b"disable\n"
    os.close(perf)
    os.close(answer)
