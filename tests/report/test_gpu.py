"""The GPU sections, with findings written by hand."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.tables.gpu import CopyKind, MemoryKind, WaitKind
from perfprobe.tables.trace import NoLine
from tests.report.gpu import ADD, GEMM, MS, OTHER, OnGpu, transformer, with_gpu_times
from tests.report.test_ranges import section
from tests.report.test_text import report, training
from tests.snapshots import Snapshot


def headline(on: OnGpu, folder: Path) -> str:
    """What is said of the GPU above the tables."""
    return render(on.findings(folder), width=200).partition("\n\n")[0]


TITLES = ("GPUs", "GPU kernels", "GPU copies", "GPU waits", "CUDA calls")


def cells(lines: Sequence[str]) -> list[list[str]]:
    """Cells of a section's rows, split at two or more blanks."""
    return [re.split(r" {2,}", line.strip()) for line in lines[2:]]


def test_without_gpu_records_there_are_no_gpu_sections(tmp_path: Path) -> None:
    text = report(training(), tmp_path)
    assert not any(title in text for title in TITLES)
    assert "gpu self" not in text


def test_a_recording_without_any_gpu_work_has_no_empty_tables(tmp_path: Path) -> None:
    text = render(OnGpu().findings(tmp_path))
    assert not any(line.startswith(TITLES) for line in text.splitlines())


def test_kernels_by_time_with_what_launched_them(tmp_path: Path, snapshot: Snapshot) -> None:
    lines = section(render(transformer().findings(tmp_path), width=300), "GPU kernels")
    shares = [float(row[0].partition(" ")[0]) for row in cells(lines)[:5]]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    on = transformer()
    on.figures |= {"exact": 40, "disagreements": 2}
    exact = section(render(on.findings(tmp_path), width=300), "GPU kernels")
    snapshot("\n".join(lines), notes_of_exact_links="\n".join(exact[7:]))


def test_missing_times_are_not_zero(tmp_path: Path, snapshot: Snapshot) -> None:
    on = OnGpu()
    site = on.site("aten::mm", "/p/a.py:1 f")
    on.kernel("partly", 2 * MS, site, untimed=5)
    on.kernel("never", -1, site, untimed=10, least_ns=-1, most_ns=-1)
    on.device(2 * MS)
    on.figures["untimed"] = 15
    text = render(on.findings(tmp_path))
    lines = section(text, "GPU kernels")
    partly, never, *_ = cells(lines)
    assert partly[:4] == ["100 %", "2.00 ms+", "10", "400 us"]
    assert never[:6] == ["-", "-", "10", "-", "-", "-"]
    headline = next(line for line in text.splitlines() if line.startswith("GPU 0"))
    devices = section(text, "GPUs")
    snapshot(headline, kernels="\n".join(lines), devices="\n".join(devices))


@pytest.mark.parametrize("name", ["dropped_records", "refused_buffers", "lent_buffers"])
def test_with_lost_records_no_bottleneck_is_named(name: str, tmp_path: Path, snapshot: Snapshot) -> None:
    on = OnGpu(gpu={name: 4})
    on.device(95 * MS)
    snapshot(headline(on, tmp_path))


def test_copies_are_grouped_by_direction(tmp_path: Path, snapshot: Snapshot) -> None:
    on = transformer()
    on.copy(
        CopyKind.FILL, 0, int(MemoryKind.DEVICE), on.site(None, None), untimed=1, is_async=-1, total_ns=500
    )
    on.copy(77, 99, -1, on.site(None, None), untimed=4, is_async=-1, total_ns=-1)
    lines = section(render(on.findings(tmp_path)), "GPU copies")
    assert [row[4] for row in cells(lines)[:4]] == ["20.0", "<0.01", "-", "-"]
    snapshot("\n".join(lines))


def test_waits_and_their_total_time(tmp_path: Path, snapshot: Snapshot) -> None:
    on = transformer()
    on.wait(WaitKind.STREAM_WAIT_EVENT, "cudaStreamWaitEvent", 50 * MS, on.site(None, "/p/a.py:3 f"))
    lines = section(render(on.findings(tmp_path)), "GPU waits")
    # A stream that waits does not hold the program up: it is in the table and not in the sum.
    assert "12.0 ms" in lines[0]
    snapshot("\n".join(lines))


def test_devices_cuda_calls_and_the_median_step(tmp_path: Path, snapshot: Snapshot) -> None:
    text = render(transformer().findings(tmp_path))
    snapshot("\n".join([*section(text, "GPUs"), "", *section(text, "CUDA calls")]))


@pytest.mark.parametrize(
    ("busy_ms", "waited_ms"),
    [(69, 20), (42, 20), (7, 0), (7, 20)],
    ids=["the GPU", "both", "the program", "the program, which waits"],
)
def test_the_headline_says_whether_host_or_gpu_waits(
    tmp_path: Path, busy_ms: int, waited_ms: int, snapshot: Snapshot
) -> None:
    on = OnGpu()
    on.device(busy_ms * MS)
    on.wait(WaitKind.STREAM, "cudaStreamSynchronize", waited_ms * MS, on.site(None, None))
    text = headline(on, tmp_path)
    assert text.splitlines()[1].startswith("GPU 0 ")
    snapshot(text)


@pytest.mark.parametrize(
    ("busy", "computing", "nccl", "copying"),
    [  # of 70 ms from first to last work
        # A loop that copies its batches over PCIe: the GPU is busy but hardly computes.
        (69, 7, 0, 66),
        # With overlapping copies it computes all the time.
        (69, 66, 0, 50),
        # One of several GPUs spins while it waits for the slowest.
        (69, 21, 56, 0),
        (69, 49, 21, 0),
        (42, 7, 0, 35),
        (42, 41, 0, 2),
        (14, 1, 0, 13),
    ],
)
def test_copies_and_nccl_do_not_count_as_computing(
    busy: int, computing: int, nccl: int, copying: int, tmp_path: Path, snapshot: Snapshot
) -> None:
    on = OnGpu()
    apart = {"computing_ns": computing * MS, "communication_ns": nccl * MS, "copying_ns": copying * MS}
    on.device(busy * MS, **apart)
    snapshot(headline(on, tmp_path))


@pytest.mark.parametrize(
    ("busy_ms", "session", "is_said"), [(42, 1, True), (7, 2, True), (69, 1, False), (42, None, False)]
)
def test_the_cost_of_recording_launches_is_shown_if_the_gpu_waited(
    busy_ms: int, session: int | None, is_said: bool, tmp_path: Path, snapshot: Snapshot
) -> None:
    """Of 70 ms, 1,000 calls are 1 to 10 ms longer: 1 of 69 ms, 10 of 60 ms."""
    on = OnGpu(gpu={} if session is None else {"session": session, "most_nodes": 2500})
    on.device(busy_ms * MS)
    for name, calls in (("cudaLaunchKernel", 900), ("cudaMemcpyAsync", 100)):
        row = {"name": on.string(name), "calls": calls, "failed": 0, "total_ns": MS, "longest_ns": MS}
        on.calls.append(row)
    text = headline(on, tmp_path)
    assert ("Recording made" in text) is is_said
    snapshot(text)


def test_a_briefly_used_gpu_is_no_bottleneck(tmp_path: Path, snapshot: Snapshot) -> None:
    on = OnGpu()
    on.device(9 * MS, first_ns=20 * MS, last_ns=30 * MS, copying_ns=0)
    snapshot(headline(on, tmp_path))


def test_the_hottest_kernel_is_named_at_the_top(tmp_path: Path, snapshot: Snapshot) -> None:
    snapshot(headline(transformer(), tmp_path))


def test_the_headline_has_the_busiest_of_several_gpus(tmp_path: Path, snapshot: Snapshot) -> None:
    on = OnGpu(gpu={"devices": [{"name": "a"}, "b", None]})
    for busy_ns in (MS, 70 * MS, -1):
        on.device(busy_ns)
    text = render(on.findings(tmp_path))
    assert [row[1] for row in cells(section(text, "GPUs"))] == ["1.0 %", "70.0 %", "-"]
    snapshot(headline(on, tmp_path))


def test_top_sort_and_focus_of_gpu_tables(tmp_path: Path, snapshot: Snapshot) -> None:
    found = transformer().findings(tmp_path)
    top = section(render(found, top=1), "GPU kernels")
    on = transformer()
    on.kernel("often", 10, on.site("aten::mm", "/p/a.py:1 f"), kernels=1000)
    assert "often" in section(render(on.findings(tmp_path), sort="calls"), "GPU kernels")[2]
    focused = []
    for focus, number in (("elementwise_kernel", 1), ("model.py:88", 2), ("bwd", 1), ("f32", 1)):
        text = render(transformer().findings(tmp_path, focus))
        lines = section(text, "GPU kernels")
        assert len([line for line in lines if " % " in line.lstrip()[:7]]) == number
        assert "was busy" not in text
        focused.append(lines[0])
    assert "GPU kernels" not in render(transformer().findings(tmp_path, "nothing"))
    copies = section(render(transformer().findings(tmp_path, "to GPU")), "GPU copies")
    snapshot(top="\n".join(top), focused="\n".join([*focused, copies[0]]))


def test_operators_and_lines_have_gpu_times(tmp_path: Path, snapshot: Snapshot) -> None:
    on = transformer()
    found = with_gpu_times(on.findings(tmp_path), [50 * MS], [60 * MS])
    options: dict[str, dict[str, Any]] = {
        "short": {},
        "torchs": {"columns": "autograd"},
        "by_gpu": {"sort": "gpu", "width": 80},
    }
    shown = {name: section(render(found, **each), "Hot operators") for name, each in options.items()}
    assert cells(shown["short"])[0][1:4] == ["30.0 ms", "50.0 ms", "60.0 ms"]
    shown["without"] = section(render(on.findings(tmp_path), sort="gpu"), "Hot operators")
    snapshot(**{name: "\n".join(lines) for name, lines in shown.items()})


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
@pytest.mark.parametrize("columns", ["short", "all"])
def test_tables_fit_the_width_and_places_are_complete(tmp_path: Path, width: int, columns: str) -> None:
    text = render(transformer().findings(tmp_path), width=width, columns=columns)
    for title in TITLES:
        lines = section(text, title) if f"{title}  " in text else [title]
        assert max(map(cell_len, lines)) <= width
    for place in ("model.py:88", "model.py:90", "train.py:31", "train.py:18", "train.py:25"):
        assert place in text


def test_blocks_and_threads_of_the_longest_kernel(tmp_path: Path) -> None:
    text = render(transformer().findings(tmp_path), columns="all")
    assert "512 x 128" in section(text, "GPU kernels")[2]


def test_control_characters_in_names_are_escaped(tmp_path: Path) -> None:
    on = OnGpu(gpu={"devices": [{"name": "GPU\x1b[2J"}]})
    evil = "k\x1b[31mernel\n\u202e" * 9
    site = on.site(evil, f"/p/{evil}.py:7 {evil}")
    on.kernel(evil, MS, site)
    on.copy(CopyKind.HOST_TO_DEVICE, 1, 3, site)
    on.wait(WaitKind.EVENT, evil, MS, site)
    on.calls.append({"name": on.string(evil), "calls": 1, "failed": 1, "total_ns": 1, "longest_ns": 1})
    on.device(MS)
    found = on.findings(tmp_path)
    text = render(found) + render(found, width=80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "k\\x1b[31mernel" in text


def test_json_has_all_gpu_tables(tmp_path: Path) -> None:
    on = transformer()
    on.kernel(
        ADD,
        -1,
        on.site("aten::add", None, OTHER, no_line=int(NoLine.NODE_WITHOUT_FORWARD)),
        untimed=10,
        least_ns=-1,
    )
    on.step_counts.append({"step": -1, "kernels": 3})
    tables = document(on.findings(tmp_path))["tables"]
    first, second, *_, last = tables["kernels"]
    assert (first["name"], first["operator"], first["file"], first["line"]) == (
        GEMM,
        "aten::mm",
        "/p/model.py",
        88,
    )
    assert (first["grid_x"], first["grid_y"], first["block_x"], first["registers"]) == (16, 32, 128, 90)
    assert (first["total_ns"], first["kernels"], first["is_graph"], first["linked"]) == (
        30 * MS,
        10,
        False,
        True,
    )
    assert (second["phase"], second["forward_line"], second["grid_x"]) == ("backward", 88, None)
    assert (last["total_ns"], last["least_ns"], last["file"]) == (None, None, None)
    assert last["reason"].startswith("AccumulateGrad: ")
    load, item = tables["copies"]
    assert (load["kind"], load["source"], load["is_async"]) == ("host_to_device", "pageable", False)
    assert (load["direction"], load["bytes_per_s"], item["is_async"]) == ("to GPU", 20e9, True)
    assert tables["gpu_waits"][0]["kind"] == "stream"
    assert tables["gpu_waits"][0]["call"] == "cudaStreamSynchronize"
    assert tables["api_calls"][0] == {
        **{"name": "cudaLaunchKernel", "calls": 500, "failed": 0, "total_ns": 4 * MS, "longest_ns": MS}
    }
    assert tables["devices"][0]["name"] == "NVIDIA H200"
    assert [row["step"] for row in tables["steps"]] == [0, 1, 2, 3, None]
    assert (tables["steps"][1]["kernels"], tables["steps"][4]["kernels"]) == (11, 3)
    assert tables["gpu"][0]["graph_launches"] == 4
    assert [row["gpu_self_ns"] for row in tables["hotspots"]] == [None]
    assert len(document(on.findings(tmp_path), top=1)["tables"]["kernels"]) == 1
    assert len(document(on.findings(tmp_path, "bwd"))["tables"]["kernels"]) == 1
