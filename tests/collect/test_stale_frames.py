"""The sampler reads a thread whose frame has an invalid outer pointer, as a stale frame may have."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perfprobe import _core
from perfprobe.tables import storage
from perfprobe.tables.python import Look, Samples
from tests.collect.runs import Outcome, both

pytestmark = pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))

# The offset of `previous` in _PyInterpreterFrame, and of the pointer to that in a frame object.
_PREVIOUS = 48 if sys.version_info < (3, 12) else 8
_FRAME = 24

_PROGRAM = f"""
import ctypes, sys, threading, time

def sleep_on(value):
    frame = ctypes.c_size_t.from_address(id(sys._getframe()) + {_FRAME}).value
    previous = ctypes.c_size_t.from_address(frame + {_PREVIOUS})
    kept = previous.value
    previous.value = value % 2**64
    time.sleep(0.05)
    previous.value = kept

def sleep_on_all():
    for value in (VALUES):
        sleep_on(value)
        print("slept")

thread = threading.Thread(target=sleep_on_all)
thread.start()
thread.join()
"""

# Adding the size of a frame to such an address overflows to a small number.
_NEGATIVE = ("-8", "-64", "-72", "-80")
_STRANGE = ("8", "4096", "2**63", "2**63 - 8", "-88", "-4096", "id(threading)", "0x7f0000000001")


@pytest.mark.parametrize("values", [*((value,) for value in _NEGATIVE), _STRANGE], ids=" ".join)
def test_a_frame_with_an_invalid_pointer_is_harmless(tmp_path: Path, values: tuple[str, ...]) -> None:
    script = tmp_path / "stale.py"
    script.write_text(_PROGRAM.replace("VALUES", ", ".join(values) + ","))
    pair = both([str(script)], tmp_path)
    right = Outcome(0, b"slept\n" * len(values), b"")
    assert pair.plain == replace(pair.recorded, said=()) == right
    recording = storage.read(pair.recording)
    failed = recording[Samples].look == Look.FAILED
    assert recording[Samples].looks[failed].sum() >= len(values)
