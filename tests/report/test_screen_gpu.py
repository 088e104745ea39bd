"""First screens of programs that wait for ranks, the lock or a GPU, or whose GPU waits: as printed."""

from __future__ import annotations

from pathlib import Path

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.analyse.account.test_device import Training
from tests.analyse.account.test_waits import MS, ForGpu, ForLock, ForRanks
from tests.build import Program, op
from tests.report.invariants import violations
from tests.snapshots import Snapshot


class MostlyForRanks(ForRanks):
    """The collective takes nearly all of the step."""

    def second(self, start_ns: int, end_ns: int) -> None:
        self.program.run(op("gloo:all_reduce", start_ns, end_ns, scope=7), thread=self.other)
        self.look(start_ns, end_ns, 23, cpu_ns=0)


class MostlyForLock(ForLock):
    """The thread waits for the lock at line 23 too."""

    def second(self, start_ns: int, end_ns: int) -> None:
        self.look(start_ns, end_ns, 23, cpu_ns=0, lock_looks=1)


class ForUnknownGpu(ForGpu):
    """The GPU's kernels are not in the recording, only the waits: the loop's thread is what is judged."""

    def in_product(self, start_ns: int, end_ns: int) -> None: ...


class Launching(Training):
    """The same without the loader, so that the GPU waits for launches."""

    def _step(self, number: int, at: int) -> None:
        self.model = self.program.stack("/p/train.py:21 main")
        for part in range(8):
            begin = at + part * 100_000
            self.program.run(op("aten::add", begin, begin + 90_000, stack=self.model, sequence=number))
            self._work(begin + 80_000, "add_kernel", begin + 85_000, 5_000)
        node = {"node_sequence": number, "node_thread": 1}
        update = self.program.stack("/p/train.py:25 main")
        self.program.run(op("AddBackward0", at + 800_000, at + 820_000, stack=update, **node))
        self.program.run(op("Optimizer.step#SGD.step", at + 820_000, at + MS, stack=update, scope=7))


def screen(program: Program, where: Path) -> str:
    """The lines above the rows, 80 columns wide. What they say holds together."""
    results = Results(program.recording(where).path)
    assert violations(results.document(View())["tables"]) == []
    return results.text(View(), width=80).partition("\n\n")[0]


def test_of_waiting(tmp_path: Path, snapshot: Snapshot) -> None:
    programs = {
        "ranks": MostlyForRanks().program,
        "lock": MostlyForLock().program,
        "gpu": ForUnknownGpu().program,
    }
    snapshot(**{name: screen(program, tmp_path) for name, program in programs.items()})


def test_of_gpus(tmp_path: Path, snapshot: Snapshot) -> None:
    programs = {"data": Training().program, "launches": Launching().program, "reads": ForGpu().program}
    snapshot(**{name: screen(program, tmp_path) for name, program in programs.items()})
