import random

import numpy as np
import pytest

from perfprobe.tables import varints
from perfprobe.tables.varints import Bytes, DamagedError
from tests import encoding

EDGES = [0, 1, -1, 63, 64, -64, -65, 2**31, -(2**31), 2**56, 2**63 - 1, -(2**63)]


@pytest.fixture(autouse=True, params=["core", "numpy"])
def _by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both decoders pass the same tests."""
    if request.param == "numpy":
        monkeypatch.setattr(varints, "decoder", lambda: None)
    else:
        assert varints.decoder() is not None


def as_bytes(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8)


@pytest.mark.parametrize("values", [EDGES, [*EDGES[::-1], 5], [0] * 10, [63, -64] * 4, []])
def test_extreme_signed_values(values: list[int]) -> None:
    assert varints.signed(as_bytes(encoding.integers(values, encoding.PLAIN))).tolist() == values


def test_signed_equals_the_twin_on_random_columns() -> None:
    rng = random.Random(0)
    for bits in (5, 7, 13, 31, 63):
        values = [rng.randrange(-(2**bits), 2**bits) for _ in range(500)]
        assert varints.signed(as_bytes(encoding.integers(values, encoding.PLAIN))).tolist() == values


def test_unsigned_values() -> None:
    values = [0, 127, 128, 2**64 - 1]
    data = b"".join(encoding.uvarint(value) for value in values)
    assert varints.unsigned(as_bytes(data)).tolist() == values


def test_run_lengths() -> None:
    values = [7] * 300 + [-1] * 2 + [9]
    data = as_bytes(encoding.integers(values, encoding.RUNS))
    assert varints.runs(data, len(values)).tolist() == values
    for wrong in (len(values) - 1, len(values) + 1, 0):
        with pytest.raises(DamagedError):
            varints.runs(data, wrong)
    with pytest.raises(DamagedError):
        varints.runs(data[:-1], len(values))


def test_run_counts_that_wrap_around_are_refused() -> None:
    data = b"".join(encoding.svarint(1) + encoding.uvarint(count) for count in (2**63, 2**63, 4))
    with pytest.raises(DamagedError):
        varints.runs(as_bytes(data), 4)


@pytest.mark.parametrize(
    "data", [b"\x80", b"\x01\xff", b"\xff" * 10 + b"\x01"], ids=["cut", "cut late", "long"]
)
def test_damaged_varints_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedError):
        varints.signed(as_bytes(data))
