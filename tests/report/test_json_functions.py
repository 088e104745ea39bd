"""The tables of Python functions in the JSON document."""

from pathlib import Path

from perfprobe.report.render.json import document
from perfprobe.report.rows.functions import CallRow, Function, FunctionRow, call_rows
from perfprobe.tables.python import CallStructure, FunctionRows, Origin, ThreadSums
from tests.build import Program
from tests.report.calling import Made
from tests.report.declared import fields_of, known
from tests.report.test_functions import MS, SECOND, counted, sampled
from tests.report.test_text import META

ARRAY = "<built-in method numpy.array>"


def test_the_json_of_functions(tmp_path: Path) -> None:
    made = sampled()
    made.edges = [
        {"caller": 2, "callee": 0, "calls": 7, "total_ns": 500 * MS},
        {"caller": -1, "callee": 2, "total_ns": SECOND, "operator_total_ns": 280 * MS},
    ]
    tables = document(made.findings(tmp_path))["tables"]
    assert [row["function"] for row in tables["functions"]] == [*("tokenize", ARRAY, "relu", "walk")]
    second = tables["functions"][1]
    own = {*FunctionRow.__dataclass_fields__, "code"}
    by_phase = [name for name in FunctionRows.dtypes if name not in own]
    assert list(second) == fields_of(FunctionRow, by_phase=by_phase)
    assert known(second) == {
        "function": ARRAY,
        "origin": "library",
        "calls": 4,
        "primitive_calls": 4,
        "counted_own_ns": 400 * MS,
        "counted_total_ns": 410 * MS,
    }
    assert tables["calls"][0]["caller_function"] is None
    assert list(tables["calls"][1]) == fields_of(CallRow)
    assert known(tables["calls"][1]) == {
        "caller_file": "/p/train.py",
        "caller_function": "walk",
        "caller_first_line": 3,
        "caller_origin": "user",
        "callee_file": "/p/text.py",
        "callee_function": "tokenize",
        "callee_first_line": 12,
        "callee_origin": "user",
        "calls": 7,
        "total_ns": 500 * MS,
    }
    assert tables["threads"][0].keys() == {"name", "os_thread", *ThreadSums.dtypes}
    assert tables["threads"][0]["name"] == "MainThread"
    assert tables["threads"][0]["own_ns"] == 980 * MS
    assert tables["threads"][0]["cpu_ns"] is None
    assert tables["python"] == [
        {"times": "samples", "sample_ns": 5 * MS, "counts_end_ns": None, "idle_ns": 0}
    ]


def test_figures_of_cprofile_in_json(tmp_path: Path) -> None:
    made = counted()
    made.counts_end_ns = 77
    tables = document(made.findings(tmp_path))["tables"]
    assert tables["python"] == [
        {"times": "cprofile", "sample_ns": None, "counts_end_ns": 77, "idle_ns": None}
    ]


def test_threads_have_their_names(tmp_path: Path) -> None:
    found = sampled().findings(tmp_path, python_threads={"1001": "feeder"})
    assert document(found)["tables"]["threads"][0]["name"] == "feeder"


def test_the_number_of_rows(tmp_path: Path) -> None:
    found = sampled().findings(tmp_path)
    tables = document(found, top=1, sort="total")["tables"]
    assert [row["function"] for row in tables["functions"]] == ["walk"]


def test_rows_of_two_recordings_can_be_compared(tmp_path: Path) -> None:
    found = []
    for order in (1, -1):  # the same functions with different ids
        made = Made(Program(**META))
        functions = [("/p/train.py:3 walk", Origin.USER), ("<built-in method len>", Origin.STDLIB)]
        ids = {place: made.function(place, origin=origin) for place, origin in functions[::order]}
        made.edges = [
            {"caller": ids["/p/train.py:3 walk"], "callee": ids["<built-in method len>"], "calls": 7}
        ]
        folder = tmp_path / str(order)
        folder.mkdir()
        findings = made.findings(folder)
        structure = findings[CallStructure]
        found.append(call_rows(findings.trace, structure, structure.calls))
    assert found[0] == found[1]
    assert found[0][0].caller == Function("/p/train.py", "walk", 3, "user")
    assert found[0][0].callee == Function(None, "<built-in method len>", None, "stdlib")
