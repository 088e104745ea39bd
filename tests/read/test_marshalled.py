"""The bounded reader, compared with marshal itself, and with bytes that marshal never writes."""

import contextlib
import marshal
import random
import tracemalloc
from typing import Any

import pytest

from perfprobe.read import marshalled
from perfprobe.read.marshalled import MarshalError, Pairs, Reader, Value

KEYS = [
    ("a.py", 1, "f"),
    ("~", 0, "<built-in method len>"),
    ("é.py", 70_000, "λ\udc80"),
    ("a.py", 3, "x" * 300),
]
PROFILE: dict[Any, Any] = {
    key: (
        at,
        at * 10**9,
        0.5 * at,
        1e-9,
        {KEYS[at - 1]: (2**40 + at, -at, 0.25, 3.0), KEYS[0]: (1, 1, 0.0, 0.0)},
    )
    for at, key in enumerate(KEYS)
}


def plain(value: Value) -> Any:
    """The same as marshal.loads returns it."""
    if isinstance(value, Pairs):
        return {plain(key): plain(item) for key, item in value}
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("version", [2, 3, 4])
def test_values_equal_those_of_marshal(version: int) -> None:
    data = marshal.dumps(PROFILE, version)
    assert plain(Reader(data).whole()) == marshal.loads(data)


@pytest.mark.parametrize(
    "value", [0, -1, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**62), 0.1, "", "a" * 255, "ü" * 9]
)
def test_single_values(value: Any) -> None:
    for version in (2, 3, 4):
        read = Reader(marshal.dumps(value, version)).whole()
        assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    "value",
    [None, True, b"a", [1], {1}, 1j, Ellipsis, 2**80, compile("1", "a", "eval"), ((((((),),),),),)],
    ids=lambda value: str(type(value)),
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(MarshalError):
        Reader(marshal.dumps(value)).whole()


def test_data_cut_at_every_byte_is_refused() -> None:
    data = marshal.dumps(PROFILE)
    for size in range(len(data)):
        with pytest.raises(MarshalError):
            Reader(data[:size]).whole()
    with pytest.raises(MarshalError, match="trailing data after byte"):
        Reader(data + b"0").whole()


def test_random_bytes_are_read_or_refused() -> None:
    data = marshal.dumps(PROFILE)
    rng = random.Random(7)
    for _ in range(5_000):
        harmed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            harmed[rng.randrange(len(harmed))] = rng.choice([rng.randrange(256), 0x72, 0xFB, 0xA9, 0x7F])
        with contextlib.suppress(MarshalError):
            Reader(bytes(harmed)).whole()


@pytest.mark.parametrize(
    "data",
    [
        b"(\xff\xff\xff\x7f",  # two billion items
        b"u\xff\xff\xff\x7fabc",
        b"(\xff\xff\xff\xff",  # a negative number
        b"l\xff\xff\xff\x7f",
        b"\xa9\x01r\x00\x00\x00\x00",  # a reference to itself
        b"r\x00\x00\x00\x00",
        b")\x02\xa9\x01)\x00r\x00\x00\x00\x00",  # twice the same nested tuple
        b")\x02\xfb0r\x00\x00\x00\x00",  # a dict twice
    ],
)
def test_impossible_sizes_and_references_are_refused(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MarshalError):
            Reader(data).whole()
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_file_has_a_limited_number_of_items_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marshalled, "_MOST_ITEMS", 10)
    monkeypatch.setattr(marshalled, "_MOST_STRINGS", 10)
    short = b"{" + b"z\x01ai\0\0\0\0" * 20 + b"0"  # less than any function takes
    with pytest.raises(MarshalError, match="more functions and callers than"):
        Reader(short).whole()
    names = b"{" + b"".join(b"z\x01%cz\x01%c" % (65 + at, 97 + at) for at in range(10)) + b"0"
    with pytest.raises(MarshalError, match="more names than"):
        Reader(names).whole()
    with pytest.raises(MarshalError, match="a tuple of 6 items"):
        Reader(marshal.dumps((1, 2, 3, 4, 5, 6), 2)).whole()
    usual: dict[Any, Any] = {("a.py", at, f"f{at}"): (1, 1, 0.1, 0.1, {}) for at in range(30)}
    assert len(Reader(marshal.dumps(usual, 2)).whole()) == 30  # type: ignore[arg-type]


def test_a_file_of_references_has_no_more_items_than_memory_allows() -> None:
    refers = b"{\xfa\x01ai\0\0\0\0" + b"r\0\0\0\0r\0\0\0\0" * 150_000 + b"0"
    with pytest.raises(MarshalError, match="more functions and callers than"):
        Reader(refers).whole()
