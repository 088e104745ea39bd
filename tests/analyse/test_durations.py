from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse import durations, gather
from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import DurationBins, HotLines, Hotspots
from perfprobe.tables.strings import Strings
from tests.build import Program, op
from tests.found import find, hotspots


def binned(duration_ns: Int64, rows: Int64) -> DurationBins:
    order = np.argsort(rows, kind="stable")
    first = np.flatnonzero(np.diff(rows[order], prepend=-1))
    return durations.binned(duration_ns, order, first)


def nearest_rank(values: Int64, percent: int) -> int:
    return int(np.quantile(values, percent / 100, method="inverted_cdf"))


def mixtures(rng: np.random.Generator) -> list[Int64]:
    """Durations of rows: of all scales, in two clusters, a few, one, equal ones, none."""
    return [
        rng.lognormal(10, 2, 5000).astype(np.int64),
        np.concatenate([rng.normal(1e6, 1e4, 300), rng.normal(9e6, 1e5, 310)]).astype(np.int64),
        rng.integers(0, 2**45, 7),
        np.array([123_456_789]),
        np.full(40, 3_333_333),
        np.zeros(9, np.int64),
        rng.integers(0, 60, 1000),
    ]


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("coarser", [0, 2])
def test_quantiles_agree_with_numpy_within_the_stated_error(parts: int, coarser: int) -> None:
    rng = np.random.default_rng(1)
    values = mixtures(rng)
    rows = np.repeat(np.arange(len(values)), [len(value) for value in values])
    times = np.concatenate(values)
    part = rng.permutation(np.arange(len(times)) % parts)
    gathered = []
    for at in range(parts):
        bins, held = binned(times[part == at], rows[part == at]), np.unique(rows[part == at])
        gathered.append(replace(bins, row=held[bins.row].astype(np.int32)))
    found = durations.merge_bins(DurationBins.concat(gathered), np.arange(len(values)))
    for _ in range(coarser):
        found = durations.coarsened(found)
    stated = durations.error(found) / 1e6
    assert set(stated) == ({1 / 64} if coarser == 0 else {1 / 64, 4 / 64})  # rows with much time stay exact
    for percent in (1, 50, 95, 100):
        wanted = np.array([nearest_rank(value, percent) for value in values])
        assert (abs(durations.quantile(found, percent) - wanted) <= stated * wanted + 0.5).all()
    assert durations.quantile(found, 50)[3:6].tolist() == [123_456_789, 3_333_333, 0]
    assert coarser > 0 or durations.quantile(found, 50)[6] == nearest_rank(values[6], 50)


def test_a_duration_beyond_all_bins_counts_in_the_last() -> None:
    bins = binned(np.array([5, 2**62]), np.array([0, 0]))
    assert bins.calls.tolist() == [1, 1]
    assert durations.quantile(bins, 100)[0] > 2**50


def calls(times_us: list[int]) -> Program:
    program = Program()
    start_ns = 0
    for time_us in times_us:
        program.run(op("mm", start_ns, start_ns + time_us * 1000))
        start_ns += time_us * 1000
    return program


def found(program: Program, folder: Path, **options: str) -> Hotspots:
    return hotspots(link(program.recording(folder)), **options)


@pytest.mark.parametrize(
    ("times_us", "long_calls"),
    [
        ([10] * 39 + [200], 1),
        ([10] * 39 + [100], 0),  # a fifth of the sum: not misleading
        ([500] + [10] * 9, 1),  # a first call
        ([10] * 100 + [100] * 12, 0),  # more than one in ten is not few
        ([10] * 100 + [100] * 11, 11),
        ([10] * 20 + [100] * 20, 0),  # two kinds of calls
        ([10] * 21 + [100] * 19, 0),
        ([10, 10, 10, 500], 0),  # too few to decide
        ([10, 11, 12, 500, 400], 2),
        ([0] * 20 + [1], 1),
    ],
)
def test_a_few_long_calls_make_the_sum_misleading(
    tmp_path: Path, times_us: list[int], long_calls: int
) -> None:
    rows = found(calls(times_us), tmp_path).rows
    assert rows.long_calls.tolist() == [long_calls]
    assert rows.median_ns.tolist() == [sorted(times_us)[(len(times_us) - 1) // 2] * 1000]


@pytest.mark.parametrize(
    ("times_us", "waited_us", "long_calls"),
    [
        ([8] * 26 + [4000] * 14, None, 14),  # a third was pre-empted, as on a busy machine
        ([8] * 26 + [4000] * 14, 30_000, 14),
        ([8] * 26 + [4000] * 14, 10, 0),  # no thread waited for a processor, so the calls took that long
        ([8] * 26 + [600] * 14, None, 0),  # less than the time slice of another thread
        ([8] * 19 + [4000] * 21, None, 21),  # then the median is one of them
        ([8] * 9 + [4000] * 31, None, 0),  # nearly all were pre-empted
    ],
)
def test_many_long_calls_mislead_only_if_threads_waited(
    tmp_path: Path, times_us: list[int], waited_us: int | None, long_calls: int
) -> None:
    program = calls(times_us)
    program.meta |= {"start": {"monotonic_ns": 0}, "stop": {"monotonic_ns": sum(times_us) * 1000}}
    if waited_us is not None:
        program.meta["processors"] = {"waited_ns": waited_us * 1000}
    rows = found(program, tmp_path).rows
    assert rows.long_calls.tolist() == [long_calls]
    usual_us = sum(times_us) if long_calls == 0 else 8 * len(times_us)
    assert rows.typical_ns.tolist() == [usual_us * 1000]


@pytest.mark.parametrize(("waited_us", "long_calls"), [(30_000, 1), (10, 0)])
def test_a_turn_of_another_thread_is_an_outlier_beside_many_slower_calls(
    waited_us: int, long_calls: int, tmp_path: Path
) -> None:
    """19 of 160 calls are slower, as with a cold cache: too many for outliers, and they are none."""
    times_us = [2] * 140 + [30] * 19 + [12_000]
    program = calls(times_us)
    program.meta |= {"start": {"monotonic_ns": 0}, "stop": {"monotonic_ns": sum(times_us) * 1000}}
    program.meta["processors"] = {"waited_ns": waited_us * 1000}
    rows = found(program, tmp_path).rows
    assert rows.long_calls.tolist() == [long_calls]
    assert rows.typical_ns.tolist() == [(sum(times_us) - long_calls * (12_000 - 2)) * 1000]


def test_rows_of_two_calls_are_corrected_like_the_others(tmp_path: Path) -> None:
    """Two calls are too few to decide: the same part of their time is kept as of the others."""
    program = calls([8] * 26 + [4000] * 14)
    at_ns = (8 * 26 + 4000 * 14) * 1000
    program.run(op("qr", at_ns, at_ns + 5_000_000), op("qr", at_ns + 5_000_000, at_ns + 10_000_000))
    for waited_ns, kept in ((None, 1), (at_ns, 40 * 8 / (8 * 26 + 4000 * 14)), (0, 1)):
        program.meta |= {"start": {"monotonic_ns": 0}, "stop": {"monotonic_ns": at_ns}}
        program.meta |= {} if waited_ns is None else {"processors": {"waited_ns": waited_ns}}
        rows = found(program, tmp_path).rows
        qr = rows.take(rows.calls == 2)
        assert qr.typical_ns.tolist() == pytest.approx([10_000_000 * kept], abs=1)
        assert qr.long_calls.tolist() == [0]


def test_misleading_calls_do_not_affect_the_ranking(tmp_path: Path) -> None:
    program = Program()
    sqrt, mm = program.stack("a.py:5 f"), program.stack("a.py:6 f")
    start_ns = 0
    for at in range(40):
        sqrt_ns = 4_000_000 if at % 3 == 1 else 8000
        program.run(op("sqrt", start_ns, start_ns + sqrt_ns, stack=sqrt))
        program.run(op("mm", start_ns + sqrt_ns, start_ns + sqrt_ns + 900_000, stack=mm))
        start_ns += sqrt_ns + 900_000
    trace = link(program.recording(tmp_path))
    spots, lines = find(trace, Hotspots)[Hotspots], find(trace, HotLines)[HotLines]
    names = [trace.recording[Strings][name] for name in spots.rows.name.tolist()]
    assert names == ["mm", "sqrt"]
    assert spots.rows.self_ns.tolist() == [36_000_000, 13 * 4_000_000 + 27 * 8000]
    assert [trace.line(frame).line for frame in lines.frame.tolist()] == [6, 5]  # type: ignore[union-attr]
    assert lines.typical_ns.tolist() == spots.rows.typical_ns.tolist() == [36_000_000, 40 * 8000]


def test_durations_are_merged_for_modules_and_regrouped_rows(tmp_path: Path) -> None:
    program = Program()
    net = program.module("", "Net")
    layers = [program.module(name, "Layer", net) for name in "ab"]
    stacks = [program.stack("a.py:5 f", ("b.py:6 call", layer)) for layer in layers]
    stacks.append(program.stack("a.py:5 f", ("b.py:9 call", layers[0])))
    for at in range(99):
        program.run(op("mm", 1000 * at, 1000 * at + at, stack=stacks[at % 3]))
    assert sorted(found(program, tmp_path).rows.median_ns.tolist()) == [49 - 1, 50]
    for group in ("op", "signature"):
        rows = found(program, tmp_path, group=group).rows
        assert (rows.median_ns.tolist(), rows.p95_ns.tolist()) == ([49], [94])


@pytest.mark.parametrize("batch_rows", [7, 100_000])
def test_too_many_bins_are_widened_and_the_error_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr(storage, "BATCH_ROWS", batch_rows)
    monkeypatch.setattr(durations, "MOST_BINS", 40)
    monkeypatch.setattr(gather, "MOST_GROUPS", 10)
    rng = np.random.default_rng(2)
    times_us = rng.integers(1_000, 4_000, 500).tolist()
    spots = found(calls(times_us), tmp_path)
    error = spots.rows.quantile_error_ppm[0] / 1e6
    assert 1 / 64 < error <= 1 / 8
    wanted = np.sort(times_us)[249] * 1000
    assert spots.rows.median_ns.tolist() == pytest.approx([wanted], rel=error)


def test_rows_are_ranked_by_cpu_time_if_threads_waited(tmp_path: Path) -> None:
    """All calls of `fill_` wait at a barrier for a time slice, so no call is undisturbed."""
    program = Program()
    start_ns = 0
    for _ in range(40):
        program.run(op("fill_", start_ns, start_ns + 4_000_000, cpu_ns=20_000))
        program.run(op("mm", start_ns + 4_000_000, start_ns + 5_000_000, cpu_ns=900_000))
        start_ns += 5_000_000
    for waited_ns, names in ((0, ["fill_", "mm"]), (start_ns, ["mm", "fill_"])):
        program.meta |= {"start": {"monotonic_ns": 0}, "stop": {"monotonic_ns": start_ns}}
        program.meta |= {"processors": {"waited_ns": waited_ns}, "recording": {"cpu_time": "all"}}
        spots = found(program, tmp_path)
        strings = program.recording(tmp_path)[Strings]
        assert [strings[name] for name in spots.rows.name.tolist()] == names
    assert spots.rows.typical_ns.tolist() == [36_000_000, 800_000]
