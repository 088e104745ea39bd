"""What lies beside a recording is found, opened once, and joined by passes over the run."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from perfprobe.analyse import findings as passes
from perfprobe.analyse.beside import Partly, Together
from perfprobe.merge import link
from perfprobe.report.section.listed import KINDS
from perfprobe.runs import Run
from perfprobe.tables import child_sums, measured_file, storage
from perfprobe.tables.children import Children
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Totals
from perfprobe.tables.kept import KeptRun
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.ranks import Ranks
from perfprobe.tables.teams import WorkerTeams
from perfprobe.tables.workers import WorkerFindings
from tests.build import Program, op
from tests.found import find
from tests.mutations import files

PROCESS, WORKER = 4711, 102  # of the four rows in the sheet, this one is a DataLoader's worker
BESIDE = (Measurements, Children, WorkerFindings, WorkerTeams, Ranks, KeptRun)


def family(folder: Path) -> Path:
    """A recording, with the sheet of its children beside it and the recording of one."""
    path = folder / "run.perfprobe"
    facts = {"program": {"pid": PROCESS}, "children": {"folder": "children", "spawned": 4}}
    path.write_bytes(Program(**facts).encode())
    (folder / "children").mkdir()
    files.sums(folder / "children" / child_sums.FILE, PROCESS)
    own = {"program": {"pid": WORKER, "parent_pid": PROCESS}, "children": {"folder": "."}}
    child_of(path).write_bytes(Program(**own).encode())
    return path


def child_of(path: Path) -> Path:
    return path.parent / "children" / f"{WORKER}.perfprobe"


def test_a_child_is_opened_once_whoever_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, opened, read = family(tmp_path), Counter[str](), storage.read

    def counted(given: Any) -> Any:
        opened[Path(getattr(given, "name", given)).name] += 1
        return read(given)

    monkeypatch.setattr(storage, "read", counted)
    run = Run(str(path))
    for _ in range(2):
        found = run.find(BESIDE)
        assert [kind in found for kind in BESIDE] == [False, True, True, True, False, False]
    assert opened == {path.name: 1, child_of(path).name: 1}
    assert len(found[WorkerFindings].workers) == 4


@pytest.mark.parametrize("damaged", ["child", "sheet"])
def test_what_cannot_be_read_is_a_loss(damaged: str, tmp_path: Path) -> None:
    path = family(tmp_path)
    place = child_of(path) if damaged == "child" else child_of(path).with_name(child_sums.FILE)
    place.write_bytes(b"something else")
    found = Run(str(path)).find(BESIDE)
    assert [kind in found for kind in (Children, WorkerFindings, WorkerTeams)] == [True, False, False]
    assert sum(str(place) in reason for reason in found[Losses].reason) == 1


def test_losses_come_only_with_what_has_them(tmp_path: Path) -> None:
    path = family(tmp_path)
    Path(measured_file.beside(str(path))).write_text("nothing")
    run = Run(str(path))
    without = run.find((Totals,))[Losses].source.tolist()
    assert run.find((Measurements,))[Losses].source.tolist() == [*without, "bench"]
    assert run.find((Totals,))[Losses].source.tolist() == without


def test_a_recording_that_was_read_alone_has_nothing_beside_it(tmp_path: Path) -> None:
    found = find(link(storage.read(family(tmp_path))), *BESIDE)
    assert [kind for kind in BESIDE if kind in found] == []


def test_a_run_is_freed_without_a_garbage_collection(tmp_path: Path) -> None:
    """Reports on many recordings have one at a time in memory."""
    path = family(tmp_path)
    gc.collect()
    gc.disable()
    try:
        run = Run(str(path))
        run.find((*KINDS, *BESIDE), passes.Asked(together=True))
        known = weakref.ref(run)
        del run
        assert known() is None
    finally:
        gc.enable()


class Compared(NamedTuple):
    """The number of operators in each run."""

    operators: tuple[int, ...]


def test_a_pass_over_two_runs_needs_only_its_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(trace: Any, asked: Any, together: Together) -> Partly:
        found = [run.find((Totals,))[Totals].operators for run in together.runs]
        return Partly(Compared(tuple(found)), [Losses.one("compare", "for example", 1)])

    monkeypatch.setitem(passes.PASSES, Compared, passes.Pass(compared, needs=(Together,)))
    runs = []
    for number in (2, 3):
        program = Program()
        program.run(*(op("aten::mm", 10 * at, 10 * at + 5) for at in range(number)))
        path = tmp_path / f"{number}.perfprobe"
        path.write_bytes(program.encode())
        runs.append(Run(str(path)))
    both = Run(runs[0].path, runs[1:])
    assert both.find((Compared,))[Compared].operators == (2, 3)
    assert "compare" in both.find((Compared,))[Losses].source
    assert Compared not in runs[0].find((Compared,))


def job(folder: Path) -> Path:
    """A process that started two ranks; each has a recording in the folder of children."""
    path = folder / "run.perfprobe"
    path.write_bytes(
        Program(program={"pid": PROCESS}, children={"folder": "children", "spawned": 2}).encode()
    )
    (folder / "children").mkdir()
    files.sums(folder / "children" / child_sums.FILE, PROCESS)
    for number in (0, 1):
        own = Program(
            program={"pid": 200 + number, "parent_pid": PROCESS},
            children={"folder": "."},
            rank={"rank": number, "world_size": 2},
        )
        (folder / "children" / f"{200 + number}.perfprobe").write_bytes(own.encode())
    return path


def test_ranks_of_a_job_are_compared_from_each_of_its_recordings(tmp_path: Path) -> None:
    path = job(tmp_path)
    own = [tmp_path / "children" / f"{number}.perfprobe" for number in (200, 201)]
    for each in (path, *own):
        found = Run(str(each)).find((Ranks,)).get(Ranks)
        assert found is not None
        assert [(rank.rank, rank.path) for rank in found.ranks] == [(0, str(own[0])), (1, str(own[1]))]
    own[1].unlink()  # with a rank missing nobody knows who made the others wait
    assert all(Run(str(each)).find((Ranks,)).get(Ranks) is None for each in (path, own[0]))


def test_ranks_that_o_named_are_found_and_others_are_not(tmp_path: Path) -> None:
    for name, number in (("out-rank0", 0), ("out-rank1", 1), ("else-rank1", 1)):
        facts = {"program": {"pid": 1}, "rank": {"rank": number, "world_size": 2}}
        (tmp_path / f"{name}.perfprobe").write_bytes(Program(**facts).encode())
    found = Run(str(tmp_path / "out-rank1.perfprobe")).find((Ranks,)).get(Ranks)
    assert found is not None
    assert [Path(rank.path).name for rank in found.ranks] == ["out-rank0.perfprobe", "out-rank1.perfprobe"]
    assert Run(str(tmp_path / "else-rank1.perfprobe")).find((Ranks,)).get(Ranks) is None
