import json
from pathlib import Path

import pytest

from perfprobe.analyse.hotspots import hotspots
from perfprobe.merge import link
from perfprobe.report.json import document
from perfprobe.support.errors import UsageError
from perfprobe.tables.findings import Findings
from tests.build import Program
from tests.report.test_text import META, training


def findings(program: Program, folder: Path) -> Findings:
    trace = link(program.recording(folder))
    return Findings(trace, hotspots(trace))


def test_a_document(tmp_path: Path) -> None:
    program = training()
    program.losses.append(("gpu", "no driver", -1, ""))
    found = document(findings(program, tmp_path))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["schema"] == 1
    assert found["meta"] == META
    assert found["losses"] == [{"source": "gpu", "reason": "no driver", "count": None, "remedy": None}]
    rows = found["tables"]["hotspots"]
    assert rows[1] == {
        "operator": "aten::bmm",
        "overload": None,
        "signature": "f32[64,128] f32[64,128]{1,64}",
        "file": "/p/model.py",
        "line": 88,
        "function": "attention",
        "forward_file": "/p/model.py",
        "forward_line": 88,
        "forward_function": "attention",
        "module": "encoder.attn",
        "phase": "backward",
        "calls": 1,
        "self_ns": 300_000,
        "total_ns": 300_000,
        "mean_ns": 300_000,
        "cpu_ns": None,
        "share": 0.3,
        "reason": None,
    }
    assert (rows[2]["share"], rows[2]["line"], rows[2]["forward_line"]) == (None, 20, None)
    assert (rows[3]["line"], rows[3]["forward_line"], rows[3]["overload"]) == (7, 88, "Tensor")
    assert (rows[4]["line"], rows[4]["reason"]) == (None, "AccumulateGrad: no forward line")
    assert found["tables"]["totals"] == [
        {
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
        }
    ]


def test_top_and_sort(tmp_path: Path) -> None:
    found = findings(training(), tmp_path)
    assert len(document(found, top=2)["tables"]["hotspots"]) == 2
    assert len(document(found, top=0)["tables"]["hotspots"]) == 5
    with pytest.raises(UsageError):
        document(found, sort="name")


def test_an_empty_recording(tmp_path: Path) -> None:
    found = document(findings(Program(), tmp_path))
    assert found["tables"]["hotspots"] == []
    assert found["tables"]["totals"][0]["wall_ns"] is None


def test_what_was_not_looked_at_is_left_out(tmp_path: Path) -> None:
    assert document(Findings(link(Program().recording(tmp_path))))["tables"] == {}
