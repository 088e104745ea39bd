"""The tables of other profilers for made programs, with every figure counted by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

import perfprobe
from perfprobe.merge import link
from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.report.rows.peers.tensorboard import tb_module_rows
from perfprobe.report.section.listed import PEER_SECTIONS, kinds_of
from perfprobe.report.section.peers.summary import cut_name
from perfprobe.results import Results
from perfprobe.support.errors import UsageError
from perfprobe.support.view import View
from perfprobe.support.views import PEER_SORTS, PEER_VIEWS, SECTION_VIEWS, VIEWS, command, needed_for
from perfprobe.tables.findings import Findings
from perfprobe.tables.memory import MemoryEvent
from tests.build import Program, op
from tests.found import find
from tests.read.test_kineto import operator, span, written
from tests.report.test_text import META
from tests.snapshots import Snapshot

MS = 1_000_000
STEP_NS, STEPS = 100 * MS, 4
FILL = 100  # a `CopyKind`


def trained(*, gpu: bool = False, steps: int = STEPS) -> Program:
    """Steps of 100 ms, equal except for the optimizer: next 10 ms, forward 30 (two nested operators), a loss
    of 5 ms in a function, backward 20 on another thread, optimizer 10 and 2 more in each step.
    """
    end_ns = steps * STEP_NS
    more = {"gpu": {"devices": [{"name": "NVIDIA H200"}]}} if gpu else {}
    program = Program(**{**META, "stop": {"monotonic_ns": end_ns, "cpu_ns": end_ns}, **more})
    main, engine = program.thread(1), program.thread(2)
    net = program.module("", "Net")
    loop = program.stack("/p/train.py:20 main")
    shape = program.signature("f32[4] f32[8,4] f32[4,8]")
    call = program.stack("/p/train.py:22 main", ("/p/model.py:88 forward", net))
    for number in range(steps):
        at = number * STEP_NS
        node = {"node_sequence": number, "node_thread": 1}
        inner = op("aten::addmm", at + 12 * MS, at + 40 * MS, stack=call, sequence=number, signature=shape)
        program.run(
            op("enumerate(DataLoader)#_Next", at, at + 10 * MS, stack=loop, scope=7),
            op(
                "mine",
                at + 10 * MS,
                at + 45 * MS,
                op("aten::linear", at + 10 * MS, at + 40 * MS, inner, stack=call),
                scope=7,
            ),
            op("aten::nll_loss", at + 40 * MS, at + 45 * MS, stack=loop),
            thread=main,
        )
        program.run(op("aten::mm", at + 50 * MS, at + 70 * MS, **node), thread=engine)
        last_ns = at + (85 + 2 * number) * MS
        step = program.stack("/p/train.py:24 main")
        program.run(op("Optimizer.step#SGD.step", at + 75 * MS, last_ns, stack=step, scope=7), thread=main)
        if gpu:
            on_gpu(program, number, at)
    return program


def on_gpu(program: Program, number: int, at: int) -> None:
    """Two overlapping kernels of forward, one of backward; a copy of the loader, a fill of SGD."""
    for place, name, called, start, end in (
        (0, "gemm", 15, 20, 40),
        (1, "gemm", 16, 30, 50),
        (2, "gemm_backward", 55, 60, 64),
    ):
        correlation = number * 10 + place
        program.api_call("cudaLaunchKernel", at + called * MS, at + (called + 1) * MS, correlation)
        program.kernel(name, at + start * MS, at + end * MS, correlation)
    for place, kind, called, start in ((3, 1, 5, 6), (4, FILL, 76, 77)):
        correlation = number * 10 + place
        program.api_call("cudaMemcpyAsync", at + called * MS, at + called * MS + 500, correlation)
        program.copy(kind, at + start * MS, at + (start + 2) * MS, correlation)


def found(program: Program, folder: Path, **asked: str) -> Findings:
    return find(link(program.recording(folder)), *kinds_of(PEER_SECTIONS), **asked)


def table(findings: Findings, view: str, width: int = 200, **options: object) -> dict[str, list[str]]:
    """The cells after the first of each row, titles too, by the first cell."""
    text = render(findings, view=view, width=width, **options)  # type: ignore[arg-type]
    rows = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_the_model_summary_has_paddles_columns_and_phases(tmp_path: Path) -> None:
    rows = table(found(trained(), tmp_path), "paddle.model")
    assert rows["Model Summary"] == ["4 steps"]
    assert rows["Name"] == ["Calls", "CPU Total", "CPU Avg", "CPU Max", "CPU Min", "CPU Ratio"]
    assert rows["Dataloader"] == ["4", "40.0 ms", "10.0 ms", "10.0 ms", "10.0 ms", "10.2 %"]
    assert rows["Forward"] == ["4", "120 ms", "30.0 ms", "30.0 ms", "30.0 ms", "30.7 %"]  # without the loss
    assert rows["Backward"][:2] == ["4", "80.0 ms"]
    assert rows["Optimization"] == ["4", "52.0 ms", "13.0 ms", "16.0 ms", "10.0 ms", "13.3 %"]
    # The last step ends with its optimizer, 9 ms early: 391 ms in total.
    assert rows["ProfileStep"] == ["4", "391 ms", "97.8 ms", "100 ms", "91.0 ms", "100 %"]
    assert rows["Others"] == ["-", "99.0 ms", "-", "-", "-", "25.3 %"]


def test_gpu_time_of_a_phase_is_the_work_launched_in_it(tmp_path: Path) -> None:
    rows = table(found(trained(gpu=True), tmp_path), "paddle.model")
    assert rows["Name"][6:] == ["GPU Total", "GPU Avg", "GPU Max", "GPU Min", "GPU Ratio"]
    assert rows["ProfileStep"][6:] == ["192 ms", "48.0 ms", "48.0 ms", "48.0 ms", "100 %"]
    assert rows["Forward"][6:] == ["160 ms", "40.0 ms", "40.0 ms", "40.0 ms", "83.3 %"]  # overlaps are added
    assert rows["Backward"][6] == "16.0 ms"
    assert rows["Dataloader"][6] == "8.00 ms"
    assert rows["Optimization"][6] == "8.00 ms"
    assert rows["Others"][6] == "0 ns"
    for name in ("Forward", "Backward", "Dataloader", "Optimization"):
        assert float(rows[name][10].split()[0]) == pytest.approx(
            float(rows[name][6].split()[0]) / 192 * 100, abs=0.05
        )


def test_the_overview_counts_overlapping_work_once(tmp_path: Path) -> None:
    rows = table(found(trained(gpu=True), tmp_path), "paddle.overview")
    assert rows["Operator"] == ["12", "220 ms", "56.3 %"]  # linear 30, loss 5, mm 20 in each step
    assert rows["OperatorInner"] == ["4", "112 ms", "28.6 %"]
    assert rows["UserDefined"] == ["4", "140 ms", "35.8 %"]  # without the ranges of loader and optimizer
    assert rows["Kernel"] == ["12", "136 ms", "34.8 %"]  # 20 to 50, and 60 to 64
    assert rows["Memcpy"] == ["4", "8.00 ms", "2.0 %"]
    assert rows["Memset"] == ["4", "8.00 ms", "2.0 %"]
    assert rows["CudaRuntime"][0] == "20"


def test_operators_and_their_nested_operators(tmp_path: Path) -> None:
    findings = found(trained(), tmp_path)
    text = render(findings, view="paddle.operator", width=120)
    names = [line.split("  ")[0] or line.split("  ")[1] for line in text.splitlines()[2:]]
    assert names[:4] == ["linear", "addmm", "mm", "nll_loss"]
    rows = table(findings, "paddle.operator")
    assert rows["aten::linear"][-1] == "54.5 %"  # of 220 ms
    assert rows["aten::addmm"][-1] == "93.3 %"  # of linear's 30
    assert table(findings, "paddle.operator", top=1).keys() & {"aten::mm"} == set()


@pytest.mark.parametrize(
    ("sort", "first"),
    [("CPUTotal", "aten::linear"), ("CPUMin", "aten::nll_loss"), ("CPUMax", "aten::linear")],
)
def test_paddles_sort_keys(tmp_path: Path, sort: str, first: str) -> None:
    view = View(view="paddle.operator", sort=sort)
    text = render(found(trained(), tmp_path), view=view.view, sort=view.sort)
    assert text.splitlines()[2].startswith(first)


def test_other_profilers_sort_keys_are_accepted() -> None:
    assert View(sort="cpu_time_total").sort == "total"
    assert View(sort="self_cuda_time_total").sort == "gpu"
    assert View(sort="count").sort == "calls"
    for key in PEER_SORTS:
        View(view="paddle.operator", sort=key)
    with pytest.raises(UsageError, match="these rows have no column max"):
        View(sort="CPUMax")


def test_only_ranges_of_the_program_are_userdefined(tmp_path: Path) -> None:
    rows = table(found(trained(), tmp_path), "paddle.userdefined")
    assert rows["mine"] == ["4", "140 ms", "35.0 ms", "35.0 ms", "35.0 ms", "35.8 %"]
    assert "Optimizer.step#SGD.step" not in rows


def test_processors_and_gpus_are_devices(tmp_path: Path) -> None:
    program = trained(gpu=True)
    for number, (run_ns, busy_ns) in enumerate(((0, 0), (150 * MS, 200 * MS))):
        program.reading(number * 200 * MS, {0: (run_ns, 0)}, busy_ns=busy_ns)
    rows = table(found(program, tmp_path), "paddle.device")
    assert rows["CPU(Process)"] == ["75.0 %"]
    assert rows["CPU(System)"] == ["50.0 %"]  # 200 of 2 * 200 ms
    assert rows["GPU0"] == ["34.8 %"]  # 136 of 391 ms


def test_a_step_is_divided_in_the_plugins_order_of_categories(tmp_path: Path) -> None:
    rows = table(found(trained(gpu=True), tmp_path), "tb.overview")
    average = {name: rows[name][0] for name in ("Kernel", "Memcpy", "Memset", "DataLoader", "CPU Exec")}
    assert rows["Category"] == ["Time Duration", "Percentage"]
    # DataLoader: 10 less the 2 of a copy. CPU Exec: 10 to 20 before the kernels, 50 to 60, 64 to 70, the
    # optimizer's 13 less the fill's 2, and all of that less the launches.
    assert average["Kernel"] == "34.0 ms"
    assert average["Memcpy"] == "2.00 ms"
    assert average["Memset"] == "2.00 ms"
    assert average["DataLoader"].startswith("8.00 ms")
    assert next(cells for name, cells in rows.items() if name.startswith("Average")) == ["97.8 ms", "100 %"]
    by_hand = 97.75 - 34 - 2 - 2 - 8  # categories do not overlap
    spent = sum(float(rows[name][0].split()[0]) for name in ("CPU Exec", "Other"))
    assert spent + float(rows["Runtime"][0].split()[0]) == pytest.approx(by_hand, abs=0.1)


def test_categories_of_a_step_sum_to_its_duration(tmp_path: Path) -> None:
    found_rows = document(found(trained(gpu=True), tmp_path))["tables"]["tb_overview"]
    for step, whole_ns in enumerate([STEP_NS] * 3 + [91 * MS]):
        assert sum(row["time_ns"] for row in found_rows if row["step"] == step) == whole_ns


def test_a_program_without_steps_is_one_step(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(op("aten::mm", 0, MS), op("aten::add", 3 * MS, 4 * MS))
    findings = found(program, tmp_path)
    assert table(findings, "paddle.model")["Others"][1] == "4.00 ms"
    snapshot(*(render(findings, view="paddle.model"),), overview=render(findings, view="tb.overview"))


def test_backward_nodes_keep_their_names_in_narrow_tables() -> None:
    name = "evaluate_function: ConvolutionBackward0"
    assert cut_name(name, 60) == name
    assert cut_name(name, 24) == "…ConvolutionBackward0"
    assert cut_name(f"  {name}", 24) == "  …ConvolutionBackward0"
    assert cut_name("max_pool2d_with_indices", 10) == "max_pool2…"


def test_operators_are_grouped_as_by_the_plugin(tmp_path: Path) -> None:
    rows = table(found(trained(), tmp_path), "tb.operator")
    assert len(rows["Name"]) == 3
    assert rows["aten::linear"] == ["4", "8.00 ms", "120 ms"]
    by_shape = table(found(trained(), tmp_path, group="signature"), "tb.operator")
    assert "Input Shape" in by_shape["Name"]


def test_modules_have_separate_backward_times(tmp_path: Path) -> None:
    program = trained()
    rows = table(found(program, tmp_path), "tb.module")
    assert len(rows["Module Name"]) == 4
    assert rows["Net"] == ["4+", "8", "120 ms", "120 ms"]
    assert rows["Net.backward"] == ["-", "4", "80.0 ms", "80.0 ms"]


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("view", PEER_VIEWS)
def test_every_table_fits_the_width_and_is_in_json(tmp_path: Path, view: str, gpu: bool) -> None:
    program = trained(gpu=gpu)
    program.reading(0, {0: (0, 0)}, busy_ns=0)
    program.reading(200 * MS, {0: (1, 0)}, busy_ns=3)
    program.memory(MemoryEvent.ALLOCATED, 15 * MS, 1, 4096)
    findings = found(program, tmp_path)
    for width in (80, 120, 200):
        text = render(findings, view=view, width=width)
        assert "Nothing of" not in text
        assert max(map(cell_len, text.splitlines())) <= width
    is_missing = view == "paddle.distributed" or (view == "paddle.kernel" and not gpu)  # nothing communicates
    assert bool(document(findings)["tables"].get(view.replace(".", "_"))) != is_missing


def test_missing_data_of_a_view_is_named(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(op("aten::mm", 0, MS))
    findings = found(program, tmp_path)
    views = ("paddle.userdefined", "paddle.device", "tb.module", "kernels", "workers")
    texts = [" ".join(render(findings, view=view).split()) for view in views]
    assert all(needed_for(view).what in text for view, text in zip(views, texts, strict=True))
    snapshot("\n".join(texts))


@pytest.mark.parametrize(
    ("recording", "view", "why"),
    [
        ({"operators": "off"}, "paddle.perf", ", which --operators off left out."),
        ({"operators": "observer"}, "paddle.perf", "; in this run: no observer was built."),
        ({"gpu": "off"}, "kernels", ", which --gpu off left out."),
        ({"python": "off", "steps": "3:14"}, "functions", ", which --steps 3:14 left out."),
        ({"children": False, "rotate": 1 << 20}, "workers", ", which --rotate left out."),
        ({"wait": True}, "operators", ": --wait left them out."),
    ],
)
def test_the_reason_why_a_view_is_missing_is_that_of_the_recording(
    tmp_path: Path, recording: dict[str, object], view: str, why: str
) -> None:
    program = Program(**{**META, "recording": recording})
    if why.endswith("built."):
        program.losses.append(("operators", "no observer was built", 1, ""))
    text = " ".join(render(found(program, tmp_path), view=view).split())
    assert text.endswith(why)


def test_other_profilers_tables_are_printed_only_on_request(tmp_path: Path) -> None:
    text = render(found(trained(), tmp_path))
    assert "Model Summary" not in text
    assert "Module View" not in text


def test_commands_name_existing_views() -> None:
    assert [command(view) for view in VIEWS] == [f"report --view {view}" for view in VIEWS]
    assert all(needed_for(view).what for view in {**SECTION_VIEWS, **PEER_VIEWS})
    with pytest.raises(KeyError):
        command("linse")


def test_texts_name_only_existing_views() -> None:
    root = Path(perfprobe.__file__).parent
    guides = [root.parent / "README.md", *root.parent.glob("docs/*.md")]
    texts = [path.read_text() for path in (*root.rglob("*.py"), *guides)]
    named = {name.rstrip(".") for text in texts for name in re.findall(r"--view ([a-z][a-z.-]*)", text)}
    assert {"lines", "phases"} < named <= set(VIEWS)


def test_calls_of_modules_are_at_least_the_times_they_were_entered(tmp_path: Path) -> None:
    """Net calls its blocks twice, and each block its layer twice in a row, which looks like one call."""
    program = Program(**META)
    program.thread(1)
    net, blocks = program.module("", "Net"), program.module("blocks", "ModuleList", program.module("", "Net"))
    stacks = []
    for number in range(2):
        block = program.module(str(number), "Block", blocks)
        layer = ("/p/model.py:5 forward", program.module("fc", "Linear", block))
        stacks += [program.stack("/p/t.py:1 main", ("/p/model.py:9 forward", net), layer)] * 2
    outside = program.stack("/p/t.py:2 main")
    for at, stack in enumerate([*stacks, outside, *stacks]):
        program.run(op("aten::mm", at * MS, (at + 1) * MS, stack=stack))
    rows = tb_module_rows(found(program, tmp_path), 0)
    counts = {row.name: row.least_occurrences for row in rows}
    assert counts["Net"] == 2
    assert (counts["blocks"], counts["blocks.0.fc"], counts["blocks.1.fc"]) == (None, 2, 2)


def test_calls_of_modules_in_traces(tmp_path: Path) -> None:
    """A trace has an event for each call of a module; the plugin counts these."""
    calls = [span("nn.Module: Net_0", at, 90, "python_function") for at in (0, 100, 200)]
    calls += [span("nn.Module: Linear_0", at + 10, 20, "python_function") for at in (0, 40, 100, 200, 240)]
    operators = [operator("aten::mm", at + 12, 10) for at in (0, 100, 200)]
    path = written(tmp_path / "trace.json", [*calls, *operators])
    rows = Results(str(path)).document(View())["tables"]["tb_module"]
    assert {row["name"]: row["occurrences"] for row in rows} == {"Net": 3, "Linear_0": 5}
