"""Several recordings in one process, with a stand-in that has the faults of CUPTI versions."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu import ApiCalls, Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.collect.runs import LIMIT_S
from tests.collect.standin import LAUNCHES as CALLS
from tests.collect.standin import STUB, environment
from tests.snapshots import Snapshot


def write(folder: Path, program: str) -> None:
    """Writes a program that needs no torch, because operators are not recorded."""
    (folder / "torch.py").write_text(STUB)
    (folder / "main.py").write_text(CALLS + program)


def blocks(program: str, folder: Path, standin: Path, count: int, **settings: str) -> list[Recording]:
    """Recordings in one process, each of a block that runs `program` with its number as `i`."""
    text = f"""
import perfprobe
def block(i):
{textwrap.indent(textwrap.dedent(program), "    ")}
for i in range({count}):
    with perfprobe.profile(f"block{{i}}.perfprobe", operators="off", gpu="cupti"):
        block(i)
"""
    write(folder, text)
    environ = {**os.environ, **environment(standin, **settings)}
    subprocess.run([sys.executable, "main.py"], cwd=folder, env=environ, timeout=LIMIT_S, check=True)
    return [storage.read(folder / f"block{i}.perfprobe") for i in range(count)]


def gpu_losses(recording: Recording) -> dict[str, tuple[int, str]]:
    """Count and remedy by reason, including losses of linking."""
    losses: list[Losses] = []
    for _ in link(recording).operators(losses):
        pass
    table = Losses.concat([recording[Losses], *losses])
    columns = zip(table.source, table.reason, table.count.tolist(), table.remedy, strict=True)
    return {str(reason): (count, str(remedy)) for source, reason, count, remedy in columns if source == "gpu"}


def in_session(recording: Recording) -> bool:
    """Whether all kernels ran between start and end of the session."""
    kernels = recording[Kernels]
    return bool(
        np.all(kernels.start_ns >= recording.fact("gpu", "started_ns"))
        and np.all(kernels.end_ns <= recording.fact("gpu", "stopped_ns"))
        and np.all(kernels.end_ns - kernels.start_ns == 1000)
    )


LAUNCHES = """
for _ in range(12):
    work(torch.ones(2), "k", 1000)
wait()
"""


@pytest.mark.parametrize("layout", ["13.0", "13.1"])
def test_three_blocks_of_a_process_use_the_same_clock(layout: str, tmp_path: Path, standin: Path) -> None:
    for number, recording in enumerate(blocks(LAUNCHES, tmp_path, standin, 3, layout=layout), 1):
        assert len(recording[Kernels]) == 12
        assert in_session(recording)
        assert recording.fact("gpu", "session") == number
        assert gpu_losses(recording) == {}


def test_kernels_in_the_default_clock_are_converted_and_counted(
    tmp_path: Path, standin: Path, snapshot: Snapshot
) -> None:
    told = []
    for recording in blocks(LAUNCHES, tmp_path, standin, 2, realtime="4"):
        assert in_session(recording)
        ((reason, (count, remedy)),) = gpu_losses(recording).items()
        assert count == 3
        told.append(f"{reason}: {remedy}")
    assert told[0] == told[1]
    snapshot(told[0])


GRAPHS = """
gpu.standin_launch_graph(b"first", 3, 1000, 7)
gpu.standin_launch_graph(b"second", 3, 1000, 7)
wait()
"""


def test_graphs_of_a_second_block_have_no_line_instead_of_a_wrong_one(
    tmp_path: Path, standin: Path, snapshot: Snapshot
) -> None:
    """The stand-in plays 13.0, which gives kernels of a graph the number of the previous launch."""
    lost = []
    for number, recording in enumerate(blocks(GRAPHS, tmp_path, standin, 2), 1):
        links = link(recording).gpu
        assert links is not None
        kernels, calls = recording[Kernels], recording[ApiCalls]
        started = np.append(calls.start_ns, -1)[links.kernel_call]
        by_name = {
            recording[Strings][name]: set(started[kernels.name == name].tolist())
            for name in set(kernels.name)
        }
        first, second = sorted(calls.start_ns[links.graph_launch].tolist())
        expected = ({first}, {second}) if number == 1 else ({-1}, {-1})
        assert (by_name["first"], by_name["second"]) == expected
        lost.append(gpu_losses(recording))
    ((reason, (count, remedy)),) = lost[1].items()
    assert (lost[0], count) == ({}, 6)
    snapshot(f"{reason}: {remedy}")


def alone(program: str, folder: Path, standin: Path, *words: str) -> tuple[int, Recording]:
    """Exit status and recording of a program."""
    write(folder, textwrap.dedent(program))
    options = ["-q", "--operators", "off", "--gpu", "cupti", "-o", "run.perfprobe", *words]
    given = [sys.executable, "-m", "perfprobe", *options, "main.py"]
    environ = {**os.environ, **environment(standin)}
    done = subprocess.run(given, cwd=folder, env=environ, timeout=LIMIT_S, check=False)
    return done.returncode, storage.read(folder / "run.perfprobe")


def test_a_kernel_that_never_ends_does_not_keep_the_program(
    tmp_path: Path, standin: Path, snapshot: Snapshot
) -> None:
    """As NCCL's kernels if another rank has died. Plain Python does not wait for them."""
    program = """
        work(torch.ones(2), "k", 1000)
        wait()
        gpu.standin_launch(b"spin", 10**12, 7)
        sys.exit(3)
    """
    status, recording = alone(program, tmp_path, standin)
    assert status == 3
    assert [recording[Strings][name] for name in recording[Kernels].name] == ["k"]
    snapshot("\n".join(gpu_losses(recording)))


def test_each_launch_of_a_graph_can_be_one_row(tmp_path: Path, standin: Path) -> None:
    program = """
        for _ in range(3):
            gpu.standin_launch_graph(b"node", 5, 1000, 7)
        wait()
    """
    _, recording = alone(program, tmp_path, standin, "--gpu-graphs", "launch")
    kernels = recording[Kernels]
    assert [recording[Strings][name] for name in kernels.name] == ["CUDA graph"] * 3
    assert (kernels.end_ns - kernels.start_ns).tolist() == [5000] * 3
    assert kernels.graph.tolist() == [1] * 3
    assert kernels.launch.tolist() == [-1] * 3
    assert gpu_losses(recording) == {}
