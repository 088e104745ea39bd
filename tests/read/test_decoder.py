"""Events that `perfprobe._core` decodes, compared with those that the standard library decodes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from perfprobe.read.kineto.decoder import events_of, plain_decoder
from perfprobe.read.kineto.event import ARGS, COLUMNS, EVENT, TIMES, Events

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 12, -0.0, 0.5, 1.0005, 2.5e-4, 1e18, -1e300, 1623142623460111.125),
    *((1 << 62) - 1, 1 << 62, -(1 << 62), (1 << 63) - 1, 1 << 63, 1 << 70, -(1 << 70), 4611686018427387),
    *("", "x", "12", "1.5", "nan", 'a"b\\c', "tab\there", "ä€😀", "\u0000", "\ud800", " ", "]},{"),
    *([], [1, 2, 3], [[], [1, [2, {"a": "]}"}]]], {}, {"a": {"b": []}}, [None, True, "x", 1.5]),
)


def shown(events: Events) -> list[list[Any]]:
    """The value of each entry of each event, and its time in ns."""
    times = [events.times(name).tolist() for name in TIMES]
    others = [[events.value(code) for code in events.codes(name).tolist()] for name in (*EVENT, *ARGS)]
    return [*times, *others]


def some_events(rng: random.Random) -> list[dict[str, Any]]:
    found = []
    for _ in range(rng.randrange(20)):
        event = {key: rng.choice(VALUES) for key in (*TIMES, *EVENT, "other") if rng.random() < 0.8}
        args = {key: rng.choice(VALUES) for key in (*ARGS.values(), "more") if rng.random() < 0.5}
        found.append({**event, **({"args": args} if rng.random() < 0.9 else {"args": None})})
    return found


def test_random_events_are_the_same() -> None:
    rng, decoder = random.Random(4), plain_decoder()
    assert decoder.remedy == ""
    for number in range(300):
        events = some_events(rng)
        layout: dict[str, Any] = {"indent": rng.choice((None, 0, 3)), "ensure_ascii": rng.random() < 0.5}
        text = json.dumps(events, **layout).encode(errors="surrogatepass")
        try:
            text.decode()
        except UnicodeDecodeError:
            with pytest.raises(UnicodeDecodeError):
                decoder.many(text)
            continue
        assert shown(decoder.many(text)) == shown(events_of(json.loads(text))), number


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "[",
            "[}",
            "{}",
            "[1]",
            '["x"]',
            "[null]",
            "[{}",
            "[{},]",
            "[{} {}]",
            "[{}]]",
            "[{}] x",
            "[,{}]",
        ),
        *(
            '[{"ts":}]',
            '[{"ts":01}]',
            '[{"ts":1.}]',
            '[{"ts":.5}]',
            '[{"ts":+1}]',
            '[{"ts":1e}]',
            '[{"ts":-}]',
        ),
        *('[{"ts":nan}]', '[{"ts":Infinity}]', '[{"ts" 1}]', '[{"ts":1,}]', "[{ts:1}]", '[{"ts":tru}]'),
        *('[{"name":"a\nb"}]', '[{"name":"\\x"}]', '[{"name":"\\u12g4"}]', '[{"name":"a}]', '[{"x":[1,]}]'),
        *('[{"x":{"a"}}]', '[{"x":{1:2}}]', '[{"args":[]}]', '[{"args":"x"}]', '[{"args":{"a":}}]'),
        *('[{"x":' + "[" * 5000 + "]" * 5000 + "}]", '[{"\\u0074s":1}]', "[{}\u00a0]"),
    ],
)
def test_what_is_not_json_or_unusual_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of events"):
        plain_decoder().many(text.encode())


def test_texts_cut_and_overwritten_anywhere_are_the_same_or_refused() -> None:
    rng, decoder, refused = random.Random(7), plain_decoder(), 0
    for _ in range(2000):
        data = bytearray(json.dumps(some_events(rng)).encode())
        for _ in range(rng.choice((1, 3))):
            data[rng.randrange(len(data))] = rng.choice(b'{}[],:"\\ 0129.eE-+x\x00\xff')
        text = bytes(data[: rng.choice((len(data), rng.randrange(len(data) + 1)))])
        try:
            found = shown(decoder.many(text))
        except ValueError:
            refused += 1
            continue
        assert found == shown(events_of(json.loads(text)))
    assert 500 < refused < 1900


def test_times_are_rounded_as_python_rounds() -> None:
    rng = random.Random(9)
    values = [rng.uniform(-1e15, 1e15) for _ in range(2000)] + [n / 2000 for n in range(-2001, 2001, 2)]
    text = json.dumps([{"ts": value} for value in values]).encode()
    assert plain_decoder().many(text).times("ts").tolist() == [round(value * 1000) for value in values]


def test_the_last_of_equal_keys_counts_and_keys_are_ours() -> None:
    events = plain_decoder().many(b'[{"name":"a","name":"b","args":{"name":"c"},"ts":1,"ts":2}]')
    assert events.value(int(events.codes("name")[0])) == "b"
    assert events.value(int(events.codes("thread_name")[0])) == "c"
    assert events.times("ts").tolist() == [2000]
    assert len(set(COLUMNS)) == len(COLUMNS)
