"""Recordings as Chrome traces: against the published format, known times, and other readers."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perfprobe.models.chrome import ENTRY
from perfprobe.read import kineto
from perfprobe.results import Results
from perfprobe.support.errors import InputError, UsageError
from perfprobe.support.view import View
from perfprobe.tables.events import Losses, Operators, Signatures
from perfprobe.tables.gpu import Copies, Kernels, WaitKind
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.build import Program, op
from tests.collect.runs import command, perfprobe
from tests.report.traced import START_NS, STEP_NS, STEPS, US, document, traced, write
from tests.snapshots import Snapshot

Event = dict[str, Any]

_SAME_VIEWS = (
    *("operators", "lines", "modules", "steps", "phases", "gpus", "kernels", "copies", "waits", "ranges"),
)

# From "Trace Event Format" (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): what
# an event of each phase must have, by type; a number is a time in microseconds.
NUMBER, ANY_ID = (int, float), (int, str)
COMMON = {"name": str, "ph": str, "pid": ANY_ID, "tid": ANY_ID, "ts": NUMBER}
PHASES: dict[str, dict[str, Any]] = {
    "X": {"cat": str, "dur": NUMBER},
    "i": {"cat": str, "s": str},
    "b": {"cat": str, "id": ANY_ID},
    "e": {"cat": str, "id": ANY_ID},
    "s": {"cat": str, "id": ANY_ID},
    "f": {"cat": str, "id": ANY_ID, "bp": str},
    "C": {"args": dict},
    "M": {"args": dict},
    "P": {"cat": str},
}
OPTIONAL = {"args": dict, "cat": str, "sf": int}
NAMING: dict[str, dict[str, Any]] = {
    "process_name": {"name": str},
    "process_labels": {"labels": str},
    "process_sort_index": {"sort_index": int},
    "thread_name": {"name": str},
    "thread_sort_index": {"sort_index": int},
}
FILE = {"schemaVersion": int, "displayTimeUnit": str, "traceEvents": list, "stackFrames": dict}


def faults(event: Event) -> list[str]:
    """Where an event is not as the format says."""
    wanted: dict[str, Any] = {**COMMON, **PHASES.get(event.get("ph", ""), {"a known phase": str})}
    found = [key for key, kind in wanted.items() if not isinstance(event.get(key), kind)]
    found += [key for key in event if key not in wanted and not isinstance(event[key], OPTIONAL.get(key, ()))]
    if event["ph"] == "M":
        kinds = NAMING.get(event["name"], {})
        found += [key for key in event["args"] if not isinstance(event["args"][key], kinds.get(key, ()))]
    if event["ph"] == "C":
        found += [key for key, value in event["args"].items() if not isinstance(value, NUMBER)]
    negative = [key for key in ("ts", "dur") if event.get(key, 0) < 0]
    return found + negative


def spans(events: list[Event], category: str) -> list[tuple[str, int, int]]:
    """Name, start and end in ns from the file's moment 0, in their order."""
    found = [event for event in events if event.get("cat") == category and event["ph"] == "X"]
    return [
        (event["name"], round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000))
        for event in found
    ]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(traced(), tmp_path_factory.mktemp("trace"))


@pytest.fixture(scope="module")
def events(trace: Path) -> list[Event]:
    found: list[Event] = document(trace)["traceEvents"]
    return found


def test_the_file_is_as_the_format_says(trace: Path, events: list[Event]) -> None:
    whole = document(trace)
    assert [key for key, kind in FILE.items() if not isinstance(whole[key], kind)] == []
    assert [(event, faults(event)) for event in events if faults(event)] == []
    assert {event["ph"] for event in events} == set(PHASES)
    assert all("name" in frame and "category" in frame for frame in whole["stackFrames"].values())
    frames = whole["stackFrames"]
    assert all(frame["parent"] in frames for frame in frames.values() if "parent" in frame)
    assert {str(event["sf"]) for event in events if "sf" in event} <= frames.keys()


def test_what_is_wrong_is_found() -> None:
    good = {"ph": "X", "cat": "c", "name": "n", "pid": 1, "tid": 1, "ts": 0.5, "dur": 1}
    assert faults(good) == []
    assert faults({**good, "dur": -1}) == ["dur"]
    assert faults({**good, "tid": None}) == ["tid"]
    assert faults({**good, "ph": "?"})


def test_slices_of_a_thread_nest(events: list[Event]) -> None:
    """ui.perfetto.dev drops slices that begin in another one of their track and end behind it."""
    tracks: dict[tuple[Any, Any], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] != "cuda_sync":
            start_ns, length_ns = (round(event[key] * 1000) for key in ("ts", "dur"))
            tracks.setdefault((event["pid"], event["tid"]), []).append((start_ns, -(start_ns + length_ns)))
    for found in tracks.values():
        opened: list[int] = []
        for start_ns, minus_end in sorted(found):
            while opened and opened[-1] <= start_ns:
                opened.pop()
            assert not opened or -minus_end <= opened[-1]
            opened.append(-minus_end)


def test_times_are_exact(events: list[Event]) -> None:
    assert spans(events, "kernel")[:3] == [
        ("gemm", 500 * US, 1200 * US),
        ("gemm_backward", 3400 * US, 4100 * US + 1),
        ("fill_kernel", 8200 * US, 8900 * US + 2),
    ]
    name, *when = spans(events, "gpu_memcpy")[0]
    assert (name.split()[:2], when) == (["Memcpy", "HtoD"], [9000 * US, 9100 * US])
    assert spans(events, "gpu_memset") == [("Memset (Device)", 20_000 * US, 20_000 * US + 5)]
    steps = [span for span in spans(events, "user_annotation") if span[0].startswith("ProfilerStep#")]
    assert [name for name, *_ in steps] == [f"ProfilerStep#{number}" for number in range(STEPS)]
    assert [start // STEP_NS for _, start, _ in steps] == list(range(STEPS))


def test_operators_say_what_kinetos_do(events: list[Event]) -> None:
    found = next(event["args"] for event in events if event["name"] == "aten::addmm")
    assert found["Input Dims"] == [[64, 128], [128, 64], [[2], [3]], [], [], [], [], []]
    kinds = ["float", "c10::BFloat16", "TensorList", "ScalarList", "Scalar", "Scalar", "", "Scalar"]
    assert found["Input type"] == kinds
    assert found["Input Strides"][:3] == [[128, 1], [1, 128], [[1], [1]]]
    assert found["Concrete Inputs"] == ["", "", "", "[1, -1]", "1", '"sum"', "", ""]
    assert {"Sequence number": 0, "Fwd thread id": 0}.items() <= found.items()
    assert found["phase"] == "forward"
    assert found["line"] == "/p/model.py:88 Net.forward"
    linear = next(event["args"] for event in events if event["name"] == "aten::linear")
    assert linear["Call stack"].split(";") == [
        *("/p/model.py(88): Net.forward", "/p/train.py(30): Trainer.step", "/p/train.py(20): <module>")
    ]
    assert "Call stack" not in found  # it is within linear, whose stack this is
    node = next(event["args"] for event in events if event["name"] == "AddmmBackward0")
    assert {"Fwd thread id": 1, "line": "/p/model.py:88 Net.forward"}.items() <= node.items()


def test_arrows(events: list[Event]) -> None:
    """Forward to backward and launch to kernel, each at the begin of an event on its track."""
    begins = {
        (event["pid"], event["tid"], event["ts"]): event["name"]
        for event in events
        if event["ph"] == "X" and event["cat"] != "gpu_user_annotation"
    }
    found: Counter[tuple[str, str, str]] = Counter()
    ends = {(event["cat"], event["id"]): event for event in events if event["ph"] == "f"}
    for start in (event for event in events if event["ph"] == "s"):
        pair = (start, ends.pop((start["cat"], start["id"])))
        names = [begins[event["pid"], event["tid"], event["ts"]].split(" (")[0] for event in pair]
        found[start["cat"], names[0], names[1]] += 1
    assert not ends
    assert found == {
        ("fwdbwd", "aten::addmm", "AddmmBackward0"): STEPS,
        ("ac2g", "cudaLaunchKernel", "gemm"): STEPS,
        ("ac2g", "cudaLaunchKernel", "gemm_backward"): STEPS,
        ("ac2g", "cudaLaunchKernel", "fill_kernel"): STEPS,
        ("ac2g", "cuMemcpyHtoDAsync", "Memcpy HtoD"): STEPS,
    }


def test_calls_name_their_operators(events: list[Event]) -> None:
    numbers = {
        event["args"]["External id"]: event["name"]
        for event in events
        if event.get("cat") in ("cpu_op", "user_annotation") and "External id" in event.get("args", {})
    }
    called = [
        (event["name"], numbers[event["args"]["External id"]])
        for event in events
        if event.get("cat") == "kernel"
    ]
    assert called[:3] == [
        ("gemm", "aten::addmm"),
        ("gemm_backward", "aten::mm"),
        ("fill_kernel", "aten::zero_"),
    ]
    on_stream = spans(events, "gpu_user_annotation")
    assert on_stream[0] == ("## forward ##", 500 * US, 1200 * US)


def test_samples_are_functions_that_are_open(events: list[Event]) -> None:
    found = {name: (start, end) for name, start, end in spans(events, "python_sample")}
    assert found == {
        "Net.forward (/p/model.py:80)": (1000 * US, 3000 * US),
        "Trainer.step (/p/train.py:28)": (0, 3000 * US),
        "<module> (/p/train.py:1)": (0, 4000 * US),
    }


def test_ranges_and_processors(events: list[Event]) -> None:
    named = {name: (start, end) for name, start, end in spans(events, "user_annotation")}
    assert named["load"] == (10 * US, 40 * US)
    free = [(event["name"].split()[0], event["ph"], event["ts"]) for event in events if event["ph"] in "be"]
    assert sorted(free) == [
        *(("request", "b", 500), ("request", "e", 15_000)),
        *(("to", "b", 0.01), ("to", "e", STEPS * STEP_NS / 1000)),
    ]
    assert [event["ts"] for event in events if event["ph"] == "i"] == [7]
    counters = [event for event in events if event["ph"] == "C"]
    assert [event["ts"] for event in counters] == [0, 10_000]
    assert counters[0]["args"]["program"] == 90  # 900 ms in 10


@pytest.mark.parametrize(
    ("asked", "kept"), [("1:2", [1]), ("0:2", [0, 1]), (":1", [0]), ("2:", [2]), ("1:9", [1, 2])]
)
def test_a_window_of_steps(asked: str, kept: list[int], tmp_path: Path, snapshot: Snapshot) -> None:
    trace = write(traced(), tmp_path, asked)
    found: list[Event] = document(trace)["traceEvents"]
    starts = [start // STEP_NS for name, start, _ in spans(found, "cpu_op") if name == "aten::linear"]
    assert starts == kept
    assert [start // STEP_NS for _, start, _ in spans(found, "kernel")] == [
        step for step in kept for _ in "abc"
    ]
    steps = [name for name, *_ in spans(found, "user_annotation") if name.startswith("ProfilerStep")]
    assert steps == [f"ProfilerStep#{step}" for step in kept]
    assert "outside of" in "\n".join(_losses(kineto.read(trace)))


@pytest.mark.parametrize("asked", ["3:4", "2:2", "2:1", "1", "a:b", "-1:2", "9:"])
def test_no_such_steps(asked: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="steps"):
        write(traced(), tmp_path, asked)


def test_a_wait_of_no_stream_has_the_number_that_kineto_writes(tmp_path: Path) -> None:
    """Today -1, in 2023 all bits set. HTA takes only -1 as an event of the host: idle time would differ."""
    for reported, facts in ((-1, {}), (0xFFFFFFFF, {"trace": {"no_stream": 0xFFFFFFFF}})):
        program = traced(**facts)
        program.gpu_wait(WaitKind.CONTEXT, START_NS + 10 * US, START_NS + 20 * US, 900, stream=-1)
        events = json.loads(write(program, tmp_path).read_text())["traceEvents"]
        (wait,) = [event for event in events if event.get("name") == "Context Sync"]
        assert (wait["tid"], wait["args"]["stream"]) == (-1, reported)


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it has no events with times"):
        write(Program(), tmp_path)
    program = Program()
    program.sample(0, 5, "/p/a.py:1 f")
    with pytest.raises(InputError, match="no steps"):
        write(program, tmp_path, "0:1")


def test_read_as_any_trace_it_is_the_same(trace: Path, tmp_path: Path) -> None:
    """What is ours taken out: the reader of torch.profiler's traces finds names, times, inputs and links."""
    whole = document(trace)
    stripped = {key: value for key, value in whole.items() if not key.startswith(ENTRY)}
    for event in stripped["traceEvents"]:
        event.get("args", {}).pop(ENTRY, None)
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(stripped))
    read, recorded = kineto.read(plain), traced().recording(tmp_path)
    wanted, reported = _operators(recorded), _operators(read)
    steps_and_ranges = Counter(reported) - Counter(wanted)
    assert not Counter(wanted) - Counter(reported)
    assert {name for name, *_ in steps_and_ranges} <= {
        *("load", "gc", "perfprobe.step"),
        *(f"ProfilerStep#{number}" for number in range(STEPS)),
    }
    for kind in (Kernels, Copies):
        for name in ("device", "stream", "correlation"):
            assert read[kind].columns()[name].tolist() == recorded[kind].columns()[name].tolist()
        assert (read[kind].columns()["start_ns"] + START_NS).tolist() == recorded[kind].columns()[
            "start_ns"
        ].tolist()
    texts = {read[Strings][row] for row in read[Signatures].text.tolist()}
    assert texts == {"f32[64,128] bf16[128,64]{1,128} (?,?) (1,-1) 1 ? - ?"}


def _operators(recording: Recording) -> list[tuple[str, int, int, int]]:
    """Name, time since the recording's begin, sequence number."""
    rows = Operators.concat(list(recording.operators()))
    base_ns = int(recording.number("start", "monotonic_ns") or 0)
    columns = (rows.name, rows.start_ns - base_ns, rows.end_ns - base_ns, rows.sequence)
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [(recording[Strings][name], *rest) for name, *rest in values]


def _losses(recording: Recording) -> list[str]:
    return [str(reason) for reason in recording[Losses].reason.tolist()]


def test_on_the_command_line(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "run.perfprobe").write_bytes(traced().encode())
    outcome = command(["export", "run.perfprobe", "--format", "chrome", "--steps", "1:2"], tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, b"", b"")
    packed = tmp_path / "run.pt.trace.json.gz"
    assert "ui.perfetto.dev" in outcome.said[-1]
    words = ["export", "run.perfprobe", "--format", "chrome", "-o", "plain.json", "--steps", "1:2"]
    assert perfprobe(words, tmp_path).status == 0
    assert gzip.decompress(packed.read_bytes()) == (tmp_path / "plain.json").read_bytes()
    report = command(["report", packed.name], tmp_path)
    assert (report.status, b"STEP" in report.out) == (0, True)
    refused = command(["export", "run.perfprobe", "--format", "pstats", "--steps", "1:2"], tmp_path)
    assert refused.status == 2
    snapshot("\n".join(refused.said))


def test_read_back_it_gives_the_same_report(trace: Path) -> None:
    recording = trace.with_suffix(".perfprobe")
    for view in _SAME_VIEWS:
        same = [Results(str(path)).text(View(view=view, top=0)) for path in (recording, trace)]
        assert same[0] == same[1], view


def test_the_rank_is_in_it(tmp_path: Path) -> None:
    trace = write(traced(rank={"rank": 1, "local_rank": 1, "world_size": 4}), tmp_path)
    assert document(trace)["distributedInfo"] == {"rank": 1, "world_size": 4}


def test_the_file_is_never_in_memory(tmp_path: Path) -> None:
    program = traced()
    stack = program.stack(*(f"/p/{'deep' * 20}.py:{at}/{at} f" for at in range(1, 200)))
    times = [(START_NS + at * 1000, START_NS + at * 1000 + 500) for at in range(STEPS * 1000)]
    program.run(*(op("aten::add", *both, stack=stack) for both in times))
    (tmp_path / "made.perfprobe").write_bytes(program.encode())
    made = Results(str(tmp_path / "made.perfprobe")).export("chrome", None)
    tracemalloc.start()
    written = longest = 0
    for part in made.parts:
        written, longest = written + len(part), max(longest, len(part))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert written > 50_000_000
    assert longest < 150_000
    assert peak < written / 8
