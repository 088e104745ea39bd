"""The GPU sections, with findings written by hand."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.tables.gpu import CopyKind, MemoryKind, WaitKind
from perfprobe.tables.trace import Gap
from tests.report.gpu import ADD, GEMM, MS, OTHER, OnGpu, transformer, with_gpu_times
from tests.report.test_ranges import section
from tests.report.test_text import report, training

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


def test_kernels_by_time_with_what_launched_them(tmp_path: Path) -> None:
    heading, *_ = lines = section(render(transformer().findings(tmp_path), width=300), "GPU kernels")
    assert heading == "GPU kernels  5 rows by time, 100 % of kernel time"
    first, second, third, graph, lost = cells(lines)[:5]
    assert first == [
        *("50.0 %", "30.0 ms", "10", "3.00 ms", "1.50 ms", "6.00 ms"),
        *(GEMM, "aten::mm", "f16[2048,512] f16[512,2048].T", "model.py:88 in Attention.forward", "forward"),
    ]
    assert (second[0], second[-1]) == ("33.3 %", "backward")
    assert third[6:8] == ["vectorized_elementwise_kernel<CUDAFunctor_add>", "aten::add"]
    assert graph[6:9] == ["(graph) triton_poi_fused_add_3", "-", "-"]
    assert graph[9] == "train.py:31 in step"
    assert lost[9] == "(the call that started it was not recorded)"
    assert "(graph): by launches of CUDA graphs (4), at the line shown" in lines[-1]
    assert "--gpu-links exact" not in lines[-1]
    on = transformer()
    on.figures |= {"exact": 40, "disagreements": 2}
    text = render(on.findings(tmp_path))
    assert "40 calls were linked by the operator's number (--gpu-links exact); by time 2 of them" in text
    assert "Of 10 kernels and copies the starting call is not known." in lines[-1]


def test_missing_times_are_not_zero(tmp_path: Path) -> None:
    on = OnGpu()
    site = on.site("aten::mm", "/p/a.py:1 f")
    on.kernel("partly", 2 * MS, site, untimed=5)
    on.kernel("never", -1, site, untimed=10, least_ns=-1, most_ns=-1)
    on.device(2 * MS)
    on.figures["untimed"] = 15
    text = render(on.findings(tmp_path))
    partly, never, *_ = cells(section(text, "GPU kernels"))
    assert partly[:4] == ["100 %", "2.00 ms+", "10", "400 us"]
    assert never[:6] == ["-", "-", "10", "-", "-", "-"]
    assert "+ kernels without a time are missing; 15 records in all have none." in text
    assert "15 kernels and copies without times are missing in times and busy shares." in text
    assert "busy for at least 2.0 % of wall" in text
    assert "the bottleneck is unknown" in text


@pytest.mark.parametrize("name", ["dropped_records", "refused_buffers", "lent_buffers"])
def test_with_lost_records_no_bottleneck_is_named(name: str, tmp_path: Path) -> None:
    on = OnGpu(gpu={name: 4})
    on.device(95 * MS)
    text = " ".join(render(on.findings(tmp_path)).split())
    assert "GPU 0 was busy for at least 95.0 % of wall" in text
    assert "records of its work are lost, so the bottleneck is unknown." in text


def test_copies_are_grouped_by_direction(tmp_path: Path) -> None:
    on = transformer()
    on.copy(
        CopyKind.FILL, 0, int(MemoryKind.DEVICE), on.site(None, None), untimed=1, is_async=-1, total_ns=500
    )
    on.copy(77, 99, -1, on.site(None, None), untimed=4, is_async=-1, total_ns=-1)
    heading, *_ = lines = section(render(on.findings(tmp_path)), "GPU copies")
    assert heading == (
        "GPU copies  4 rows by time; in all 38.1 MiB to GPU, 38.1 MiB unknown, 38.1 MiB fill, 16 B from GPU"
    )
    load, item, fill, unknown = cells(lines)[:4]
    assert load == [
        *("2.00 ms", "4", "500 us", "38.1 MiB", "20.0", "to GPU", "pageable sync", "aten::copy_"),
        *("train.py:18 in main", "other"),
    ]
    assert item[3:7] == ["16 B", "<0.01", "from GPU", "pinned async"]
    assert (fill[0], fill[4:7]) == ("500 ns+", ["-", "fill", "-"])
    assert (unknown[0], unknown[4:7]) == ("-", ["-", "unknown", "-"])
    assert lines[-1].startswith("Pageable: ")


def test_waits_and_their_total_time(tmp_path: Path) -> None:
    on = transformer()
    on.wait(WaitKind.STREAM_WAIT_EVENT, "cudaStreamWaitEvent", 50 * MS, on.site(None, "/p/a.py:3 f"))
    heading, *_ = lines = section(render(on.findings(tmp_path)), "GPU waits")
    assert heading == "GPU waits  2 rows by time; the program waited 12.0 ms (12.0 % of wall)"
    assert cells(lines)[1] == [
        *("12.0 %", "12.0 ms", "4", "3.00 ms", "6.00 ms", "a stream", "cudaStreamSynchronize"),
        *("aten::_local_scalar_dense", "train.py:25 in main", "other"),
    ]
    assert cells(lines)[0][5] == "stream for an event"


def test_devices_cuda_calls_and_the_median_step(tmp_path: Path) -> None:
    text = render(transformer().findings(tmp_path))
    assert cells(section(text, "GPUs"))[0] == [
        *(
            "0",
            "56.0 %",
            "56.0 ms",
            "70.0 ms",
            "40",
            "56.0 ms",
            "8",
            "1.00 ms",
            "1.00 MiB",
            "1",
            "NVIDIA H200",
        ),
    ]
    assert "Median of 4 steps: 10.0 ms; 11 kernels taking 7.00 ms, 2 copies taking 0 ns (1.00 MiB).\n" in text
    assert cells(section(text, "CUDA calls"))[0] == [
        "4.00 ms",
        "500",
        "8.00 us",
        "1.00 ms",
        "cudaLaunchKernel",
    ]


@pytest.mark.parametrize(
    ("busy_ms", "waited_ms", "said"),
    [
        (
            69,
            20,
            "69.0 % of wall, 98.6 % of the time from its first to its last work: there the GPU is the",
        ),
        (
            42,
            20,
            "60.0 % of the time from its first to its last work: for the other 40.0 % it waited for the",
        ),
        (
            7,
            0,
            " 10.0 % of the time from its first to its last work: mostly it waited for the program, which is "
            "the bottleneck.",
        ),
        (7, 20, "which is the bottleneck, but the program waited for the GPU for 20.0 % of wall."),
    ],
)
def test_the_headline_says_whether_host_or_gpu_waits(
    tmp_path: Path, busy_ms: int, waited_ms: int, said: str
) -> None:
    on = OnGpu()
    on.device(busy_ms * MS)
    on.wait(WaitKind.STREAM, "cudaStreamSynchronize", waited_ms * MS, on.site(None, None))
    text = render(on.findings(tmp_path))
    assert said in text
    assert text.splitlines()[1].startswith("GPU 0 was busy for ")


@pytest.mark.parametrize(
    ("busy", "computing", "nccl", "copying", "said"),
    [  # of 70 ms from first to last work
        # A loop that copies its batches over PCIe: the GPU is busy but hardly computes.
        (
            69,
            7,
            0,
            66,
            "(computing 10.0 %, copying 94.3 %): it computed for 10.0 % only, so copying is the bottleneck.",
        ),
        # With overlapping copies it computes all the time.
        (69, 66, 0, 50, "(computing 94.3 %, copying 71.4 %): there the GPU is the bottleneck."),
        # One of several GPUs spins while it waits for the slowest.
        (
            69,
            21,
            56,
            0,
            "NCCL 80.0 %): it computed for 30.0 % only, so NCCL (its kernels run while they wait for other ",
        ),
        (
            69,
            49,
            21,
            0,
            "it computed for 70.0 %, and NCCL (its kernels run while they wait for other GPUs too) took ",
        ),
        (42, 7, 0, 35, "copying is the bottleneck; for the other 40.0 % it waited for the program."),
        (42, 41, 0, 2, "work: for the other 40.0 % it waited for the program, so both are a bottleneck."),
        (14, 1, 0, 13, "(computing 1.4 %, copying 18.6 %): mostly it waited for the program, which is the "),
    ],
)
def test_copies_and_nccl_do_not_count_as_computing(
    busy: int, computing: int, nccl: int, copying: int, said: str, tmp_path: Path
) -> None:
    on = OnGpu()
    apart = {"computing_ns": computing * MS, "nccl_ns": nccl * MS, "copying_ns": copying * MS}
    on.device(busy * MS, **apart)
    assert said in " ".join(render(on.findings(tmp_path)).split())


@pytest.mark.parametrize(
    ("busy_ms", "session", "is_said"), [(42, 1, True), (7, 2, True), (69, 1, False), (42, None, False)]
)
def test_the_cost_of_recording_launches_is_shown_if_the_gpu_waited(
    busy_ms: int, session: int | None, is_said: bool, tmp_path: Path
) -> None:
    """Of 70 ms, 1,000 calls are 1 to 10 ms longer: 1 of 69 ms, 10 of 60 ms."""
    on = OnGpu(gpu={} if session is None else {"session": session, "most_nodes": 2500})
    on.device(busy_ms * MS)
    for name, calls in (("cudaLaunchKernel", 900), ("cudaMemcpyAsync", 100)):
        row = {"name": on.string(name), "calls": calls, "failed": 0, "total_ns": MS, "longest_ns": MS}
        on.calls.append(row)
    text = " ".join(render(on.findings(tmp_path)).split())
    said = (
        "Recording made its 1,000 calls of CUDA slower (CUPTI +1 to 17 %: 1 to 10 us a launch). Graphs launch"
    )
    assert (f"{said} up to 2,500 kernels: --gpu-graphs launch costs less." in text) is is_said
    assert ("Recording made" in text) is is_said


def test_a_briefly_used_gpu_is_no_bottleneck(tmp_path: Path) -> None:
    on = OnGpu()
    on.device(9 * MS, first_ns=20 * MS, last_ns=30 * MS, copying_ns=0)
    text = render(on.findings(tmp_path))
    assert "busy for 9.0 % of wall, 90.0 % of the time from its first to its last work: that is only" in text
    assert "only 10.0 % of wall; it was not used in the rest." in text


def test_the_hottest_kernel_is_named_at_the_top(tmp_path: Path) -> None:
    text = render(transformer().findings(tmp_path))
    place = "model.py:88 in Attention.forward"
    assert f"Hottest kernel: {GEMM} by aten::mm, {place}, forward: 50.0 % of kernel time.\n" in text


def test_the_headline_has_the_busiest_of_several_gpus(tmp_path: Path) -> None:
    on = OnGpu(gpu={"devices": [{"name": "a"}, "b", None]})
    for busy_ns in (MS, 70 * MS, -1):
        on.device(busy_ns)
    text = render(on.findings(tmp_path))
    assert "GPU 1, the busiest of 3, was busy for 70.0 % of wall" in text
    assert [row[1] for row in cells(section(text, "GPUs"))] == ["1.0 %", "70.0 %", "-"]


def test_top_sort_and_focus_of_gpu_tables(tmp_path: Path) -> None:
    found = transformer().findings(tmp_path)
    lines = section(render(found, top=1), "GPU kernels")
    assert lines[0] == "GPU kernels  1 of 5 rows by time, 50.0 % of kernel time"
    on = transformer()
    on.kernel("often", 10, on.site("aten::mm", "/p/a.py:1 f"), kernels=1000)
    assert "often" in section(render(on.findings(tmp_path), sort="calls"), "GPU kernels")[2]
    for focus, number in (
        ("elementwise_kernel", 1),
        ("model.py:88", 2),
        ("bwd", 1),
        ("f32", 1),
        ("nothing", 0),
    ):
        text = render(transformer().findings(tmp_path, focus))
        rows = "1 row" if number == 1 else f"{number} rows"
        assert f"GPU kernels  {rows} by time, focus '{focus}' of 5, " in text or number == 0
        assert ("GPU kernels" in text) is (number > 0)
        assert "GPU 0 was busy" not in text
    assert "1 row by time, focus 'to GPU' of 2; in all" in render(transformer().findings(tmp_path, "to GPU"))


def test_operators_and_lines_have_gpu_times(tmp_path: Path) -> None:
    on = transformer()
    found = with_gpu_times(on.findings(tmp_path), [50 * MS], [60 * MS])
    first = section(render(found), "Hot operators")
    assert "of operator time" in first[0]
    assert first[1].split()[:6] == ["share", "self", "gpu", "self", "gpu", "total"]
    assert cells(first)[0][1:4] == ["30.0 ms", "50.0 ms", "60.0 ms"]
    torch = section(render(found, columns="autograd"), "Hot operators")[1]
    assert re.search(r"Self CUDA +Self CUDA % +CUDA total % +CUDA total +CUDA time avg +# of Calls", torch)
    by_gpu = section(render(found, sort="gpu", width=80), "Hot operators")
    assert by_gpu[0] == "Hot operators  1 row by time on GPUs, 100 % of operators' time on GPUs"
    assert by_gpu[1].startswith("of gpu ")
    assert "50.0 ms" in by_gpu[2]
    assert "1 row by self time" in render(on.findings(tmp_path), sort="gpu")


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
        ADD, -1, on.site("aten::add", None, OTHER, gap=int(Gap.NODE_WITHOUT_FORWARD)), untimed=10, least_ns=-1
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
    assert last["reason"] == "AccumulateGrad: no forward line"
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
