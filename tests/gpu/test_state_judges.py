"""The judgement of clocks, power and temperature about good and bad evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analyse.gpu_readings import add_reading
from tests.build import Program
from tests.gpu import states
from tests.gpu.child import Room
from tests.gpu.recorded import Seen
from tests.gpu.test_judges import verdict

S = 1_000_000_000


@pytest.mark.parametrize(
    ("readings", "line", "words"),
    [
        (8, "0000:3b:00.0, 80, 1500, 2600, 305.2, 61, 1024", ""),
        (4, "0000:3b:00.0, 80, 1500, 2600, 305.2, 61, 1024", "4 readings"),
        (8, "0000:3b:00.0, 80, 1980, 2600, 305.2, 61, 1024", "sm_clock_mhz 1500, nvidia-smi 1980"),
        (8, "0000:3b:00.0, 80, 1500, 2600, 0.305, 61, 1024", "power_mw 300000, nvidia-smi 305"),
        (8, "0000:3b:00.0, 0, 1500, 2600, 305.2, 61, 1024", "nvidia-smi saw no busy GPU"),
        (8, "[N/A]", "nvidia-smi saw no busy GPU"),
    ],
)
def test_judgement_of_states(readings: int, line: str, words: str, tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for second in range(readings):
        add_reading(program, second * S)
    seen, room = Seen(program.recording(tmp_path), {}), Room(tmp_path, tmp_path, tmp_path / "result.json")
    other = "0000:04:00.0, 0, 300, 300, 70.1, 30, 0"
    verdict(lambda: states.judge_states(seen, [line, other, line, "0000:3b:0"], room), words)
