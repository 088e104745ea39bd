"""What a run of a program computed, and whether another one computed the same."""

from __future__ import annotations

import math
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfprobe.support import units
from perfprobe.support.frozen import frozen
from perfprobe.tables.recording import Recording

CLOSE = 1e-5  # relative: what another order of additions may do
_AT_FIRST, _LATER = 10, 1e-3  # after so many steps, rounding may have grown to this
_BESIDE = 0.01  # of printed numbers, such as an accuracy, where the values of steps are close
_WORDS, _CONTENT = "words ", "content "  # before hashes
_LARGEST_TEXT_BYTES = 4 << 20
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)(?![\w])")
_BATCHES = "first batches"


@frozen(kw_only=True)
class Computed:
    """What a run computed.

    Attributes:
        roots, outputs: values that backward() started from, and of what models in eval() returned; in order.
        batches, samples: that the program's loaders gave.
        first: hashes of the first batches.
        printed: numbers on standard output, as text.
        written: of each file that was made or changed its numbers if it is text, else its size and hash.
    """

    roots: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    batches: int = 0
    samples: int = 0
    first: tuple[int, ...] = ()
    printed: tuple[str, ...] = ()
    written: Mapping[str, tuple[str, ...]]

    def series(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """All values by what they are called."""
        yield "loss", self.roots
        yield "output in eval()", self.outputs
        yield "printed", self.printed
        for name, values in sorted(self.written.items()):
            yield f"in {name}", values


def computed(recording: Recording, printed: str, written: Mapping[str, tuple[str, ...]]) -> Computed:
    """Reads what was recorded with --results. printed: the file with the program's standard output."""
    found = recording.fact("results")
    facts: dict[str, Any] = found if isinstance(found, dict) else {}
    return Computed(
        roots=tuple(facts.get("roots", ())),
        outputs=tuple(facts.get("outputs", ())),
        batches=facts.get("batches", 0),
        samples=facts.get("samples", 0),
        first=tuple(facts.get("first_batches", ())),
        printed=values_of(printed),
        written=written,
    )


def values_of(path: str) -> tuple[str, ...]:
    """The numbers in a text, and a hash of its words; of another file, or a long one, its size and hash."""
    with open(path, "rb") as file:
        content = file.read(_LARGEST_TEXT_BYTES + 1)
        try:
            if len(content) > _LARGEST_TEXT_BYTES or b"\0" in content:
                raise ValueError
            text = content.decode()
        except ValueError:
            hashed = zlib.crc32(content)
            while part := file.read(1 << 20):
                hashed = zlib.crc32(part, hashed)
            return f"{os.path.getsize(path)} bytes", f"{_CONTENT}{hashed:08x}"
    numbers, words = _NUMBER.findall(text), _NUMBER.sub("", text).encode()
    return (*numbers, f"{_WORDS}{zlib.crc32(words):08x}") if text.strip() else ()


@frozen(kw_only=True)
class Difference:
    """Where two runs differ. at: index in the series; -1 if their lengths differ. error: relative."""

    what: str
    at: int
    before: str
    after: str
    error: float

    @property
    def text(self) -> str:
        """In words: `loss 0.41 against 0.36 at step 40`."""
        where = f" at step {self.at}" if self.what == "loss" and self.at >= 0 else ""
        if self.after.startswith((_WORDS, _CONTENT)):
            return f"other {_short(self.after)} {self.what}"
        return f"{self.what} {_short(self.after)} against {_short(self.before)}{where}"


def _short(value: str) -> str:
    if value.startswith((_WORDS, _CONTENT)):
        return value.split(maxsplit=1)[0]
    number = _number(value)
    return value if number is None or len(value) <= 8 else units.significant(number, 6)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def error_between(before: str, after: str) -> float:
    """Relative; 0 for the same text, infinite where one is no number."""
    if before == after:
        return 0.0
    a, b = _number(before), _number(after)
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(b - a) / max(abs(a), abs(b)) if a != b else 0.0


def differences(before: Computed, after: Computed, *, is_cut: bool) -> list[Difference]:
    """All places where two runs differ.

    is_cut: whether perfprobe ended them after some steps: one may have begun another step by then.
    """
    found = []
    others = dict(after.series())
    for what, values in before.series():
        other = others.pop(what, None)
        if other is None:
            found.append(Difference(what=what, at=-1, before="a file", after="none", error=math.inf))
        else:
            found += _in_series(what, values, other, is_cut and what in ("loss", "output in eval()"))
    found += [Difference(what=what, at=-1, before="none", after="a file", error=math.inf) for what in others]
    if before.first != after.first:
        found.append(Difference(what=_BATCHES, at=-1, before="these", after="others", error=math.inf))
    if not is_cut and before.samples != after.samples:
        counts = f"{before.samples:,}", f"{after.samples:,}"
        found.append(Difference(what="samples", at=-1, before=counts[0], after=counts[1], error=math.inf))
    return found


def _in_series(what: str, before: Sequence[str], after: Sequence[str], is_cut: bool) -> Iterator[Difference]:
    if abs(len(before) - len(after)) > (1 if is_cut else 0):
        counts = f"{len(before):,} values", f"{len(after):,}"
        yield Difference(what=what, at=-1, before=counts[0], after=counts[1], error=math.inf)
    for at, (a, b) in enumerate(zip(before, after)):  # noqa: B905 (one may be longer)
        error = error_between(a, b)
        if error:
            yield Difference(what=what, at=at, before=a, after=b, error=error)


@frozen(kw_only=True)
class Itself:
    """How far runs of the unchanged program differ from each other: the floor.

    Attributes:
        runs: what each computed.
        free: places that are left out because they differ: times that are printed, files with dates.
        worst: the largest difference of a loss or an output; None if they are the same.
        is_cut: see `differences`.
    """

    runs: tuple[Computed, ...]
    free: frozenset[tuple[str, int]]
    worst: Difference | None
    is_cut: bool

    @property
    def compared(self) -> str:
        """What is compared, in words; "" for nothing."""
        first = self.runs[0]
        counts = [(_numbers(values), what) for what, values in list(first.series())[:3]]
        names = {"loss": "loss", "output in eval()": "output in eval()", "printed": "printed number"}
        parts = [_counted(count, names[what]) for count, what in counts if count]
        if first.printed and not _numbers(first.printed):
            parts.append("printed words")
        files = len(first.written)
        return ", ".join([*parts, *([_counted(files, "file")] if files else [])])

    @property
    def text(self) -> str:
        """Whether it does the same again."""
        if not self.compared:
            return "nothing to compare: no backward(), no model in eval(), no number printed, no file"
        if self.worst is not None:
            return f"differs from itself by {_percent(self.worst.error)}: {self.worst.text}"
        left_out = _counted(len(self.free), "place") if self.free else ""
        return f"repeats itself: {self.compared}{f', {left_out} left out' if left_out else ''}"


def _numbers(values: Sequence[str]) -> int:
    return sum(not each.startswith(_WORDS) for each in values)


def _counted(count: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    head, bracket, tail = what.partition(" in ")
    return f"{count:,} {head}{'' if count == 1 else plural}{bracket}{tail}"


def _percent(error: float) -> str:
    return "all of it" if math.isinf(error) else f"{units.significant(error * 100, 2)} %"


_VALUES = ("loss", "output in eval()")


def itself(runs: Sequence[Computed], *, is_cut: bool) -> Itself:
    """Compares runs of the unchanged program with the first of them."""
    found = [each for run in runs[1:] for each in differences(runs[0], run, is_cut=is_cut)]
    values = [each for each in found if each.what in _VALUES or each.what in ("samples", _BATCHES)]
    free = frozenset((each.what, each.at) for each in found if each not in values)
    worst = max(values, key=lambda each: each.error, default=None)
    return Itself(runs=tuple(runs), free=free, worst=worst, is_cut=is_cut)


@frozen
class Checked:
    """Whether a changed program computes the same. is_known: whether that can be said; text: in words."""

    is_same: bool
    is_known: bool
    text: str

    @property
    def differs(self) -> bool:
        """Whether it certainly computes something else."""
        return self.is_known and not self.is_same


def check(floor: Itself, run: Computed, budget: float, name: str, *, redraws: bool = False) -> Checked:
    """Compares a run of the changed program.

    Args:
        budget: the largest relative difference that the change may make; 0: none.
        name: what has this budget: "bf16".
        redraws: whether other processes make the batches, which draw other random numbers.
    """
    if not floor.compared:
        return Checked(False, False, f"cannot be checked: {floor.text}")
    worst = floor.worst
    if worst is not None and (worst.error > budget or worst.at < 0):
        return Checked(False, False, f"cannot be checked: it {floor.text}")
    free = {what for what, at in floor.free if at < 0}
    found = [
        each
        for each in differences(floor.runs[0], run, is_cut=floor.is_cut)
        if (each.what, each.at) not in floor.free and each.what not in free
    ]
    broken = [each for each in found if each.error > _allowed(each, budget)]
    is_redrawn = redraws and any(each.what == _BATCHES for each in broken)
    if is_redrawn and not any(each.at < 0 and each.what != _BATCHES for each in broken):
        return Checked(False, False, "cannot be checked: the workers draw other random numbers")
    if broken:
        # That there are fewer says more than where one differs, and a loss more than what is printed.
        first = min(broken, key=lambda each: (each.what not in _VALUES, each.at >= 0))
        others = ", on other batches" if any(each.what == _BATCHES for each in broken) else ""
        return Checked(False, True, f"differs: {first.text}{others if first.what in _VALUES else ''}")
    return Checked(True, True, _agreement([each for each in found if each.what in _VALUES], budget, name))


def _allowed(found: Difference, budget: float) -> float:
    if budget == 0:
        return 0.0
    if found.what not in _VALUES:
        # Weights in a file change with any rounding; their number and size must not.
        return math.inf if found.before.startswith(_CONTENT) else max(_BESIDE, budget)
    return budget if found.at < _AT_FIRST else max(budget, _LATER)


def _agreement(found: Sequence[Difference], budget: float, name: str) -> str:
    if not found:
        return "same bits"
    worst = max(found, key=lambda each: each.error)
    if worst.error <= CLOSE:
        return "within 1e-5"
    if budget <= CLOSE:
        return f"within 1e-5 at first, {units.significant(worst.error, 1)} at step {worst.at}"
    return f"within {name}'s budget"
