"""Which texts of each kind of row a focus pattern searches, with rows that differ in only one of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.models import focus
from perfprobe.models.focus import SOUGHT, Focus
from perfprobe.support.errors import UsageError
from perfprobe.tables.between import Intervals
from perfprobe.tables.columns import Table
from perfprobe.tables.critical import CriticalRows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Sums
from perfprobe.tables.gpu import CopyKind
from perfprobe.tables.gpu_findings import CopyRows, KernelRows, WaitRows
from perfprobe.tables.idle import IdleRows
from perfprobe.tables.launch_times import LaunchedRows
from perfprobe.tables.python import Code, FunctionCalls, FunctionRows
from perfprobe.tables.ranges import RangeRows
from perfprobe.tables.sequences import SequenceRows
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase, Trace
from tests.build import Program
from tests.report.calling import table

FAR = "meant"
# What the columns of each kind of row say about the ids of `Made`.
LINE, STRING = f"/p/{FAR}.py:7 in run", FAR
SITE = {"frame": LINE, "forward_frame": LINE, "phase": "backward"}
OPERATOR = {"name": STRING, "overload": f".{FAR}", "signature": FAR, "module": FAR, **SITE}
TEXTS: Mapping[type[Table], Mapping[str, str]] = {
    LinkedOperators: OPERATOR,
    Sums: OPERATOR,
    KernelRows: {"name": STRING, "operator": STRING, "signature": FAR, "module": FAR, **SITE},
    CopyRows: {"kind": "to GPU", "operator": STRING, **SITE},
    WaitRows: {"call": STRING, "operator": STRING, **SITE},
    IdleRows: {"call": STRING, "operator": STRING, **SITE},
    LaunchedRows: {"operator": STRING, **SITE},
    SequenceRows: {"module": FAR, **SITE},
    CriticalRows: {"name": STRING, "operator": STRING, **SITE},
    FunctionRows: {"code": LINE},
    FunctionCalls: {"caller": LINE, "callee": LINE},
    Intervals: {"frame": LINE, "to_frame": LINE, "caller": LINE},
    RangeRows: {"name": STRING, "domain": STRING},
}
IDS = {"kind": CopyKind.HOST_TO_DEVICE, "phase": Phase.BACKWARD}


@dataclass
class Made:
    """A trace in which one id of each kind has the text and the others have another."""

    trace: Trace
    code: Code
    ids: dict[str, int]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    program = Program()
    root = program.module("", "Net")
    for name in ("other", FAR):
        module = program.module(name, "Linear", root)
        program.stack((f"/p/{name}.py:7 run", module))
        program.signature(name)
    trace = link(program.recording(tmp_path))
    strings, file, run = trace.recording[Strings], program.string(f"/p/{FAR}.py"), program.string("run")
    code = [{"file": -1, "function": run}, {"file": file, "function": run, "first_line": 7}]
    string = strings.text.tolist().index(FAR)
    module = list(trace.module_texts).index(FAR)
    lines = [trace.line(at) for at in range(len(trace.recording[Frames]))]
    frame = lines.index(Line(f"/p/{FAR}.py", 7, "run"))
    ids = dict.fromkeys(("name", "overload", "operator", "call", "domain"), string)
    ids |= {"signature": 1, "module": module, "frame": frame, "forward_frame": frame}
    ids |= dict.fromkeys(("code", "caller", "callee"), 1)
    return Made(trace, table(Code, code), {**ids, **IDS})


def differing(kind: type[Table], ids: Mapping[str, int]) -> tuple[list[str], Table]:
    """For each column a row that has the id only there, and a last row without it."""
    names = [name for name in kind.dtypes if name in ids]
    plain = {"phase": int(Phase.FORWARD)} if "phase" in kind.dtypes else {}
    plain |= {"kind": 77} if "kind" in kind.dtypes else {}
    return names, table(kind, [*({**plain, name: ids[name]} for name in names), plain])


@pytest.mark.parametrize("kind", SOUGHT, ids=lambda kind: str(kind.__name__))
def test_a_pattern_searches_exactly_these_texts(kind: type[Table], made: Made) -> None:
    names, rows = differing(kind, made.ids)
    for text in {text for texts in TEXTS.values() for text in texts.values()}:
        found = Focus(made.trace, f"^{re.escape(text)}$", made.code).matching(rows)
        assert found.tolist() == [*(TEXTS[kind].get(name) == text for name in names), False], text
    others = {KernelRows: {"overload"}, WaitRows: {"kind"}, RangeRows: {"kind"}}
    assert set(names) - set(TEXTS[kind]) == others.get(kind, set())


def test_every_kind_of_row_is_tested() -> None:
    assert set(TEXTS) == set(SOUGHT)


def test_an_empty_pattern_does_not_match_missing_texts(made: Made) -> None:
    for kind in (RangeRows, FunctionCalls, FunctionRows):
        assert Focus(made.trace, "", made.code).matching(table(kind, [{}])).tolist() == [False]


@pytest.mark.parametrize(("kind", "text"), [(1, "to GPU"), (77, "unknown"), (100, "fill"), (-1, "unknown")])
def test_copies_of_any_kind_have_a_direction(kind: int, text: str, made: Made) -> None:
    rows = table(CopyRows, [{"kind": kind, "phase": 0}])
    assert [bool(Focus(made.trace, each).matching(rows)) for each in (f"^{text}$", "^on host$")] == [
        True,
        False,
    ]


def test_each_text_is_searched_once(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: Counter[str] = Counter()

    class Counting:
        def search(self, text: str) -> None:
            looked[text] += 1

    monkeypatch.setattr(focus, "compiled", lambda _: Counting())
    meant = Focus(made.trace, "x", made.code)
    for kind in (KernelRows, WaitRows, FunctionCalls):
        _, rows = differing(kind, made.ids)
        for batch in (rows.take(slice(2)), rows):
            assert not meant.matching(batch).any()
    assert looked.pop(STRING) == 3  # a string, a signature and a module
    assert set(looked) >= {LINE, "backward", "bwd", "forward", "fwd"}
    assert max(Counter({text: count for text, count in looked.items() if text != LINE}).values()) == 1
    assert looked[LINE] == 2  # a line and a function


def test_unused_texts_are_not_searched(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def search(self, text: str) -> None:
            raise AssertionError(text)

    monkeypatch.setattr(focus, "compiled", lambda _: Refusing())
    assert not Focus(made.trace, "x").matching(table(RangeRows, [{}, {}])).any()


def test_an_invalid_pattern_is_refused(made: Made) -> None:
    with pytest.raises(UsageError):
        Focus(made.trace, "(")
