"""Operators by number of threads, on hand-made measurements."""

from __future__ import annotations

import pytest

from perfprobe.bench.thread_sweep import numbers, rows, totals_ns, with_each
from perfprobe.cli import main
from perfprobe.report.render.text import page
from perfprobe.report.section.sweep import operator_blocks
from perfprobe.support.errors import UsageError
from perfprobe.tables.measurements import Estimate, Measurement, Measurements, Seen, Wanted
from tests.snapshots import Snapshot

SEEN = Seen(10, 0.5, 100, 100, None, ("train.py:7 in f",))
CALL = Wanted("aten::mm", "f32[8,8] f32[8,8]", threads=4)


def measured(*times: tuple[int, float, float, float], call: Wanted = CALL) -> list[Measurement]:
    """Rows of a call: threads, median, lowest, highest."""
    calls = with_each([(call, SEEN)], [threads for threads, *_ in times])
    return [
        Measurement(wanted, "cpu", "cpu", seen, rotating=Estimate(*estimate))
        for (wanted, seen), (_, *estimate) in zip(calls, times, strict=True)
    ]


def found(*measurements: Measurement) -> Measurements:
    return Measurements("a machine", "2.13.0", "run.perfprobe", measurements)


def test_numbers_of_threads() -> None:
    assert numbers("4,1,2,2") == (1, 2, 4)
    for text in ("", "0", "1,x", "1;2", "5000"):
        with pytest.raises(UsageError):
            numbers(text)


@pytest.mark.parametrize(
    ("times", "best"),
    [
        ([(1, 100, 95, 105), (2, 52, 50, 55), (4, 30, 28, 31)], 4),
        ([(1, 100, 95, 105), (2, 52, 50, 55), (4, 51, 45, 56)], 2),  # the intervals overlap
        ([(1, 100, 100, 100), (2, 98, 98, 98)], 1),  # not worth another thread
        ([(1, 50, 45, 55), (2, 90, 80, 99)], 1),
    ],
)
def test_the_best_is_faster_for_certain(times: list[tuple[int, float, float, float]], best: int) -> None:
    (row,) = rows(found(*measured(*times)))
    assert (row.best, row.line, row.calls) == (best, "train.py:7 in f", 10)
    expected = dict((threads, value) for threads, value, *_ in times)
    assert row.speedup == expected[1] / expected[best]


def test_sums_are_of_operators_that_have_all_numbers(snapshot: Snapshot) -> None:
    other = Wanted("aten::bernoulli_", "f32[8]")
    only = measured((1, 7, 7, 7), call=Wanted("aten::add", "f32[8]"))
    found_rows = rows(
        found(
            *measured((1, 100, 99, 101), (2, 50, 49, 51)),
            *measured((1, 30, 29, 31), (2, 30, 29, 31), call=other),
            *only,
        )
    )
    assert [row.operator for row in found_rows] == ["aten::mm", "aten::bernoulli_"]
    assert totals_ns(found_rows) == {1: 1300, 2: 800}
    snapshot(page(operator_blocks(found(), found_rows, totals_ns(found_rows)), width=120, color=False))


def test_a_sweep_has_its_own_numbers(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "mm", "f32[8,8]", "f32[8,8]", "--sweep", "1,2", "--threads", "2"]) == 2
    assert main(["bench", "mm", "f32[8,8]", "f32[8,8]", "--sweep", "many"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 2
