"""Whether a verdict counts as expected, with measurements by hand."""

import pytest

from benchmarks.expected.expectation import COMPUTE, MEMORY, SLOW, Expected
from benchmarks.judgements import wrong
from perfprobe.tables.measurements import Bound, Counterfactual, Estimate, Measurement, Verdict, Wanted
from tests.snapshots import Snapshot


def expected(
    kinds: tuple[str, ...],
    modifiers: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    measured: tuple[str, ...] = (),
) -> Expected:
    inputs = "f32[2,2] f32[2,2]"
    return Expected("it", "aten::mm", inputs, kinds, "", modifiers=modifiers, never=never, measured=measured)


def measurement(kind: str, *modifiers: str, high: float = 0.5, changed: tuple[str, ...] = ()) -> Measurement:
    return Measurement(
        Wanted("aten::mm", ""),
        "cpu",
        "cpu",
        bounds=(Bound("memory", Estimate(0.3, 0.2, high), "copy_"), Bound("overhead", Estimate(1, 1, 1), "")),
        counterfactuals=tuple(Counterfactual(name, "", Estimate(2, 2, 2)) for name in changed),
        verdict=Verdict(kind, f"{kind}: 30 %", modifiers),
    )


def test_an_expected_kind_is_right() -> None:
    assert wrong(expected((COMPUTE, MEMORY)), measurement(MEMORY)) is None
    assert wrong(expected(()), measurement("anything")) is None


def test_another_kind_is_wrong() -> None:
    assert wrong(expected((COMPUTE,)), measurement(MEMORY)) == "memory-bound: 30 %"


@pytest.mark.parametrize(("high", "right"), [(0.5, True), (0.7, False)])
def test_ambiguous_counts_as_slow_if_entirely_below(high: float, right: bool) -> None:
    assert (wrong(expected(SLOW), measurement("ambiguous", high=high)) is None) == right
    assert wrong(expected((MEMORY,)), measurement("ambiguous", high=high)) is not None


def test_required_and_forbidden_modifiers(snapshot: Snapshot) -> None:
    serial = ("poorly parallel", "serial kernel")
    assert wrong(expected((), modifiers=serial), measurement(MEMORY, "serial kernel")) is None
    missing = wrong(expected((), modifiers=serial), measurement(MEMORY))
    said = "poorly parallel: 1.03x on 2 threads"
    assert wrong(expected((), never=serial), measurement(MEMORY, said)) == said
    snapshot(missing or "")


def test_a_missing_counterfactual_is_wrong(snapshot: Snapshot) -> None:
    padded = expected((), never=("shape-bound",), measured=("padded",))
    assert wrong(padded, measurement(MEMORY, changed=("padded",))) is None
    snapshot(wrong(padded, measurement(MEMORY)) or "")


def test_unmeasured_calls_are_wrong() -> None:
    call = Measurement(Wanted("aten::mm", ""), "cpu", "cpu", not_rebuilt="unknown")
    assert wrong(expected(()), call) == "unknown"
