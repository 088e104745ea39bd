"""Buffers in `.cupti` files: written by the recorder, read and decoded again here."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from perfprobe.tables.columns import Table
from perfprobe.tables.gpu import GPU_EVENTS, ExternalIds, Kernels, Launches
from perfprobe.tables.strings import Strings
from tests.collect.cupti_buffers import STRIDES_13_0, Buffer, decode
from tests.collect.cupti_fixture import read_fixture, replay
from tests.collect.test_cupti_decoding import one_of_each, rows, sums

GOLDEN = sorted((Path(__file__).parent.parent / "golden" / "gpu").glob("*.cupti"))


def test_a_fixture_decodes_like_the_original_buffers(tmp_path: Path) -> None:
    lies = ctypes.create_string_buffer(b"_Z3fooi")
    unreadable = Buffer()
    unreadable.kernel(8)
    foo = Buffer()
    foo.kernel(ctypes.addressof(lies))
    buffers = [one_of_each().data, foo.data, unreadable.data]
    path = tmp_path / "synthetic.cupti"
    recording, figures = decode(tmp_path / "a.perfprobe", buffers, fixture=path)
    lies.value = b"gone"
    fixture = read_fixture(path)
    assert fixture.is_synthetic
    assert fixture.lost == (0, 0)
    assert fixture.strides == STRIDES_13_0
    again, figures_again = replay(fixture, tmp_path / "b.perfprobe")
    assert figures_again == figures
    assert figures["unread_names"] == 1
    assert "foo(int)" in [again[Strings][name] for name in again[Kernels].name]
    assert again[Strings].text.tolist() == recording[Strings].text.tolist()
    kinds: tuple[type[Table], ...] = (Launches, *GPU_EVENTS, ExternalIds)
    for kind in kinds:
        assert rows(again[kind]) == rows(recording[kind])


@pytest.mark.parametrize(
    "path", GOLDEN or [pytest.param(None, marks=pytest.mark.skip("no fixture was recorded yet"))], ids=str
)
def test_a_recorded_fixture_is_decoded_completely(tmp_path: Path, path: Path) -> None:
    """Here every record must be decoded. Other tests compare with the truth recorded beside it."""
    fixture = read_fixture(path)
    assert fixture.is_synthetic == ("synthetic" in path.name)
    recording, figures = replay(fixture, tmp_path / "a.perfprobe")
    assert fixture.lost is not None
    assert figures["records"] > 0
    assert figures["malformed"] == figures["unknown_kinds"] == figures["unread_names"] == 0
    expected = sums(recording)
    assert {key: figures[key] for key in expected} == expected
