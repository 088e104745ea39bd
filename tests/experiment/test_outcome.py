"""Whether a changed program computes the same: planted changes, and what is no change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfprobe.experiment.outcome import Computed, check, itself, values_of
from tests.snapshots import Snapshot

LOSSES = tuple(repr(1 / (1 + at)) for at in range(40))
ONE = Computed(
    roots=LOSSES,
    outputs=("3.5",),
    batches=40,
    samples=640,
    first=(1, 2, 3),
    printed=("0", "0.25", "words 1"),
    written={"log.txt": ("0.5", "words 2"), "model.pt": ("100 bytes", "content 7")},
)
SAME = itself([ONE, ONE], is_cut=False)


def scaled(factor: float, since: int = 0) -> tuple[str, ...]:
    return tuple(repr(float(each) * (factor if at >= since else 1)) for at, each in enumerate(LOSSES))


PLANTED = {
    "a seed": replace(ONE, roots=scaled(1.1), first=(4, 5, 6)),
    "a late change": replace(ONE, roots=scaled(1.01, since=30)),
    "a digit": replace(ONE, printed=("0", "0.2", "words 1")),
    "dropped samples": replace(ONE, samples=639),
    "an early end": replace(ONE, roots=LOSSES[:20]),
    "other words": replace(ONE, printed=("0", "0.25", "words 9")),
    "a number less": replace(ONE, printed=("0", "words 1")),
    "another number in a file": replace(ONE, written={**ONE.written, "log.txt": ("0.6", "words 2")}),
    "another file": replace(ONE, written={**ONE.written, "model.pt": ("101 bytes", "content 8")}),
    "other bits in a file": replace(ONE, written={**ONE.written, "model.pt": ("100 bytes", "content 8")}),
    "no file": replace(ONE, written={}),
    "a new file": replace(ONE, written={**ONE.written, "core": ()}),
    "another evaluation": replace(ONE, outputs=("3.6",)),
    "not a number": replace(ONE, roots=(*LOSSES[:39], "nan")),
}


def test_planted_changes_are_found(snapshot: Snapshot) -> None:
    said = []
    for name, other in PLANTED.items():
        found = check(SAME, other, 0.0, "")
        assert (found.is_same, found.is_known) == (False, True), name
        said.append(f"{name}: {found.text}\n")
    snapshot("".join(said))


def test_workers_that_draw_other_numbers_are_no_fault() -> None:
    """Only of a loader, and only if as many samples and losses come."""
    other = PLANTED["a seed"]
    assert not check(SAME, other, 0.0, "workers", redraws=True).is_known
    assert check(SAME, replace(other, samples=639), 0.0, "workers", redraws=True).is_known
    assert check(SAME, PLANTED["a late change"], 0.0, "workers", redraws=True).is_known


def test_what_is_the_same_is_said_so(snapshot: Snapshot) -> None:
    near, grown, far = (
        replace(ONE, roots=roots) for roots in (scaled(1 + 1e-6), scaled(1.0001, 20), scaled(1.01))
    )
    cases = [(ONE, 0.0, ""), (near, 1e-5, "fused"), (grown, 1e-5, "fused"), (far, 2e-2, "bf16")]
    found = [check(SAME, run, budget, name) for run, budget, name in cases]
    assert all(each.is_same for each in found)
    assert not any(check(SAME, run, 0.0, "").is_same for run, _, _ in cases[1:])
    assert not check(SAME, far, 1e-5, "fused").is_same
    snapshot("".join(f"{each.text}\n" for each in found))


def test_times_that_are_printed_and_files_with_dates_are_left_out() -> None:
    timed = replace(
        ONE, printed=("0", "0.26", "words 1"), written={**ONE.written, "log.txt": ("1", "2", "words 2")}
    )
    floor = itself([ONE, timed], is_cut=False)
    assert floor.worst is None
    another = replace(ONE, printed=("0", "0.7", "words 1"), written={**ONE.written, "log.txt": ()})
    assert check(floor, another, 0.0, "").is_same
    assert not check(floor, replace(another, printed=("1", "0.7", "words 1")), 0.0, "").is_same


def test_a_program_that_does_not_repeat_itself_is_told_as_such(snapshot: Snapshot) -> None:
    noisy = itself([ONE, replace(ONE, roots=scaled(1.003, since=39))], is_cut=False)
    slightly = itself([ONE, replace(ONE, roots=scaled(1 + 1e-6))], is_cut=False)
    nothing = itself([Computed(written={})] * 2, is_cut=False)
    said = [SAME.text, noisy.text, nothing.text]
    for floor, budget in ((noisy, 0.0), (noisy, 1e-5), (slightly, 0.0), (nothing, 1e-5)):
        found = check(floor, ONE, budget, "")
        assert (found.is_same, found.is_known) == (False, False)
        said.append(found.text)
    assert check(slightly, ONE, 1e-5, "fused").is_same
    snapshot("".join(f"{each}\n" for each in said))


def test_runs_that_were_cut_may_have_begun_another_step() -> None:
    floor = itself([ONE, ONE], is_cut=True)
    assert check(floor, replace(ONE, roots=LOSSES[:39], samples=624), 0.0, "").is_same
    assert not check(floor, replace(ONE, roots=LOSSES[:38]), 0.0, "").is_same


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"loss 0.25, step 3 of v2.1 in 1e-3 s\n", ("0.25", "3", "1e-3")),
        (b"x2 nan -inf -5 .5\n", ("nan", "-inf", "-5", ".5")),
        (b"", ()),
    ],
)
def test_numbers_are_read_from_texts(tmp_path: Path, content: bytes, expected: tuple[str, ...]) -> None:
    (tmp_path / "file").write_bytes(content)
    found = values_of(str(tmp_path / "file"))
    assert found[: len(expected)] == expected
    assert [each for each in found if not each.startswith("words ")] == list(expected)


def test_other_files_have_a_size_and_a_hash(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0" * 100)
    first = values_of(str(tmp_path / "file"))
    (tmp_path / "file").write_bytes(b"\0" * 99 + b"\1")
    assert first[0] == values_of(str(tmp_path / "file"))[0] == "100 bytes"
    assert first[1] != values_of(str(tmp_path / "file"))[1]
