import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from perfprobe.merge import link
from perfprobe.report.render.text import render
from perfprobe.report.section.listed import KINDS
from perfprobe.support.errors import UsageError
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording
from tests.build import Program, op
from tests.found import find
from tests.snapshots import Snapshot

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
META: dict[str, Any] = {
    "program": {"argv": ["train.py", "--epochs", "1"], "script": "train.py", "module": None},
    "start": {"monotonic_ns": 0, "cpu_ns": 0},
    "stop": {"monotonic_ns": 2_000_000, "cpu_ns": 3_000_000},
    "torch": {"version": "2.13.0+cpu", "threads": 2},
    "cost": {"event_ns": 200.0, "writer_cpu_ns": 1_000},
    "recording": {"operators": "observer"},
}


def training(**meta: Any) -> Program:
    program = Program(**{**META, **meta})
    program.thread(1)
    model = program.module("", "Transformer")
    attn = program.module("attn", "Attention", program.module("encoder", "Encoder", model))
    line = program.stack("/p/train.py:20 main", ("/p/model.py:88 attention", attn))
    main = program.stack("/p/train.py:20 main")
    engine = program.stack("/p/train.py:30 step", ENGINE)
    custom = program.stack("/p/train.py:30 step", ENGINE, "/p/functions.py:7 Scale.backward")
    inputs = program.signature("f32[64,128] f32[64,128]{1,64}")
    node = {"node_sequence": 0, "node_thread": 1}
    program.run(
        op("aten::bmm", 0, 600_000, stack=line, signature=inputs, sequence=0),
        op("enumerate(DataLoader)", 600_000, 700_000, stack=main, scope=7),
        op("aten::bmm", 700_000, 1_000_000, stack=engine, signature=inputs, **node),
        op("aten::mul", 1_000_000, 1_090_000, stack=custom, overload=program.string("Tensor"), **node),
        op("aten::add_", 1_090_000, 1_100_000, stack=engine, node_sequence=-1, node_thread=1),
    )
    return program


def layered(times_ns: Sequence[int], names: Sequence[str] = (), own: str = "fc") -> Program:
    """An operator that each layer calls once on the same line, with these times."""
    program = Program(**META)
    program.thread(1)
    net = program.module("", "Net")
    above = net if names else program.module("layers", "ModuleList", net)
    start_ns = 0
    for at, time_ns in enumerate(times_ns):
        layer = program.module(names[at] if names else str(at), "Layer", above)
        module = layer if names else program.module(own, "Linear", layer)
        stack = program.stack(("/p/net.py:6 call", module))
        program.run(op("aten::mm", start_ns, start_ns + time_ns, stack=stack))
        start_ns += time_ns
    return program


def findings(recording: Recording) -> Findings:
    return find(link(recording), *KINDS)


def report(program: Program, folder: Path, width: int = 200, **options: Any) -> str:
    return render(findings(program.recording(folder)), width=width, **options)


def block(text: str, title: str) -> str:
    """The lines from the one that starts with the title to the next empty one."""
    (found,) = [each for each in text.rstrip("\n").split("\n\n") if each.startswith(title)]
    return found


@pytest.mark.parametrize("width", [80, 200])
def test_the_whole_report(tmp_path: Path, snapshot: Snapshot, width: int) -> None:
    snapshot(report(training(), tmp_path, width))


def test_at_80_columns_places_are_complete(tmp_path: Path) -> None:
    text = report(training(), tmp_path, 80)
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    for place in ("model.py:88", "functions.py:7", "train.py:20", "bwd", "fwd", "f32[64,128]", "mul.Tensor"):
        assert place in text
    assert "encoder.attn" not in text


@pytest.mark.parametrize("width", [60, 70, 80, 100, 120, 160, 200, 300])
def test_lines_fit_the_width_and_are_not_cut(tmp_path: Path, width: int) -> None:
    program = training()
    text = report(program, tmp_path, width)
    for place in ("model.py:88", "functions.py:7", "train.py:20"):
        assert place in text
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_a_file_name_wider_than_the_terminal_is_complete(tmp_path: Path) -> None:
    program = training()
    name = "a_rather_long_name_for_a_file" * 4 + ".py"
    program.run(op("aten::mm", 2_000_000, 3_000_000, stack=program.stack(f"/p/{name}:1234 main")))
    assert f"{name}:1234" in report(program, tmp_path, 80)


def test_top_and_sort_of_operators(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(*(op("aten::often", at, at + 1) for at in range(0, 30, 3)))
    program.run(op("aten::slow", 100, 200), op("aten::outer", 300, 450, op("aten::inner", 301, 449)))

    def order(**options: Any) -> list[str]:
        return re.findall(r"aten::(\w+)", report(program, tmp_path, **options))

    assert order() == ["inner", "slow", "often", "outer"]
    assert order(sort="total") == ["outer", "inner", "slow", "often"]
    assert order(sort="calls")[0] == "often"
    assert order(sort="mean") == ["outer", "inner", "slow", "often"]
    assert order(top=2) == ["inner", "slow"]
    assert "2 of 4 rows" in report(program, tmp_path, top=2)
    assert len(order(top=0)) == 4
    for options in ({"sort": "name"}, {"top": -1}):
        with pytest.raises(UsageError):
            order(**options)


def test_a_missing_operator_table_has_a_reason(tmp_path: Path, snapshot: Snapshot) -> None:
    cases: dict[str, tuple[list[Any], Any]] = {
        "no_torch": ([("operators", "the program never imported torch", 1, "")], None),
        "not_built": ([("operators", "not built: x", 1, "run make")], {"version": "2"}),
        "another_loss": ([("gpu", "no driver", 1, "")], None),
        "nothing_ran": ([], {"version": "2"}),
    }
    texts = {}
    for name, (losses, torch) in cases.items():
        program = Program(**{key: value for key, value in {**META, "torch": torch}.items() if value})
        program.losses = losses
        texts[name] = block(report(program, tmp_path), "No operators")
    snapshot(**texts)


@pytest.mark.parametrize("torch", [None, {"version": "2"}], ids=["without_torch", "with_torch"])
@pytest.mark.parametrize("refused", [False, True], ids=["killed", "full_disk"])
def test_an_incomplete_recording_makes_no_claim_about_missing_operators(
    tmp_path: Path, snapshot: Snapshot, torch: Any, refused: bool
) -> None:
    program = Program(**{key: value for key, value in {**META, "torch": torch}.items() if value})
    if refused:
        program.losses.append(("recording", "rows the disk refused: No space left on device", 7, ""))
    else:
        program.end_ns = None
    text = report(program, tmp_path)
    snapshot(f"{text.splitlines()[0]}\n{block(text, 'No operators')}")


def test_missing_values_are_not_zero(tmp_path: Path, snapshot: Snapshot) -> None:
    first = []
    for recording, losses in (
        ({"operators": "off"}, []),
        ({}, [("operators", "not built: x", 1, "run make")]),
        ({"operators": "observer"}, []),
    ):
        program = Program(**{**META, "recording": recording, "torch": {}, "versions": {"torch": "2.9"}})
        program.losses = list(losses)
        first.append(report(program, tmp_path).splitlines()[0])
    without_facts = Program()
    without_facts.thread(1)
    without_facts.run(op("aten::mm", 0, 5))
    first.append(report(without_facts, tmp_path).splitlines()[0])
    assert not any(re.search(r"\b0\b", line) for line in first)
    snapshot("\n".join(first))


def test_a_report_with_ranges_only(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(op("epoch", 0, 1000, scope=7))
    snapshot(report(program, tmp_path))


def test_recording_cost_is_an_estimate_with_fixed_cost_separate(tmp_path: Path, snapshot: Snapshot) -> None:
    cost = {**META["cost"], "start_cpu_ns": 30_000_000, "torch_cpu_ns": 0, "stop_cpu_ns": 4_000_000}
    snapshot(report(training(cost=cost), tmp_path).splitlines()[0])


def test_hostile_facts_cause_no_error(tmp_path: Path) -> None:
    odd: list[Any] = [None, 3, "x", [], {}, [{}], {"argv": 5}, {"argv": [None]}, -1, 1e300, {"version": {}}]
    odd += [{"monotonic_ns": "x", "cpu_ns": [], "event_ns": -5, "threads": 2.5}]
    for value in odd:
        program = training(**dict.fromkeys([*META, "clock", "roots"], value))
        assert "Hot operators" in report(program, tmp_path, 80)


def test_a_killed_program_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    del program.meta["stop"]
    program.end_ns = None
    program.progress.append((1_500_000, 2_000_000))
    text = report(program, tmp_path, 100)
    assert text.index("Incomplete") < text.index("Hot operators") < text.index("Not recorded")
    snapshot(text.partition("Hottest")[0])


def test_rows_lost_to_a_full_disk_are_counted_at_the_top(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.losses = [("recording", "rows the disk refused: No space left on device", 352_071, "make room")]
    lines = report(program, tmp_path).splitlines()
    assert "352,071" in lines[1]
    snapshot("\n".join(lines[:2]))


def test_losses_wrap_only_if_they_do_not_fit(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.losses = [("operators", "w" * 100, 1, "r" * 60), ("gpu", "no driver", -1, "")]
    wide, narrow = (block(report(program, tmp_path, width), "Not recorded") for width in (200, 100))
    assert len(wide.splitlines()) == 4
    assert max(map(len, narrow.splitlines())) <= 100
    program.losses = [("operators", "short", 1, "")]
    snapshot(wide=wide, narrow=narrow, short=block(report(program, tmp_path, 200), "Not recorded"))


def test_losses_come_last_with_their_remedies(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.losses = [
        ("operators", "signatures beyond the limit", 12345, "fewer shapes"),
        ("gpu", "no", 0, ""),
    ]
    text = report(program, tmp_path, 100)
    losses = block(text, "Not recorded")
    assert text.endswith(f"{losses}\n")
    snapshot(losses)


def test_control_characters_of_the_program_are_escaped(tmp_path: Path) -> None:
    evil = "[bold red]x[/] \x1b[31m\r\u202e:smile:\n"
    program = Program(**{**META, "program": {"argv": [evil]}, "torch": {"version": evil}})
    program.thread(1)
    stack = program.row(
        "stacks", -1, program.row("frames", program.string(evil), program.string(evil), 1, 7), -1
    )
    module = program.module("", evil)
    inside = program.row("stacks", stack, 0, module)
    program.run(
        op(evil, 0, 5, stack=inside, signature=program.signature(evil), overload=program.string(evil))
    )
    program.losses = [(evil, evil, 1, evil), ("operators", evil, 1, evil)]
    text = report(program, tmp_path)
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\u202e" not in text
    assert text.count("x[/] \\x1b[31m\\r\\u202e:smile:") >= 7


def test_color_is_used_only_on_request(tmp_path: Path) -> None:
    plain, colored = (report(training(), tmp_path, color=color) for color in (False, True))
    assert "\x1b" not in plain
    strip: Callable[[str], str] = lambda text: re.sub(r"\x1b\[[0-9;]*m", "", text)  # noqa: E731
    assert [line.rstrip() for line in strip(colored).splitlines()] == plain.splitlines()


def test_measured_cpu_time_has_a_column_and_a_sum(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.run(op("aten::mm", 2_000_000, 2_500_000, cpu_ns=400_000))
    text = report(program, tmp_path)
    assert " cpu " in report(program, tmp_path, top=1)  # a row that is not shown has CPU time
    assert "CPU time" not in report(training(), tmp_path)
    alone = Program(**program.meta)
    alone.run(op("aten::mm", 0, 10, cpu_ns=9))
    snapshot(block(text, "Hot operators"), all_timed=block(report(alone, tmp_path), "Hot operators"))


def test_cpu_time_is_never_more_than_the_wall_time(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.run(op("aten::mm", 2_000_000, 2_500_000, cpu_ns=500_400))
    text = report(program, tmp_path)
    assert "500.4" not in text
    snapshot("\n".join(line for line in text.splitlines() if "CPU time" in line))


def test_cpu_time_of_ranges_is_not_counted_as_operators(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.run(op("step", 2_000_000, 2_500_000, scope=7, cpu_ns=400_000))
    text = report(program, tmp_path)
    assert re.search(r"500 us +1( +500 us){3} +400 us +step ", text)
    snapshot(block(text, "Ranges"), operators=block(text, "Hot operators"))


@pytest.mark.parametrize(
    ("times_ns", "names", "cell"),
    [
        ([25, 25, 25, 25], [], "layers.*.fc (4)"),
        ([2, 2, 94, 2], [], "layers.2.fc 94.0 % of 4"),
        ([30, 70], [], "layers.*.fc (2)"),
        ([20, 80], [], "layers.1.fc 80.0 % of 2"),
        ([9], [], "layers.0.fc"),
        ([4, 4], "01", "0, 1"),
        ([4, 5, 4], "024", "0,…,4 (3)"),
        ([0, 0], [], "layers.*.fc (2)"),
    ],
)
def test_the_module_cell_of_a_row(
    tmp_path: Path, times_ns: list[int], names: Sequence[str], cell: str
) -> None:
    line = report(layered(times_ns, names), tmp_path).split("\n\n")[1].splitlines()[2]
    assert re.split(r" {2,}", line)[-2] == cell


def test_the_number_of_modules_is_never_cut(tmp_path: Path) -> None:
    program = layered([2, 2, 94, 2], own="a_name_" * 20)
    assert re.search(r"  layers\.2\.a_nam\S*… 94\.0 % of 4  ", report(program, tmp_path, 150))


def test_backward_names_the_reasons_for_missing_lines(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.run(op("aten::x", 1_200_000, 1_220_000, node_sequence=77, node_thread=1))
    (line,) = [line for line in report(program, tmp_path).splitlines() if line.startswith("Backward")]
    has_line, *without = map(float, re.findall(r"([\d.]+) %", line))
    assert has_line + sum(without) == pytest.approx(100, abs=0.11)
    snapshot(line)


def test_five_ranges_are_shown_by_default(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.run(*(op(f"step {at}", at * 1000, at * 1000 + at, scope=7) for at in range(2000, 2007)))

    def names(**options: Any) -> list[str]:
        return re.findall(r"(?:step \d+|enumerate\(DataLoader\)) ", report(program, tmp_path, **options))

    assert names() == ["enumerate(DataLoader) ", "step 2006 ", "step 2005 ", "step 2004 ", "step 2003 "]
    assert len(names(top=0)) == 8
    assert len(names(top=7)) == 7
    assert len(names(top=2)) == 2
    snapshot(block(report(program, tmp_path), "Ranges").splitlines()[0])


def test_without_ranges_there_is_no_section(tmp_path: Path) -> None:
    assert "Ranges" not in report(layered([5]), tmp_path)
