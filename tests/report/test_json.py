import json
from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.models import work
from perfprobe.report.render.json import Document, document, listed, written
from perfprobe.report.rows.operators import RECORDED, OperatorRow, RangeRow
from perfprobe.report.rows.totals import TotalsRow
from perfprobe.support.errors import UsageError
from perfprobe.support.option import JSON
from perfprobe.support.view import View
from perfprobe.tables.findings import Findings, Hotspots
from tests.build import Program, op
from tests.found import find
from tests.report.declared import fields_of, known
from tests.report.test_text import META, layered, training
from tests.report.test_text import findings as text_findings

DURATIONS = ("self_ns", "typical_ns", "total_ns", "mean_ns", "median_ns", "usual_ns", "p95_ns")

# What is known of each row. Its other fields are null.
BACKWARD_ROW: dict[str, Any] = {
    "operator": "aten::bmm",
    "signature": "f32[64,128] f32[64,128]{1,64}",
    "file": "/p/model.py",
    "line": 88,
    "function": "attention",
    "forward_file": "/p/model.py",
    "forward_line": 88,
    "forward_function": "attention",
    "module": "encoder.attn",
    "modules": [{"module": "encoder.attn", "calls": 1, "self_ns": 300_000}],
    "phase": "backward",
    "calls": 1,
    **dict.fromkeys(DURATIONS, 300_000),
    "long_calls": 0,
    "quantile_error": 1 / 64,
    "operators": 1,
    "signatures": 1,
    "lines": 1,
    "forward_ns": 0,
    "backward_ns": 300_000,
    "recompute_ns": 0,
    "share": 0.3,
}
RANGE_ROW: dict[str, Any] = {
    "name": "enumerate(DataLoader)",
    "file": "/p/train.py",
    "line": 20,
    "function": "main",
    "modules": [],
    "phase": "other",
    "calls": 1,
    **dict.fromkeys(DURATIONS, 100_000),
    "long_calls": 0,
    "quantile_error": 1 / 64,
}


TOTALS: dict[str, Any] = {
    "wall_ns": 2_000_000,
    "cpu_ns": 3_000_000,
    "complete": True,
    "operators": 5,
    "threads": 1,
    "self_ns": 1_000_000,
    "busiest_ns": 1_000_000,
    "backward_ns": 400_000,
    "linked_ns": 390_000,
    "last_end_ns": 1_100_000,
    "cpu_timed": 0,
}


def findings(program: Program, folder: Path) -> Findings:
    return text_findings(program.recording(folder))


def test_written_row_by_row_it_is_the_text_of_json_dumps(tmp_path: Path) -> None:
    program = training()
    program.meta["note"] = 'a "name"\n[of two lines]'
    found = findings(program, tmp_path)
    for each in (written(found), Document({"schema": 1}, {}), Document({"meta": {}}, {"a": [], "b": []})):
        assert "".join(each.pieces()) == json.dumps(each.plain(), indent=1)
    calls = {"tables": {"calls": [1]}}
    plain = [written(found).plain(), calls]
    assert "".join(listed([written(found), calls])) == json.dumps(plain, indent=1)


def test_the_json_document(tmp_path: Path) -> None:
    program = training()
    program.losses.append(("gpu", "no driver", -1, ""))
    found = document(findings(program, tmp_path))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["schema"] == 1
    assert found["meta"] == META
    assert found["view"] == {"group": "row", "focus": None, "whole_rows": 4, "whole_ranges": 1}
    assert View().of(JSON) == {
        name: value for name, value in found["view"].items() if not name.startswith("whole_")
    }
    assert found["missing"] == [{"source": "gpu", "reason": "no driver", "count": None, "remedy": None}]
    rows = found["tables"]["hotspots"]
    assert list(rows[1]) == fields_of(OperatorRow, recorded=RECORDED)
    assert known(rows[1]) == BACKWARD_ROW
    assert (rows[2]["line"], rows[2]["forward_line"], rows[2]["overload"]) == (7, 88, "Tensor")
    assert (rows[3]["line"], rows[3]["reason"]) == (None, "AccumulateGrad: no forward line")
    assert (rows[3]["module"], rows[3]["modules"]) == (None, [])
    assert [row["operator"] for row in rows] == ["aten::bmm", "aten::bmm", "aten::mul", "aten::add_"]
    (row,) = found["tables"]["ranges"]
    assert list(row) == fields_of(RangeRow, recorded=RECORDED)
    assert known(row) == RANGE_ROW
    (totals,) = found["tables"]["totals"]
    assert list(totals) == fields_of(TotalsRow)
    assert known(totals) == TOTALS


def test_top_and_sort_of_json(tmp_path: Path) -> None:
    found = findings(training(), tmp_path)
    assert len(document(found, top=2)["tables"]["hotspots"]) == 2
    assert len(document(found, top=0)["tables"]["hotspots"]) == 4
    with pytest.raises(UsageError):
        document(found, sort="name")


def test_all_modules_of_a_row_are_named(tmp_path: Path) -> None:
    row = document(findings(layered([5, 80, 15]), tmp_path))["tables"]["hotspots"][0]
    assert row["module"] == "layers.*.fc"
    assert row["modules"] == [
        {"module": "layers.1.fc", "calls": 1, "self_ns": 80},
        {"module": "layers.2.fc", "calls": 1, "self_ns": 15},
        {"module": "layers.0.fc", "calls": 1, "self_ns": 5},
    ]


def test_the_json_of_an_empty_recording(tmp_path: Path) -> None:
    found = document(findings(Program(), tmp_path))
    assert found["tables"]["hotspots"] == []
    assert found["tables"]["totals"][0]["wall_ns"] is None


def test_tables_that_were_not_recorded_are_left_out(tmp_path: Path) -> None:
    assert document(Findings(link(Program().recording(tmp_path))))["tables"] == {}


def test_values_that_differ_in_a_group_are_null(tmp_path: Path) -> None:
    trace = link(training().recording(tmp_path))
    rows = document(find(trace, Hotspots, group="line", focus="attention"))["tables"]["hotspots"]
    assert [(row["line"], row["operators"], row["self_ns"]) for row in rows] == [
        (88, 1, 900_000),
        (7, 1, 90_000),
    ]
    differing = {
        "operator",
        "signature",
        "phase",
        "median_ns",
        "usual_ns",
        "p95_ns",
        "long_calls",
        "quantile_error",
    }
    assert not differing & set(known(rows[0]))
    assert (rows[0]["forward_ns"], rows[0]["backward_ns"], rows[0]["share"]) == (600_000, 300_000, 0.9)
    bmm = document(find(trace, Hotspots, group="op"))["tables"]["hotspots"][0]
    assert (bmm["operator"], bmm["line"], bmm["calls"], bmm["median_ns"]) == ("aten::bmm", None, 2, 300_000)


def test_recorded_figures_are_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "flops", lambda operator, signature: 7 if operator == "aten::bmm" else None)
    program = training()
    program.run(op("aten::mm", 2_000_000, 2_000_010, allocated_bytes=64, freed_bytes=0))
    trace = link(program.recording(tmp_path))
    rows = document(find(trace, Hotspots, work=True))["tables"]["hotspots"]
    found = {
        row["operator"]: [row[name] for name in ("flops", "allocated_bytes", "freed_bytes")] for row in rows
    }
    assert found["aten::bmm"] == [7, None, None]
    assert found["aten::mm"] == [None, 64, 0]
