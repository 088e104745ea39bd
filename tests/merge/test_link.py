from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators, Losses
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.build import Program, op


def read_all(recording: Recording) -> tuple[LinkedOperators, dict[str, int]]:
    losses: list[Losses] = []
    rows = LinkedOperators.concat(list(link(recording).operators(losses)))
    return rows, {str(row.reason[0]): int(row.count[0]) for row in losses}


def two_threads() -> Program:
    program = Program()
    program.thread(1)
    program.thread(2)
    program.run(op("a", 0, 100, op("b", 10, 30), op("c", 40, 45)))
    program.run(op("d", 5, 25, op("e", 6, 8)), thread=1)
    program.run(op("f", 200, 210))
    return program


@pytest.mark.parametrize("batch_rows", [1, 3, 100])
def test_self_times_of_interleaved_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr(storage, "BATCH_ROWS", batch_rows)
    recording = two_threads().recording(tmp_path, 1)
    rows, losses = read_all(recording)
    names = [recording[Strings][int(name)] for name in rows.name]
    assert dict(zip(names, rows.self_ns.tolist(), strict=True)) == {
        "a": 75,
        "b": 20,
        "c": 5,
        "d": 18,
        "e": 2,
        "f": 10,
    }
    assert losses == {}


def test_operators_can_be_read_again(tmp_path: Path) -> None:
    trace = link(two_threads().recording(tmp_path))
    first = [rows.self_ns.tolist() for rows in trace.operators()]
    assert first == [rows.self_ns.tolist() for rows in trace.operators()]


def test_a_killed_recording_says_when_it_ended(tmp_path: Path) -> None:
    program = Program(start={"monotonic_ns": 1_000_000_000})
    program.thread(1)
    program.run(op("b", 2_000_000_000, 3_000_000_000), depth=1)
    program.progress.append((4_500_000_000, 0))
    program.end_ns = None
    _, losses = read_all(program.recording(tmp_path))
    killed = (
        "the recording was not closed (program killed, or still running): "
        "recorded up to 3.50 s after its start, at most the last second before the end is missing"
    )
    assert losses == {
        killed: -1,
        "inside an operator or range that had not ended when recording stopped: counted as outermost": 1,
    }


def test_open_ranges_of_a_killed_recording_are_a_loss(tmp_path: Path) -> None:
    program = Program(recording={"ranges": True})
    program.end_ns = None
    (reason,) = read_all(program.recording(tmp_path))[1]
    assert reason.endswith("is missing; so are named ranges that had not ended")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"counted_until_ns": 3_510_000_000},
            "missing from when they were last written, 2.51 s after the start",
        ),
        ({"counted_until_ns": 3_510_000_000, "ended_ns": 3_000_000_000}, ""),
        (None, "missing: they had not been written yet"),
    ],
)
def test_a_killed_recording_says_when_counting_ended(
    facts: dict[str, int] | None, said: str, tmp_path: Path
) -> None:
    program = Program(start={"monotonic_ns": 1_000_000_000}, recording={"python": "both"})
    program.meta |= {} if facts is None else {"cprofile": facts}
    program.end_ns = None
    _, losses = read_all(program.recording(tmp_path))
    (reason,) = losses
    assert reason.partition("before the end is missing")[2] == (
        said and f"; calls of Python functions are {said}"
    )


def test_a_truncated_file_says_where_reading_stopped(tmp_path: Path) -> None:
    path = tmp_path / "cut.perfprobe"
    data = two_threads().encode()
    path.write_bytes(data[:-1])
    _, losses = read_all(storage.read(path))
    (reason,) = losses
    assert reason.startswith("reading stopped: the last block is cut off (at byte ")
    assert reason.endswith(
        "; what comes before is shown, recorded in part; "
        "if the program was killed there, at most the last second before the end is missing"
    )


def test_damaged_rows_are_counted(tmp_path: Path) -> None:
    program = two_threads()
    program.operators[0]["stack"] = 9
    program.operators[1]["end_ns"] = -1
    program.operators[2]["thread"] = 77
    program.operators[3]["end_ns"] = 2**62
    rows, losses = read_all(program.recording(tmp_path))
    assert losses["column stack: invalid references"] == 1
    assert losses["column thread: invalid references"] == 1
    assert losses["with an end before the start, or over a year after it: counted as 0 ns"] == 2
    assert (rows.self_ns >= 0).all()


def test_an_empty_recording_gives_an_empty_trace(tmp_path: Path) -> None:
    rows, losses = read_all(Program().recording(tmp_path))
    assert len(rows) == 0
    assert losses == {}
