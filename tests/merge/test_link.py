import re
from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators, Losses
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.build import Program, op
from tests.snapshots import Snapshot


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


def test_a_killed_recording_says_when_it_ended(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program(start={"monotonic_ns": 1_000_000_000})
    program.thread(1)
    program.run(op("b", 2_000_000_000, 3_000_000_000), depth=1)
    program.progress.append((4_500_000_000, 0))
    program.end_ns = None
    _, losses = read_all(program.recording(tmp_path))
    assert list(losses.values()) == [-1, 1]
    snapshot("\n".join(losses))


def test_open_ranges_of_a_killed_recording_are_a_loss(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program(recording={"ranges": True})
    program.end_ns = None
    (reason,) = read_all(program.recording(tmp_path))[1]
    snapshot(reason)


def test_a_killed_recording_says_when_counting_ended(tmp_path: Path, snapshot: Snapshot) -> None:
    reasons = []
    for facts in (
        {"counted_until_ns": 3_510_000_000},
        {"counted_until_ns": 3_510_000_000, "ended_ns": 3_000_000_000},
        None,
    ):
        program = Program(start={"monotonic_ns": 1_000_000_000}, recording={"python": "both"})
        program.meta |= {} if facts is None else {"cprofile": facts}
        program.end_ns = None
        (reason,) = read_all(program.recording(tmp_path))[1]
        reasons.append(reason)
    snapshot("\n".join(reasons))


def test_a_truncated_file_says_where_reading_stopped(tmp_path: Path, snapshot: Snapshot) -> None:
    path = tmp_path / "cut.perfprobe"
    data = two_threads().encode()
    path.write_bytes(data[:-1])
    _, losses = read_all(storage.read(path))
    (reason,) = losses
    assert f" of {len(data) - 1:,}" in reason
    snapshot(re.sub(r"[\d,]+ of [\d,]+", "AT of SIZE", reason))


def test_damaged_rows_are_counted(tmp_path: Path, snapshot: Snapshot) -> None:
    program = two_threads()
    program.operators[0]["stack"] = 9
    program.operators[1]["end_ns"] = -1
    program.operators[2]["thread"] = 77
    program.operators[3]["end_ns"] = 2**62
    rows, losses = read_all(program.recording(tmp_path))
    assert (rows.self_ns >= 0).all()
    assert sorted(losses.values()) == [1, 1, 2, 2]
    snapshot("\n".join(f"{count} {reason}" for reason, count in losses.items()))


def test_an_empty_recording_gives_an_empty_trace(tmp_path: Path) -> None:
    rows, losses = read_all(Program().recording(tmp_path))
    assert len(rows) == 0
    assert losses == {}
