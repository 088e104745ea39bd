"""Traces of torch.profiler, made here and real ones, compared with their contents."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perfprobe import native
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.read.kineto import chunks
from perfprobe.results import Results
from perfprobe.support.errors import EnvironmentLack, InputError, PerfprobeError
from perfprobe.support.view import View
from perfprobe.tables.events import Losses, Signatures, Threads
from perfprobe.tables.gpu import ApiCalls, Copies, CopyKind, GpuWaits, Kernels, Launches, MemoryKind, WaitKind
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings
from tests.analyse.test_gpu_traces import DIFFERENT, folder
from tests.kineto import converted
from tests.snapshots import Snapshot

Event = dict[str, Any]

TENSOR = {
    "Input Dims": [[2, 3], [3, 4], [], []],
    "Input type": ["float", "c10::BFloat16", "Scalar", ""],
    "Input Strides": [[3, 1], [1, 3], [], []],
    "Concrete Inputs": ["", "", "1", ""],
}


def span(name: str, start_us: float, length_us: float, category: str = "cpu_op", **args: Any) -> Event:
    facts = {key.replace("_", " "): value for key, value in args.items()}
    return {"ph": "X", "cat": category, "name": name, "pid": 7, "tid": 7} | {
        "ts": start_us,
        "dur": length_us,
        "args": facts,
    }


def operator(name: str, start_us: float, length_us: float, **facts: Any) -> Event:
    made = span(name, start_us, length_us)
    made["args"] = facts
    return made


def gpu_events() -> list[Event]:
    """A launch and its kernel, a copy and its call, a wait. Device and stream are those of the kernel."""
    where = {"device": 0, "context": 1, "stream": 7}
    sizes = {"grid": [4, 2, 1], "block": [128, 1, 1], "registers_per_thread": 32}
    return [
        span("cudaLaunchKernel", 12, 3, "cuda_runtime", correlation=5),
        span("gemm", 20, 30.5, "kernel", correlation=5, **where, **sizes),
        span("cudaMemcpyAsync", 16, 1, "cuda_runtime", correlation=6),
        span("Memcpy HtoD (Pinned -> Device)", 51, 2, "gpu_memcpy", correlation=6, bytes=64, **where),
        span("Event Sync", 60, 9, "cuda_sync", correlation=8, cuda_sync_kind="Event Sync", **where),
    ]


def written(path: Path, events: list[Any], **about: Any) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events, **about}))
    return path


def operators_of(recording: Recording) -> list[tuple[Any, ...]]:
    """Name, start, end and depth of each operator, in the order of the rows."""
    strings = recording[Strings]
    return [
        (strings[name], start_ns, end_ns, depth)
        for rows in recording.operators()
        for name, start_ns, end_ns, depth in zip(
            rows.name.tolist(), rows.start_ns.tolist(), rows.end_ns.tolist(), rows.depth.tolist(), strict=True
        )
    ]


def lines_of(recording: Recording, stack: int) -> list[str]:
    """The frames of a stack, innermost first."""
    strings, frames, stacks = recording[Strings], recording[Frames], recording[Stacks]
    found = []
    while stack >= 0:
        frame = int(stacks.frame[stack])
        if frame >= 0:
            place = f"{strings[int(frames.file[frame])]}:{frames.line[frame]}"
            found.append(f"{place} {strings[int(frames.function[frame])]}")
        stack = int(stacks.parent[stack])
    return found


def reasons(recording: Recording) -> str:
    return "\n".join(recording[Losses].reason.tolist())


def test_operators_nest_by_their_times(tmp_path: Path) -> None:
    events = [operator("inner", 12, 3), operator("outer", 10, 10.25), operator("next", 30, 1)]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    assert operators_of(recording) == [
        ("inner", 12_000, 15_000, 1),
        ("outer", 10_000, 20_250, 0),
        ("next", 30_000, 31_000, 0),
    ]
    assert recording[Threads].os_thread.tolist() == [7]


def test_inputs_become_signatures(tmp_path: Path) -> None:
    recording = kineto.read(written(tmp_path / "trace.json", [operator("aten::addmm", 0, 1, **TENSOR)]))
    (text,) = recording[Signatures].text.tolist()
    assert recording[Strings][text] == "f32[2,3] bf16[3,4]{1,3} 1"


def test_gpu_work_is_read(tmp_path: Path) -> None:
    events = [operator("aten::mm", 10, 10), *gpu_events()]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    kernels, copies, waits = recording[Kernels], recording[Copies], recording[GpuWaits]
    assert (kernels.start_ns[0], kernels.end_ns[0], kernels.stream[0]) == (20_000, 50_500, 7)
    launches = recording[Launches]
    assert (launches.grid_x[0], launches.block_x[0], launches.registers[0]) == (4, 128, 32)
    assert (copies.kind[0], copies.source[0]) == (CopyKind.HOST_TO_DEVICE, MemoryKind.PINNED)
    assert copies.size_bytes[0] == 64
    assert (waits.kind[0], len(recording[ApiCalls])) == (WaitKind.EVENT, 2)
    links = link(recording).gpu
    assert links is not None
    assert [recording[Strings][links.sites.name[call]] for call in links.kernel_call] == ["aten::mm"]


def test_older_names_are_read(tmp_path: Path) -> None:
    older = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel", "gpu_memcpy": "Memcpy"}
    events = [operator("aten::mm", 10, 10), *gpu_events()[:4]]
    renamed = [{**event, "cat": older[event["cat"]], "tid": str(event["tid"])} for event in events]
    today, then = (
        kineto.read(written(tmp_path / f"{number}.json", made))
        for number, made in enumerate((events, renamed))
    )
    assert operators_of(today) == operators_of(then)
    for kind in (Kernels, Copies, ApiCalls, Threads):
        assert [c.tolist() for c in today[kind].columns().values()] == [
            c.tolist() for c in then[kind].columns().values()
        ]


def test_call_stacks_give_lines(tmp_path: Path) -> None:
    stack = "torch/nn/functional.py(40): linear;train.py(12): step;train.py(30): <module>"
    events = [operator("aten::linear", 0, 1, **{"Call stack": stack})]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    (rows,) = recording.operators()
    assert lines_of(recording, int(rows.stack[0])) == [
        "torch/nn/functional.py:40 linear",
        "train.py:12 step",
        "train.py:30 <module>",
    ]
    (linked,) = link(recording).operators()
    assert recording[Frames].line[linked.frame[0]] == 12


def test_python_calls_give_stacks_and_modules(tmp_path: Path, snapshot: Snapshot) -> None:
    python = "python_function"
    events = [
        span("train.py(5): step", 0, 100, python),
        span("<built-in function abs>", 1, 50, python),
        span("nn.Module: Linear_3", 2, 40, python),
        span("torch/nn/modules/linear.py(100): forward", 3, 30, python),
        operator("aten::linear", 10, 5),
        operator("aten::add", 60, 5),
    ]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    (rows,) = recording.operators()
    first, second = rows.stack.tolist()
    shown = {"linear": lines_of(recording, first), "add": lines_of(recording, second)}
    module = int(recording[Stacks].module[first])
    modules, strings = recording[Modules], recording[Strings]
    assert (strings[modules.name[module]], strings[modules.type[module]]) == ("Linear_3", "Linear")
    assert recording[Stacks].module[second] == -1
    snapshot(reasons(recording), **{name: "\n".join(lines) for name, lines in shown.items()})


def test_call_stacks_beside_python_calls_are_not_exact_lines(tmp_path: Path, snapshot: Snapshot) -> None:
    """A verbose trace has both, and both name the first lines of functions."""
    events = [
        span("train.py(5): step", 0, 100, "python_function"),
        operator("aten::add", 60, 5, **{"Call stack": "train.py(5): step;"}),
    ]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    (rows,) = recording.operators()
    snapshot(reasons(recording), stack="\n".join(lines_of(recording, int(rows.stack[0]))))


def test_backward_has_the_line_of_its_forward_call(tmp_path: Path) -> None:
    call = {"Call stack": "train.py(12): step"}
    events = [
        operator("aten::mul", 0, 5, **{"Sequence number": 4, "Fwd thread id": 0}, **call),
        operator("aten::add", 6, 5, **{"Sequence number": 5, "Fwd thread id": 0}),
        *(
            {**operator(name, start, 20 - start, **{"Sequence number": 4, "Fwd thread id": 1}), "tid": 8}
            for name, start in (
                ("autograd::engine::evaluate_function: MulBackward0", 11),
                ("MulBackward0", 12),
            )
        ),
        {**operator("aten::mul", 14, 2), "tid": 8},
    ]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    assert dict(
        zip(recording[Threads].os_thread.tolist(), recording[Threads].forward_id.tolist(), strict=True)
    ) == {
        7: 1,
        8: -1,
    }
    lines = {
        recording[Strings][name]: recording[Frames].line[frame] if frame >= 0 else None
        for rows in link(recording).operators()
        for name, frame, thread in zip(rows.name, rows.forward_frame, rows.thread, strict=True)
        if recording[Threads].os_thread[thread] == 8
    }
    assert lines["aten::mul"] == 12


def test_missing_data_is_a_loss_with_a_remedy(tmp_path: Path, snapshot: Snapshot) -> None:
    recording = kineto.read(written(tmp_path / "trace.json", [operator("aten::mm", 0, 1)]))
    (rows,) = recording.operators()
    assert (rows.signature[0], rows.stack[0], rows.cpu_ns[0], rows.allocated_bytes[0]) == (-1, -1, -1, -1)
    losses = recording[Losses]
    snapshot("\n".join(map(": ".join, zip(losses.reason, losses.remedy, strict=True))))


WHITESPACE = [
    lambda made: json.dumps(made, separators=(",", ":")),
    lambda made: json.dumps(made, indent=2),
    lambda made: json.dumps(made["traceEvents"], separators=(" ,\r\n\t", " : ")),
    lambda made: json.dumps({**made, "tail": [{"a": 1}, {"b": [{}, {}]}]}),
]


@pytest.mark.parametrize("text", WHITESPACE)
@pytest.mark.parametrize("part_bytes", [64, 333, 4096])
@pytest.mark.parametrize("with_core", [True, False])
def test_parts_can_end_anywhere(
    text: Any, part_bytes: int, with_core: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a part is cut, even if strings and lists contain text that looks like the end of an event."""
    events = [operator(f'a"}}, {{"{n}', n * 10, 5, nested=[{"x": "}]"}, {"y": n}]) for n in range(40)]
    path = tmp_path / "trace.json"
    path.write_text(text({"schemaVersion": 1, "traceEvents": events, "traceName": "n"}))
    monkeypatch.setattr(chunks, "PART_BYTES", part_bytes)
    if not with_core:
        _without_core(monkeypatch)
    assert [row[0] for row in operators_of(kineto.read(path))] == [event["name"] for event in events]
    assert "damaged" not in reasons(kineto.read(path))
    slower = "standard library" in reasons(kineto.read(path))
    assert slower == (not with_core) or part_bytes == 4096


def _without_core(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise EnvironmentLack("not built", "here", "build it")

    monkeypatch.setattr(native, "core", missing)


def test_a_truncated_trace_shows_the_part_before(tmp_path: Path, snapshot: Snapshot) -> None:
    whole = written(tmp_path / "trace.json", [operator(f"op{n}", n * 10, 5) for n in range(20)]).read_bytes()
    (tmp_path / "cut.json").write_bytes(whole[: len(whole) * 3 // 4])
    recording = kineto.read(tmp_path / "cut.json")
    assert operators_of(recording)[0][0] == "op0"
    assert 10 < len(operators_of(recording)) < 20
    snapshot(recording[Losses].reason[0])


def test_one_damaged_event_loses_only_that_event(
    tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LONGEST_EVENT", 1000)
    path = written(tmp_path / "trace.json", [operator(f"op{n}", n * 10, 5) for n in range(20)])
    path.write_bytes(path.read_bytes().replace(b'"op7"', b'"op7'))
    recording = kineto.read(path)
    names = [name for name, *_ in operators_of(recording)]
    assert set(names) >= {f"op{n}" for n in range(20) if n not in (7, 8)}
    snapshot(recording[Losses].reason[0])


def test_nan_and_inf_as_printed_by_cpp_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.json", [operator("a", 0, 1, bandwidth="NUMBER"), operator("b", 2, 1)])
    path.write_text(path.read_text().replace('"NUMBER"', "-nan"))
    recording = kineto.read(path)
    assert [name for name, *_ in operators_of(recording)] == ["a", "b"]
    assert "damaged" not in reasons(recording)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"traceEvents": []}', "the trace has no events"),
        (b'{"a": 1}', "it has no list of traceEvents"),
        (b"[]", "the trace has no events"),
        (b"[1, 2, 3]", "the trace has no events"),
        (b"[" * 100_000, "the file ends"),
        (gzip.compress(b'{"traceEvents": [{}]}' * 99, mtime=0)[:40], "cut or damaged"),
    ],
)
def test_other_files_are_refused_in_one_line(text: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=said) as raised:
        Results(str(path)).text(View())
    assert "\n" not in str(raised.value)


def test_a_tensorboard_folder_gives_its_ranks(tmp_path: Path) -> None:
    for rank in (1, 0):
        written(tmp_path / f"host_{rank}.123.pt.trace.json", [operator("aten::mm", 0, 1)])
    (tmp_path / "events.out.tfevents").write_text("")
    assert [Path(path).name for path in kineto.traces_in(str(tmp_path))] == [
        "host_0.123.pt.trace.json",
        "host_1.123.pt.trace.json",
    ]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="the folder has no traces"):
        kineto.traces_in(str(tmp_path / "empty"))


def test_mutated_traces_are_reported_or_refused_in_one_line(tmp_path: Path) -> None:
    numbers, path, seen = random.Random(1), tmp_path / "trace.json", Counter[str]()
    values: list[Any] = [None, -1, 1e300, 2**70, "", "NaN", [], {}, [[1]], True, "\ud800", 2**31]
    whole = [operator("aten::mm", n * 10.0, 5, **TENSOR) for n in range(8)] + gpu_events() * 2
    for _ in range(90):
        events = json.loads(json.dumps(whole))
        for _ in range(numbers.choice((1, 4, 20))):
            event = numbers.choice(events)
            target = (
                event["args"] if isinstance(event.get("args"), dict) and numbers.random() < 0.5 else event
            )
            if target:
                target[numbers.choice(list(target))] = json.loads(json.dumps(numbers.choice(values)))
        data = bytearray(json.dumps({"traceEvents": events}).encode())
        if numbers.random() < 0.5:
            data[numbers.randrange(len(data))] = numbers.randrange(256)
        path.write_bytes(data[: numbers.randrange(len(data))] if numbers.random() < 0.2 else data)
        try:
            assert Results(str(path)).text(View())
            seen["report"] += 1
        except PerfprobeError as error:
            seen["two lines" if "\n" in str(error) else "line"] += 1
    assert seen["report"] > 60
    assert seen.keys() <= {"report", "line"}


@pytest.mark.parametrize("name", DIFFERENT)
def test_real_traces_agree_with_a_separate_reader(name: str) -> None:
    """Every operator, kernel, copy, call and wait, to the nanosecond."""
    path = folder() / f"{name}.json.gz"
    program, _ = converted(path)
    texts = [text for (text,) in program._tables["strings"]]
    recording = kineto.read(path)
    theirs = Counter(
        (texts[row["name"]], row["start_ns"], row["end_ns"], row["depth"]) for row in program.operators
    )
    assert Counter(operators_of(recording)) == theirs
    for kind in (Kernels, Copies, ApiCalls, GpuWaits):
        rows = [dict(zip(kind.dtypes, row, strict=True)) for row in program._tables.get(kind.table_name, [])]
        for column in ("start_ns", "end_ns", "correlation", "stream", "kind", "size_bytes", "device"):
            if column in kind.dtypes and (kind, column) != (
                GpuWaits,
                "stream",
            ):  # not read by the other reader
                assert recording[kind].columns()[column].tolist() == [row[column] for row in rows]


@pytest.mark.parametrize("name", ["v100_resnet50_num_workers_0", "h100_bert_small"])
def test_a_real_trace_is_reported_with_its_lines(name: str) -> None:
    text = Results(str(folder() / f"{name}.json.gz")).text(View())
    said = {
        "v100_resnet50_num_workers_0": ("6 training steps", "resnet50_profiler_api.py:46", "data loading"),
        "h100_bert_small": ("BertLMHeadModel", "text_base_model.py:28 in run_on_input (its first line)"),
    }
    for words in said[name]:
        assert words in text
