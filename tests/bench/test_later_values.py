"""Combined digests of tensors that were read in several calls, with means counted by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfprobe.bench.later_values import values_of
from perfprobe.tables import storage
from tests.build import Program
from tests.encoding import table_block


def values(folder: Path, *later: Any) -> str:
    made = Program()
    signature, other = made.signature("f32[8] i64[8]"), made.signature("f32[9]")
    texts = [one if isinstance(one, str) else json.dumps(one) for one in later]
    rows = {
        "signature": [signature] * len(later) + [other],
        "values": [*map(made.string, texts), made.string('[{"zeros": 0.9}]')],
    }
    path = folder / "made.perfprobe"
    path.write_bytes(made.encode() + table_block("signature_values", rows))
    return values_of(storage.read(path), signature)


def test_parts_are_means_and_extremes_are_over_all_calls(tmp_path: Path) -> None:
    found = values(
        tmp_path,
        [{"zeros": 0.5, "changes": 0.1}, {"lowest": 3, "highest": 9, "distinct": 1.0}],
        [{"zeros": 0.0, "changes": 0.0}, {"lowest": 1, "highest": 5, "distinct": 0.5}],
    )
    assert json.loads(found) == [
        {"zeros": 0.25, "changes": 0.05},
        {"lowest": 1, "highest": 9, "distinct": 0.75},
    ]


def test_quantiles_are_means_over_calls_that_have_them(tmp_path: Path) -> None:
    """At first an optimizer's state has none."""
    calls = [[{"zeros": 1.0, "quantiles": []}], *([{"zeros": 0.0, "quantiles": [low, 4]}] for low in (1, 2))]
    (found,) = json.loads(values(tmp_path, *calls))
    assert found == {"zeros": pytest.approx(1 / 3), "quantiles": [1.5, 4]}
    (odd,) = json.loads(
        values(tmp_path, [{"zeros": 0, "quantiles": [1]}], [{"zeros": 0, "quantiles": [1, 2]}])
    )
    assert odd == {"zeros": 0}


def test_later_values_take_precedence(tmp_path: Path) -> None:
    later = [[{"zeros": part}] for part in (1.0, 1.0, 1.0, *[0.25] * 8)]
    assert json.loads(values(tmp_path, *later)) == [{"zeros": 0.25}]


def test_without_later_values_the_first_are_used(tmp_path: Path) -> None:
    assert values(tmp_path) == ""


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ([None], [None]),
        ([{"true": 0.5}], [None]),
        ([{"zeros": "many"}], [None]),
        ([{"zeros": True}], [None]),
        ([{"zeros": 10**400}], [None]),
        ("[{", [{"zeros": 0.5}]),
        ("[" * 100_000, [{"zeros": 0.5}]),
        ("7", [{"zeros": 0.5}]),
    ],
)
def test_invalid_digests_are_ignored(odd: Any, expected: Any, tmp_path: Path) -> None:
    good = [{"zeros": 0.5}]
    assert json.loads(values(tmp_path, good, odd, good)) == expected
