"""Whether the layout of frames is that of the running Python, and what happens if it is not."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import perfprobe
from perfprobe import _core
from perfprobe.doctor import installation
from perfprobe.doctor.part import NOTE
from perfprobe.tables import storage
from perfprobe.tables.events import Losses

MISFIT = "interpreter_frame.owner is 71 in this Python, not 70 as in the headers"
# Each field that is read by its place, of those in the interpreter's own description.
DESCRIBED = {
    "thread_state": {"prev", "next", "interp", "current_frame", "native_thread_id", "datastack_chunk"},
    "interpreter_frame": {"size", "previous", "executable", "instr_ptr", "localsplus", "owner"},
    "code_object": {"size", "filename", "qualname", "linetable", "firstlineno", "co_code_adaptive"},
    "pyobject": {"ob_type"},
    "bytes_object": {"ob_sval"},
    "unicode_object": {"state", "length", "asciiobject_size"},
}


@pytest.fixture
def _misfit() -> Iterator[None]:
    before = _core.frames_misfit()
    _core.set_frames_misfit(MISFIT)
    yield
    _core.set_frames_misfit(before)


def test_the_layout_is_that_of_this_python() -> None:
    assert (_core.frames_misfit(), _core.FAST_FRAMES) == ("", True)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="this Python does not describe its layout")
def test_each_field_that_lies_elsewhere_is_noticed() -> None:
    """All words of the description, changed one after the other."""
    words = (ctypes.c_uint64 * 100).in_dll(ctypes.pythonapi, "_PyRuntime")
    described = bytes(words) + bytes(800)
    assert _core.layout_difference(described) == ""
    found = set()
    for place in range(0, 800, 8):
        changed = described[place] ^ 4
        found.add(_core.layout_difference(described[:place] + bytes([changed]) + described[place + 1 :]))
    expected = {f"{part}.{field}" for part, fields in DESCRIBED.items() for field in fields}
    if sys.version_info >= (3, 14):
        expected.add("interpreter_frame.stackpointer")
    assert {text.split()[0] for text in found if "." in text} == expected
    assert {text for text in found if "." not in text} == {
        "",
        "this Python does not describe its layout",
        "this Python has no global lock",
    }


@pytest.mark.usefixtures("_misfit")
class TestAnotherLayout:
    """Frames are then read by Python's public functions."""

    def test_threads_are_not_sampled_and_one_row_says_so(self, tmp_path: Path) -> None:
        with perfprobe.profile(tmp_path / "r.perfprobe", operators="off", python="sample"):
            sum(range(1000))
        losses = storage.read(tmp_path / "r.perfprobe")[Losses]
        assert [text for text in losses.reason if MISFIT in text] == [
            f"Python threads cannot be sampled: {MISFIT}"
        ]

    def test_doctor_says_so(self) -> None:
        part = installation.frames()
        assert (part.state, part.why) == (NOTE, MISFIT)
