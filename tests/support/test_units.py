import math

import pytest

from perfprobe.support import units


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
        (0, "0 ns"),
        (1, "1 ns"),
        (999, "999 ns"),
        (999.7, "1.00 us"),
        (1_000, "1.00 us"),
        (1_236, "1.24 us"),
        (99_960, "100 us"),
        (999_499, "999 us"),
        (999_500, "1.00 ms"),
        (12_345_678, "12.3 ms"),
        (1_500_000_000, "1.50 s"),
        (599_000_000_000, "599 s"),
        (600_000_000_000, "10 min 00 s"),
        (3_599_600_000_000, "1 h 00 min"),
        (7_380_000_000_000, "2 h 03 min"),
        (-1_236, "-1.24 us"),
    ],
)
def test_durations_are_formatted(time_ns: float | None, text: str) -> None:
    assert units.duration(time_ns) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (None, "-"),
        (0.0, "0.0 %"),
        (0.0004, "<0.1 %"),
        (0.0005, "0.1 %"),
        (0.1234, "12.3 %"),
        (0.9996, "100 %"),
        (1.0, "100 %"),
        (1.31, "131 %"),
        (-0.02, "-2.0 %"),
    ],
)
def test_percentages_are_formatted(fraction: float | None, text: str) -> None:
    assert units.percent(fraction) == text


def test_counts_are_formatted() -> None:
    assert units.count(None) == "-"
    assert units.count(1234567) == "1,234,567"


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "0.98 KiB"),
        (1536, "1.50 KiB"),
        (32 << 20, "32.0 MiB"),
        (1 << 50, "1024 TiB"),
    ],
)
def test_sizes_are_formatted(size_bytes: float | None, text: str) -> None:
    assert units.size(size_bytes) == text


@pytest.mark.parametrize(
    ("time_ns", "text"), [(0, "<25 ns"), (24, "<25 ns"), (25, "25 ns"), (None, "-"), (-40, "-40 ns")]
)
def test_durations_below_the_measurement_floor_are_marked(time_ns: float | None, text: str) -> None:
    assert units.duration(time_ns, 25) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("1.20 ms", "1.31 ms", "1.20-1.31 ms"),
        ("980 us", "1.02 ms", "980 us-1.02 ms"),
        ("856", "871", "856-871"),
        ("-", "-", "-"),
    ],
)
def test_intervals_name_a_common_unit_once(low: str, high: str, text: str) -> None:
    assert units.interval(low, high) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"),
        (0, "0"),
        (7, "7"),
        (3.333, "3.33"),
        (999.6, "1.00 k"),
        (1_070_000_000, "1.07 G"),
        (2**63, "9.22 E"),
    ],
)
def test_amounts_are_formatted(number: float | None, text: str) -> None:
    assert units.amount(number) == text


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (None, ["-", "-", "-"]),
        (math.nan, ["-", "-", "-"]),
        (16, ["16", "16.0", "16.00"]),
        (2.5, ["2.5", "2.5", "2.50"]),
        (1234.567, ["1234.57", "1234.6", "1,234.57"]),
    ],
)
def test_numbers_have_as_many_decimals_as_their_kind(number: float | None, texts: list[str]) -> None:
    assert [units.plain(number), units.tenths(number), units.hundredths(number)] == texts


def test_significant_digits_count_from_the_first_that_is_not_0() -> None:
    assert [units.significant(each, 2) for each in (0.0834, 1.5, 1.0, 12.6)] == ["0.083", "1.5", "1", "13"]


def test_percentages_without_unit() -> None:
    assert [units.whole_percent(each) for each in (0.0, 0.126, 1.0)] == ["0", "13", "100"]
    assert [units.change(each) for each in (-0.0127, 0.0, 0.5)] == ["-1.3", "+0.0", "+50.0"]
    assert [units.signed(each) for each in (0.9266, 0.0994, -0.012)] == ["+93 %", "+9.9 %", "-1.2 %"]
