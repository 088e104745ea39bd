"""Versions of a program over time: a line of JSON each, in a file that can be committed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from perfprobe.support.errors import InputError
from perfprobe.support.frozen import frozen

SCHEMA = 1
_MOST_LINES = 100_000
_MOST_LETTERS = 200


@frozen(kw_only=True)
class Against:
    """The version that this one was compared with in pairs of runs.

    ratio: time of this one divided by that of the other; low, high: its interval, None with too few pairs.
    error: how often such an interval may miss.
    """

    label: str
    commit: str
    pairs: int
    ratio: float
    low: float | None
    high: float | None
    error: float


@frozen(kw_only=True)
class HistoryLine:
    """A version of a program, or a run.

    Attributes:
        label: as the user named it. commit: "" if not known.
        when: date and time in UTC, ISO 8601; "" if not known.
        machine: model and number of processors.
        measure: "own", "wall" or "cpu".
        runs: how many it is the mean of.
        step_ns: the mean step.
        samples_s: samples a second. utilisation: of GPUs, else of the allowed processors. None: not known.
    """

    label: str
    commit: str = ""
    when: str = ""
    machine: str = ""
    measure: str = "own"
    runs: int = 1
    step_ns: float
    samples_s: float | None = None
    utilisation: float | None = None
    peak_bytes: int | None = None
    start_up_ns: int | None = None
    against: Against | None = None

    def json(self) -> str:
        """The line."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, allow_nan=False)

    def is_same_version(self, label: str, commit: str) -> bool:
        """Whether it is of this version: by commit where it is known."""
        return self.commit == commit if self.commit and commit else self.label == label


def parse(lines: Iterable[str], path: str) -> list[HistoryLine]:
    """The versions that a file has, in its order.

    Raises:
        InputError: a line is not one of ours.
    """
    found = []
    for number, text in enumerate(lines, 1):
        if number > _MOST_LINES:
            raise InputError("there are too many lines", path, f"keep the last {_MOST_LINES:,}")
        if text.strip():
            found.append(_line(text, f"{path}:{number}"))
    return found


def _line(text: str, where: str) -> HistoryLine:
    try:
        value = json.loads(text)
        if value.pop("schema") != SCHEMA:
            raise InputError("a newer perfprobe wrote this line", where, "update perfprobe")
        against = value.pop("against", None)
        line = HistoryLine(**value, against=None if against is None else Against(**against))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError("this is no line of a history", where, "remove it") from error
    if not _is_sound(line):
        raise InputError("this is no line of a history", where, "remove it")
    return line


def _is_sound(line: HistoryLine) -> bool:
    texts = [line.label, line.commit, line.when, line.machine, line.measure]
    numbers: list[Any] = [line.runs, line.step_ns]
    known: list[Any] = [line.samples_s, line.utilisation, line.peak_bytes, line.start_up_ns]
    if line.against is not None:
        texts += [line.against.label, line.against.commit]
        numbers += [line.against.pairs, line.against.ratio, line.against.error]
        known += [line.against.low, line.against.high]
    numbers += [each for each in known if each is not None]
    are_texts = all(isinstance(each, str) and len(each) <= _MOST_LETTERS for each in texts)
    return are_texts and all(_is_number(each) for each in numbers)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0
