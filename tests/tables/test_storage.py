import os
from pathlib import Path

import numpy as np
import pytest

from perfprobe.support.errors import InputError
from perfprobe.tables import definitions, storage
from perfprobe.tables.events import Losses, Operators, Progress, SignatureValues, Threads
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings
from tests import build, encoding
from tests.build import Program, op
from tests.snapshots import Snapshot


def small_program() -> Program:
    program = Program(program={"argv": ["train.py"]}, start={"monotonic_ns": 100, "cpu_ns": 0})
    program.thread(1, "main")
    program.thread(2, "worker")
    model = program.module("", "Net")
    stack = program.stack(
        "train.py:10 main", ("model.py:88 attention", program.module("attn", "Attn", model))
    )
    inputs = program.signature("f32[2,3] dim=1")
    inner = op("aten::add", 120, 130, stack=stack)
    program.run(op("aten::mm", 110, 150, inner, stack=stack, signature=inputs), thread=0)
    program.run(op("aten::div", 200, 260), thread=1)
    program.losses.append(("gpu", "no driver", 3, "install one"))
    program.progress.append((250, 75))
    program.end_ns = 300
    return program


def all_operators(recording: Recording) -> Operators:
    return Operators.concat(list(recording.operators()))


def write(folder: Path, data: bytes) -> Path:
    path = folder / "test.perfprobe"
    path.write_bytes(data)
    return path


def test_a_recording_is_read_back(tmp_path: Path) -> None:
    recording = small_program().recording(tmp_path)
    names = [recording[Strings][name] for name in all_operators(recording).name]
    assert names == ["aten::add", "aten::mm", "aten::div"]
    assert recording.complete
    assert recording.stopped_at is None
    assert recording.last_ns == 300
    assert recording.operator_rows == 3
    assert recording.meta == {"program": {"argv": ["train.py"]}, "start": {"monotonic_ns": 100, "cpu_ns": 0}}
    assert recording[Losses].columns()["reason"].tolist() == ["no driver"]
    assert recording[Losses].count.tolist() == [3]
    assert recording[Progress].cpu_ns.tolist() == [75]
    assert [recording[Strings][file] for file in recording[Frames].file] == ["train.py", "model.py"]
    assert recording[Frames].line.tolist() == [10, 88]
    assert recording[Stacks].parent.tolist() == [-1, 0]
    assert recording[Stacks].module.tolist() == [-1, 1]
    assert recording[Threads].forward_id.tolist() == [1, 2]


def test_operators_are_read_back_for_any_block_size(tmp_path: Path) -> None:
    program = small_program()
    rows = program.operators
    for block_rows in (1, 2, 3600):
        operators = all_operators(program.recording(tmp_path, block_rows))
        for name, column in operators.columns().items():
            assert column.tolist() == [row[name] for row in rows], name


def test_only_requested_columns_are_decoded(tmp_path: Path) -> None:
    recording = small_program().recording(tmp_path)
    (rows,) = recording.operators(["name"])
    assert recording[Strings][rows.name[1]] == "aten::mm"
    with pytest.raises(AttributeError, match="scope"):
        rows.scope  # noqa: B018 (a column that was forgotten does not read as -1)


def test_the_size_of_batches_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    program.run(*(op("a", 10 * at, 10 * at + 5) for at in range(100)))
    monkeypatch.setattr(storage, "BATCH_ROWS", 25)
    sizes = [len(rows) for rows in program.recording(tmp_path, 10).operators()]
    assert sizes == [20] * 5


@pytest.mark.parametrize(
    "coding", [encoding.CONSTANT, encoding.PLAIN, encoding.DELTA, encoding.RUNS, encoding.RELATIVE]
)
def test_every_coding_is_read_in_every_column(tmp_path: Path, coding: int) -> None:
    values = [5, 5, 5, 5] if coding == encoding.CONSTANT else [5, -1, 5, 100]
    base = [2**40, 2**40 + 7, 3, -(2**40)]
    names = list(build.OPERATOR_DEFAULTS)
    columns = [encoding.column("base", encoding.PLAIN, encoding.integers(base, encoding.PLAIN))]
    columns += [encoding.column(name, coding, encoding.integers(values, coding, base, 0)) for name in names]
    data = encoding.block(encoding.payload("operators", 4, columns))
    path = write(tmp_path, encoding.head() + data)
    (rows,) = storage.read(path).source(names)
    assert {name: column.tolist() for name, column in rows.items()} == dict.fromkeys(names, values)


def test_differences_wrap_around_as_in_the_writer(tmp_path: Path) -> None:
    values = [2**63 - 1, -(2**63), 0]
    columns = [
        encoding.column("start_ns", encoding.DELTA, encoding.integers(values, encoding.DELTA)),
        encoding.column(
            "end_ns", encoding.RELATIVE, encoding.integers(values[::-1], encoding.RELATIVE, values, 0)
        ),
        *(
            encoding.column(name, encoding.CONSTANT, encoding.svarint(0))
            for name in ("thread", "depth", "name")
        ),
    ]
    path = write(tmp_path, encoding.head() + encoding.block(encoding.payload("operators", 3, columns)))
    (rows,) = storage.read(path).operators()
    assert rows.start_ns.tolist() == values
    assert rows.end_ns.tolist() == values[::-1]


def test_unknown_tables_columns_and_codings_are_skipped(tmp_path: Path) -> None:
    program = small_program()
    blocks = program.blocks()
    strange = encoding.block(encoding.payload("flights", 2, [encoding.column("to", 9, b"??")]))
    extra = {name: [row[name] for row in program.operators[:1]] for name in program.operators[0]}
    with_more = encoding.table_block("operators", {**extra, "colour": [7]})
    unread = encoding.payload(
        "progress", 1, [encoding.column("time_ns", 77, b"abc"), encoding.column("new", 4, b"\x00")]
    )
    path = write(
        tmp_path,
        encoding.head() + strange + b"".join([*blocks[:-1], with_more, encoding.block(unread), blocks[-1]]),
    )
    recording = storage.read(path)
    assert recording.complete
    assert recording.operator_rows == 4
    assert recording[Progress].time_ns.tolist() == [250, -1]


def test_ids_are_positions_over_all_blocks_of_a_table(tmp_path: Path) -> None:
    blocks = [
        encoding.table_block("strings", {"text": ["a", "b"]}),
        encoding.table_block("threads", {"os_thread": [7], "forward_id": [1], "name": [1]}),
        encoding.table_block("strings", {"text": ["", "größe"]}),
        encoding.table_block("threads", {"os_thread": [8], "forward_id": [2], "name": [3]}),
    ]
    recording = storage.read(write(tmp_path, encoding.head() + b"".join(blocks)))
    assert recording[Strings].text.tolist() == ["a", "b", "", "größe"]
    assert [recording[Strings][int(name)] for name in recording[Threads].name] == ["b", "größe"]
    assert recording[Strings][-1] == ""


def test_text_that_is_not_utf8_is_escaped(tmp_path: Path) -> None:
    column = encoding.column("text", encoding.TEXT, encoding.uvarint(3) + b"a\xff\xfe")
    path = write(tmp_path, encoding.head() + encoding.block(encoding.payload("strings", 1, [column])))
    assert storage.read(path)[Strings].text.tolist() == ["a\\xff\\xfe"]


def test_later_meta_values_take_precedence_and_unreadable_ones_are_losses(
    tmp_path: Path, snapshot: Snapshot
) -> None:
    values = ["1", "{", "2", "[" * 100_000, '{"a": NaN, "b": 1e999, "c": 3}', "[" * 40 + "]" * 40]
    keys = ["a", "b", "a", "c", "d", "e"]
    path = write(tmp_path, encoding.head() + encoding.table_block("meta", {"key": keys, "value": values}))
    recording = storage.read(path)
    assert recording.meta == {"a": 2, "d": {"a": None, "b": None, "c": 3}}
    reasons = recording[Losses].columns()["reason"].tolist()
    assert len(reasons) == 3
    snapshot("\n".join(reasons))


def test_a_killed_recording_is_read_up_to_its_last_block(tmp_path: Path) -> None:
    program = small_program()
    program.end_ns = None
    recording = program.recording(tmp_path)
    assert not recording.complete
    assert recording.stopped_at is None
    assert recording.last_ns == 250
    assert recording.operator_rows == 3


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda data: data[:-1], "the last block is cut off"),
        (lambda data: data[:5], "the last block is cut off"),
        (lambda data: b"x" + data[1:], "a block does not begin with its marker"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "a block has a wrong checksum"),
    ],
)
def test_reading_stops_at_the_first_broken_block(tmp_path: Path, harm: object, what: str) -> None:
    assert callable(harm)
    blocks = small_program().blocks()
    good = encoding.head() + b"".join(blocks[:-2])
    recording = storage.read(
        write(
            tmp_path, good + harm(blocks[-2]) + (blocks[-1] if what != "the last block is cut off" else b"")
        )
    )
    assert not recording.complete
    assert recording.stopped_at is not None
    assert recording.stopped_at.startswith(f"{what} (at byte {len(good):,} of ")
    assert recording.operator_rows == 3


def test_invalid_ids_become_none_and_are_counted(tmp_path: Path) -> None:
    program = small_program()
    program.operators[0]["stack"] = 77
    program.operators[1]["name"] = -5
    recording = program.recording(tmp_path)
    rows = all_operators(recording)
    assert rows.stack[0] == -1
    assert rows.name[1] == -1
    assert recording.damaged == {"name": 1, "overload": 0, "signature": 0, "stack": 1, "thread": 0}


def test_definitions_with_invalid_ids_become_none_and_are_losses(tmp_path: Path, snapshot: Snapshot) -> None:
    blocks = [
        encoding.table_block("stacks", {"parent": [-1, 1, 0], "frame": [0, 9, -1], "module": [-1, -7, 0]}),
        encoding.table_block("frames", {"file": [4], "function": [0], "first_line": [1], "line": [2]}),
        encoding.table_block("strings", {"text": ["a"]}),
    ]
    recording = storage.read(write(tmp_path, encoding.head() + b"".join(blocks)))
    assert recording[Stacks].parent.tolist() == [-1, -1, 0]
    assert recording[Stacks].frame.tolist() == [0, -1, -1]
    assert recording[Stacks].module.tolist() == [-1, -1, -1]
    assert recording[Frames].file.tolist() == [-1]
    counts = dict(zip(recording[Losses].reason, recording[Losses].count.tolist(), strict=True))
    assert sum(counts.values()) == 5
    snapshot("\n".join(f"{count} {reason}" for reason, count in counts.items()))


def test_samples_have_their_own_limit(
    tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("start_ns", "end_ns", "thread", "stack", "look", "looks", "cpu_ns")
    columns = {name: [1, 2, 3] for name in names}
    path = write(tmp_path, encoding.head() + encoding.table_block("samples", columns) * 2)
    monkeypatch.setattr(definitions, "MOST_ROWS", 2)
    assert len(storage.read(path)[Samples]) == 6
    monkeypatch.setattr(Samples, "most_rows", 5)
    recording = storage.read(path)
    assert len(recording[Samples]) == 3
    assert recording.stopped_at is not None
    snapshot(recording.stopped_at.partition(" (at byte")[0])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "neither a perfprobe recording, a trace nor a .pstats file \\(it is empty\\)"),
        (b"PERF", "the recording ends before its first block"),
        (b"PERFPROBE\n", "the recording ends before its first block"),
        (b"PK\x03\x04 something else", "neither a perfprobe recording"),
        (encoding.head(2), "the recording has format 2"),
        (encoding.head(0), "the recording has format 0"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        storage.read(write(tmp_path, data))
    assert "\n" not in str(error.value)


def test_unreadable_files_are_refused_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path), str(tmp_path / "missing"), str(tmp_path / "pipe"), "/dev/null", "a\0b"):
        with pytest.raises(InputError, match="cannot read the recording"):
            storage.read(name)


def test_a_file_that_shrinks_during_reading(tmp_path: Path) -> None:
    recording = small_program().recording(tmp_path)
    Path(recording.path).write_bytes(b"PERFPROBE\n")
    with pytest.raises(InputError, match="the operators cannot be read"):
        all_operators(recording)


def test_an_empty_recording_is_read(tmp_path: Path) -> None:
    recording = storage.read(write(tmp_path, encoding.head()))
    assert list(recording.operators()) == []
    assert not recording.complete
    assert recording.last_ns == -1


def test_the_newest_recording_is_found(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no recording \(\*\.perfprobe\)"):
        storage.newest(tmp_path)
    for age, name in enumerate(("b.perfprobe", "a.perfprobe", "c.txt")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "d.perfprobe").mkdir()
    assert storage.newest(tmp_path) == str(tmp_path / "b.perfprobe")


def test_sizes_beyond_the_block_are_refused(tmp_path: Path) -> None:
    zero = encoding.svarint(0)
    names = ("start_ns", "end_ns", "thread", "depth", "name")
    constants = [encoding.column(name, encoding.CONSTANT, zero) for name in names]
    many = [encoding.column("a", encoding.CONSTANT, zero)] * 300
    bombs = [
        encoding.payload("operators", 2**60, constants),
        encoding.payload("strings", 2**40, [encoding.column("text", encoding.TEXT, b"")]),
        encoding.payload("strings", 1, [encoding.column("text", encoding.TEXT, encoding.uvarint(2**60))]),
        encoding.payload("frames", 1, many),
        encoding.payload("progress", 1, [encoding.column("time_ns", encoding.RELATIVE, b"\x00\x00")]),
        encoding.payload("progress", 1, [encoding.column("time_ns", encoding.CONSTANT, b"\x00\x00")]),
        encoding.payload("frames", 1, [encoding.column("file", encoding.CONSTANT, encoding.svarint(2**40))]),
        encoding.payload("operators", 1, constants[:3]),
        b"",
    ]
    for bomb in bombs:
        recording = storage.read(write(tmp_path, encoding.head() + encoding.block(bomb)))
        assert recording.stopped_at is not None, bomb
        assert recording.operator_rows == 0


def test_a_block_of_operators_with_a_damaged_column_is_an_input_error(tmp_path: Path) -> None:
    for name, data in (("start_ns", b"\x80"), ("depth", encoding.svarint(2**40)), ("name", b"\x00\x00")):
        columns = {
            key: encoding.column(key, encoding.CONSTANT, encoding.svarint(0))
            for key in build.OPERATOR_DEFAULTS
        }
        columns[name] = encoding.column(name, encoding.PLAIN, data)
        path = write(
            tmp_path,
            encoding.head() + encoding.block(encoding.payload("operators", 1, list(columns.values()))),
        )
        with pytest.raises(InputError, match="the operators cannot be read"):
            all_operators(storage.read(path))


def test_facts_of_a_recording(tmp_path: Path) -> None:
    program = Program(a={"b": 1, "c": "x", "d": [1, "y"], "e": True, "f": 10**30}, g=3)
    recording = program.recording(tmp_path)
    assert recording.number("a", "b") == 1
    assert recording.number("a", "c") is None
    assert recording.number("a", "e") is None
    assert recording.number("a", "f") is None
    assert recording.number("g", "b") is None
    assert recording.text("a", "c") == "x"
    assert recording.text("a", "b") is None
    assert recording.texts("a", "d") == ["y"]
    assert recording.texts("a", "c") == ["x"]
    assert recording.texts("z") == []
    assert np.array_equal(recording[Modules].parent, np.empty(0))


def test_invalid_ids_of_tensor_values_become_none(tmp_path: Path) -> None:
    made = build.Program()
    first, early = made.signature("f32[8]"), made.string("early")
    looks = {"signature": [first, 99], "values": [early, 99]}
    recording = storage.read(write(tmp_path, made.encode() + encoding.table_block("signature_values", looks)))
    assert recording[SignatureValues].signature.tolist() == [first, -1]
    assert recording[SignatureValues].values.tolist() == [early, -1]
    assert [reason.partition(":")[0] for reason in recording[Losses].reason] == ["signature_values"]
