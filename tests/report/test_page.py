"""The HTML page: one file, nothing of a recording in its HTML, and the figures of text and JSON."""

import base64
import hashlib
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.report.page import document, timeline
from perfprobe.report.page.packed import Packed
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.memory import MemoryEvent
from tests.build import Program, op
from tests.report.paged import Page, page, written
from tests.report.test_hot_lines import SOURCE, write
from tests.report.test_hot_lines import recording as with_lines
from tests.report.test_text import META

FILES = Path(document.__file__).parent
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "\x1b[31mred\x1b]8;;http://evil\x1b\\",
    "\u202egnp.exe",
    "nul\x00byte",
    "n" * 200_000,
    "=cmd|' /C calc'!A0",
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A recording of four steps with a source file, a thread for backward, and a GPU."""
    folder = tmp_path_factory.mktemp("page")
    return steps_of(folder, 4).recording(folder).path


def steps_of(folder: Path, steps: int, names: list[str] | None = None) -> Program:
    """A program that trains: names are those of operators."""
    file = write(folder / "train.py", SOURCE)
    program = Program(**{**META, "stop": {"monotonic_ns": steps * 20_000_000}})
    program.thread(1)
    stack = program.stack(f"{file}:11 main", f"{file}:6 Net.forward")
    optimizer = program.stack(f"{file}:12 main")
    inputs = program.signature("f32[64,128]")
    for step in range(steps):
        at = step * 10_000_000 + step * step * 400_000
        within = [
            op(name, at + 10 + place, at + 20 + place, stack=stack) for place, name in enumerate(names or [])
        ]
        program.run(
            op(
                "aten::linear",
                at,
                at + 1_000_000 * (step + 1),
                *within,
                stack=stack,
                signature=inputs,
                sequence=step,
            )
        )
        begin = at + 8_000_000
        node = {"node_sequence": step, "node_thread": 1}
        program.run(
            op(
                "AddmmBackward0",
                begin,
                begin + 500_000,
                stack=stack,
                scope=1,
                sequence=step,
                forward_thread=1,
                **node,
            )
        )
        program.run(op("Optimizer.step#SGD.step", begin + 600_000, begin + 900_000, stack=optimizer, scope=7))
    program.sample(0, 5_000_000, f"{file}:11 main", f"{file}:9 Net.forward")
    return program


def hostile(folder: Path) -> Program:
    """The same three steps with hostile texts wherever a recording has texts."""
    program = steps_of(folder, 3, HOSTILE)
    program.meta["program"] = {"argv": HOSTILE, "script": HOSTILE[0], "module": None}
    node = {"sequence": 9, "scope": 1, "forward_thread": 1, "node_sequence": 9, "node_thread": 1}
    for number, text in enumerate(HOSTILE):
        thread = program.thread(number + 2, text)
        module = program.module(text, text)
        stack = program.stack((f"/p/{text}.py:{number + 1} {text}", module))
        at = 1000 * number
        program.run(
            op("aten::mm", at, at + 900, stack=stack, signature=program.signature(text)), thread=thread
        )
        program.run(op(text, at + 900, at + 950, **node), thread=thread)
        program.api_call(text, at, at + 10, number + 1)
        program.kernel(text, at + 20, at + 30, number + 1)
        program.named_range(text, at, at + 500)
        program.sample(at, at + 900, f"/p/{text}.py:{number + 1} {text}", thread=thread)
        program.losses.append((text, text, 1, text))
    return program


def hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_page_is_one_file_and_its_policy_allows_its_own_script_and_style_only(recorded: str) -> None:
    found = page(recorded)
    assert [given for _, given in found.elements if "src" in given or "style" in given] == []
    assert found.of("link") == []
    assert [given.get("type") for _, given in found.of("script")] == ["application/octet-stream", "module"]
    assert found.hashes("script-src") == [hash_of(found.scripts[1])]
    assert found.hashes("style-src") == [hash_of(found.styles[0])]
    assert found.policy.startswith("default-src 'none';")
    assert "unsafe" not in found.policy
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", found.scripts[1])
    assert not re.search(r"https?://", "".join(found.scripts[1:] + found.styles))


def test_figures_of_steps_and_lines_are_those_of_json(recorded: str) -> None:
    found, tables = page(recorded), Results(recorded).document(View())["tables"]
    head = found.head
    steps = [row for row in tables["steps"] if row["loop"] == 0]
    assert len(steps) > 1
    assert found.column(head["steps"]["row"]) == [row["step"] for row in steps]
    assert found.column(head["steps"]["length"]) == [row["end_ns"] - row["start_ns"] for row in steps]
    for phase in head["steps"]["phases"]:
        assert found.column(phase["time"]) == [row["phases"].get(phase["name"], 0) for row in steps]
    shown = {
        (Path(file["file"]).name, line["line"]): line["figures"]
        for file in head["sources"]
        for line in file["lines"]
        if line["figures"] and line["figures"]["self"]
    }
    lines = {
        (Path(row["file"]).name, row["line"]): row
        for row in tables["lines"]
        if row["file"] and row["self_ns"]
    }
    assert shown.keys() == lines.keys()
    for place, row in lines.items():
        assert shown[place]["self"] == row["self_ns"]
        bars = dict(zip(head["bars"], shown[place]["bars"], strict=True))
        assert bars == {name: row[f"{name}_ns"] for name in head["bars"]}


def cells(head: dict[str, Any]) -> list[str]:
    tables = [block for part in head["sections"] for block in part["blocks"] if block["kind"] == "table"]
    return [cell for table in tables for column in table["columns"] for cell in column["cells"]]


def test_tables_have_the_cells_of_the_text(recorded: str) -> None:
    text = Results(recorded).text(View(full=True, top=100), width=4000)
    words = " ".join(text.split())
    found = cells(page(recorded, top=100).head)
    assert len(found) > 50
    assert [cell for cell in found for line in cell.split("\n") if " ".join(line.split()) not in words] == []


def test_timeline_has_the_rectangles_of_the_operators(tmp_path: Path) -> None:
    program = Program(**{**META, "stop": {"monotonic_ns": 5000}})
    program.thread(1)
    program.run(op("aten::mm", 1000, 3000, op("aten::dot", 1500, 2000)), op("aten::add", 3500, 4000))
    found = page(program.recording(tmp_path).path)
    (stretch,) = found.head["timeline"]["stretches"]
    rects = {name: found.column(place) for name, place in stretch["rects"].items()}
    names = [found.head["timeline"]["names"][name] for name in rects["name"]]
    assert list(zip(names, rects["lane"], rects["start"], rects["length"], rects["self"], strict=True)) == [
        ("mm", 0, 1000, 2000, 1500),
        ("add", 0, 2500, 500, 500),  # after the one before on its lane
        ("dot", 1, 1500, 500, 500),
    ]


def test_arrows_lead_from_forward_to_backward_and_from_launches_to_kernels(tmp_path: Path) -> None:
    program = Program(**{**META, "stop": {"monotonic_ns": 9000}})
    program.thread(1)
    stack = program.stack("/p/train.py:6 step")
    program.run(
        op("aten::mm", 100, 900, op("aten::dot", 200, 300, stack=stack, sequence=4), stack=stack, sequence=4)
    )
    node = {"node_sequence": 4, "node_thread": 1}
    program.run(op("MmBackward0", 2000, 2500, scope=1, sequence=4, forward_thread=1, **node))
    program.api_call("cudaLaunchKernel", 3000, 3010, 7)
    program.kernel("gemm", 3500, 4000, 7)
    found = page(program.recording(tmp_path).path)
    (stretch,) = found.head["timeline"]["stretches"]
    sources = found.column(stretch["rects"]["source"])
    names = [found.head["timeline"]["names"][name] for name in found.column(stretch["rects"]["name"])]
    arrows = {(names[source - 1], names[at]) for at, source in enumerate(sources) if source}
    assert arrows == {("mm", "MmBackward0"), ("cudaLaunchKernel", "gemm")}


def test_python_lines_are_one_rectangle_as_long_as_they_stay(tmp_path: Path) -> None:
    program = Program(**{**META, "stop": {"monotonic_ns": 9000}})
    program.thread(1)
    for start_ns, line in ((1000, 4), (2000, 4), (3000, 6), (5000, 6)):
        program.sample(start_ns, start_ns + 1000, f"/p/train.py:{line} step")
    found = page(program.recording(tmp_path).path)
    (stretch,) = found.head["timeline"]["stretches"]
    rects = {name: found.column(place) for name, place in stretch["rects"].items()}
    lines = [found.head["places"][line - 1]["line"] for line in rects["line"]]
    starts = np.cumsum(rects["start"]).tolist()
    assert [each[0].split()[0] for each in stretch["lanes"]] == ["Python"]
    assert list(zip(starts, rects["length"], lines, strict=True)) == [
        (1000, 2000, 4),
        (3000, 1000, 6),
        (5000, 1000, 6),
    ]


def test_median_fastest_and_slowest_step_are_shown(recorded: str) -> None:
    found = page(recorded)
    lengths = found.column(found.head["steps"]["length"])
    shown = {each["what"]: each["length"] for each in found.head["timeline"]["stretches"]}
    assert shown["slowest"] == max(lengths)
    assert shown["fastest"] < shown["median"] < shown["slowest"]


def test_of_too_many_operators_the_longest_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST", 50)
    program = Program(**{**META, "stop": {"monotonic_ns": 10_000_000}})
    program.thread(1)
    for at in range(400):
        program.run(op("aten::mm", at * 1000, at * 1000 + max(at, 380) + 1))  # most are equally long
    found = page(program.recording(tmp_path, block_rows=60).path)
    (stretch,) = found.head["timeline"]["stretches"]
    lengths = found.column(stretch["rects"]["length"])
    assert (len(lengths), stretch["left_out"]) == (50, 350)
    assert sorted(lengths) == [*[381] * 31, *range(382, 401)]


def test_a_recording_with_nothing_has_a_page(tmp_path: Path) -> None:
    head = page(Program(**META).recording(tmp_path).path).head
    assert (head["flames"]["trees"], head["sources"], head["steps"], head["memory"]) == ([], [], None, None)
    assert [stretch["lanes"] for stretch in head["timeline"]["stretches"]] == [[]]
    assert head["screen"]


def test_flame_graph_sums_up_to_what_its_paths_have(recorded: str) -> None:
    found = page(recorded)
    trees = found.head["flames"]["trees"]
    assert trees
    for tree in trees:
        rects = {name: found.column(place) for name, place in tree["rects"].items()}
        outermost = [length for lane, length in zip(rects["lane"], rects["length"], strict=True) if lane == 0]
        assert sum(outermost) == tree["length"]
        for lane in range(1, tree["lanes"]):
            assert all(is_within(rects, at) for at, own in enumerate(rects["lane"]) if own == lane)


def test_flame_graph_of_memory_has_what_json_has_for_each_line(tmp_path: Path) -> None:
    program = steps_of(tmp_path, 3)
    for step in range(3):
        at = step * 10_000_000 + step * step * 400_000
        program.memory(MemoryEvent.ALLOCATED, at + 500_000, step, 4096 + step)
        program.memory(MemoryEvent.ALLOCATED, at + 8_000_100, 10 + step, 1000)
    path = program.recording(tmp_path).path
    found = page(path)
    (tree,) = [tree for tree in found.head["flames"]["trees"] if tree["unit"] == "bytes"]
    rows = Results(path).document(View())["tables"]["memory_lines"]
    assert tree["length"] == sum(row["allocated_bytes"] for row in rows) == 3 * 4096 + 3 + 3000
    names = [found.head["flames"]["names"][name] for name in found.column(tree["rects"]["name"])]
    sizes = dict(zip(names, found.column(tree["rects"]["length"]), strict=True))
    assert sizes["linear f32[64,128]"] == 3 * 4096 + 3
    assert sizes["AddmmBackward0 (backward)"] == 3000


def is_within(rects: dict[str, list[int]], at: int) -> bool:
    """Whether a rectangle lies in one of the lane above."""
    begin, end = rects["start"][at], rects["start"][at] + rects["length"][at]
    above = zip(rects["lane"], rects["start"], rects["length"], strict=True)
    lane = rects["lane"][at] - 1
    return any(own == lane and start <= begin and end <= start + length for own, start, length in above)


def test_nothing_of_a_hostile_recording_is_in_the_html(tmp_path: Path) -> None:
    text = written(hostile(tmp_path).recording(tmp_path).path)
    plain = written(steps_of(tmp_path, 1).recording(tmp_path).path)
    assert re.sub(r">[A-Za-z0-9+/=]{1000,}<", "><", text) == re.sub(r">[A-Za-z0-9+/=]{1000,}<", "><", plain)
    assert len(text) < len(plain) + 50_000
    found = Page(text)
    texts = list(all_texts(found.head))
    assert [each for each in texts if not each.replace("\n", "").isprintable()] == []
    assert max(map(len, (each for each in texts if not each.startswith("<?xml")))) <= 1000
    names = found.head["timeline"]["names"]
    assert "<img src=x onerror=alert(1)>" in names  # as it is: a page shows it as text
    assert any(name.startswith("\\u202egnp.exe") for name in names)


def all_texts(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from all_texts(each)


def test_source_lines_can_be_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "net.py", SOURCE)
    path = with_lines(tmp_path, file, {6: 500, 7: 300}).path
    (source,) = page(path, source=str(tmp_path)).head["sources"]
    texts = {line["line"]: line["text"] for line in source["lines"]}
    assert texts[6] == "        x = self.fc(x)"
    assert texts[8] == r"        x = x \x1b[31m / 2"
    without = page(path, source="").head
    assert [line["text"] for line in without["sources"][0]["lines"]] == ["", ""]
    assert not any("self.fc" in text for text in all_texts(without))


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [([], "u1"), ([0, 255], "u1"), ([256], "u2"), ([1 << 31], "u4"), ([-1, 5], "i4"), ([1 << 32], "f8")],
)
def test_columns_have_the_smallest_type(numbers: list[int], kind: str) -> None:
    packed = Packed()
    packed.column([1, 2, 3])
    place = packed.column(np.array(numbers, np.int64))
    assert (place["type"], place["at"], place["length"]) == (kind, 8, len(numbers))
    data = f'<script id="data">{"".join(packed.texts({"x": 1}))}</script>'
    assert Page(data).column(place) == numbers


def test_all_modules_are_joined_after_those_that_they_import() -> None:
    assert sorted(document.SCRIPTS) == sorted(path.name for path in FILES.glob("*.js"))
    for at, name in enumerate(document.SCRIPTS):
        imports = re.findall(
            r'^import \{[^}]*\} from "\./(\w+\.js)";$', (FILES / name).read_text(), re.MULTILINE
        )
        assert set(imports) <= set(document.SCRIPTS[:at]), name
    code = document.script()
    assert not re.search(r"^(import|export) ", code, re.MULTILINE)
    assert "</script" not in code


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here to read the script")
def test_the_joined_script_is_valid(tmp_path: Path) -> None:
    script = tmp_path / "page.mjs"
    script.write_text(document.script())
    subprocess.run(["node", "--check", str(script)], check=True, timeout=60)


NOTEBOOK = """
import perfprobe, sys
with perfprobe.profile(sys.argv[1], operators="off") as p:
    assert p._repr_html_() is None
    sum(range(1000))
print(p._repr_html_())
"""


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-c", NOTEBOOK, str(tmp_path / "block.perfprobe")]
    made = subprocess.run(words, capture_output=True, text=True, check=True)
    frame = Frame()
    frame.feed(made.stdout)
    assert frame.given["sandbox"] == "allow-scripts"
    inner = Page(frame.given["srcdoc"])
    assert inner.hashes("script-src") == [hash_of(inner.scripts[1])]
    assert inner.head["sections"]


class Frame(HTMLParser):
    """The attributes of the only element."""

    given: dict[str, str]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "iframe"
        self.given = {name: value or "" for name, value in attrs}


def test_command_writes_the_page_and_refuses_several_recordings(recorded: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "perfprobe", "report", recorded]
    made = subprocess.run(
        [*words, "--html", "page.html"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert made.stdout.endswith("page.html\n")
    assert Page((tmp_path / "page.html").read_text()).head["sections"]
    for other, why in ((recorded, "a page shows one recording"), ("--json", "instead of JSON")):
        several = [*words, other, "--html", "other.html"]
        refused = subprocess.run(several, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (refused.returncode, why in refused.stderr) == (2, True)
