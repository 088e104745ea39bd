import os
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from perfprobe.models.source_text import MOST_BYTES, SourceText
from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.recording import Recording
from tests.build import Program, op
from tests.report.test_text import ENGINE, META, findings
from tests.snapshots import Snapshot

WRITTEN_NS = 1_700_000_000 * 10**9
CLOCK = {"monotonic_ns": 50, "realtime_ns": WRITTEN_NS + 1}
SOURCE = """\
import torch


class Net:
\tdef forward(self, x):
\t\tx = self.fc(x)
\t\tx = x.relu()
\t\tx = x \x1b[31m / 2
\t\ty = x.view(-1)
\t\treturn x.softmax(-1)

def main():
    Net()(3)
"""


def write(path: Path, data: str | bytes, time_ns: int = WRITTEN_NS) -> str:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    os.utime(path, ns=(time_ns, time_ns))
    return str(path)


def recording(folder: Path, file: str, lines: dict[int, int], **meta: Any) -> Recording:
    """A recording with the time of an operator for each of these lines of a file."""
    times = {"clock": CLOCK, "start": {"monotonic_ns": 50, "cpu_ns": 0}}
    program = Program(**{**META, **times, "stop": {"monotonic_ns": 2000}, **meta})
    program.thread(1)
    engine = program.stack("/p/train.py:30 step", ENGINE)
    at = 100
    for line, time_ns in lines.items():
        stack = program.stack(f"{file}:{line} {'Net.forward' if line < 12 else 'main'}")
        inputs = program.signature("f32[64,128]")
        program.run(op("aten::div", at, at + time_ns, stack=stack, signature=inputs))
        at += time_ns
    program.run(op("aten::add_", at, at + 4, stack=engine, node_sequence=-1, node_thread=1))
    return program.recording(folder)


def shown(recorded: Recording, **options: Any) -> list[str]:
    lines = render(findings(recorded), **options).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("Hot lines"))
    return lines[start : lines.index("", start)]


def test_source_lines_are_shown_with_times(tmp_path: Path, snapshot: Snapshot) -> None:
    file = write(tmp_path / "net.py", SOURCE)
    snapshot("\n".join(shown(recording(tmp_path, file, {6: 50, 8: 30, 10: 10, 13: 6}), width=100)))


@pytest.mark.parametrize("is_other", [True, False])
def test_lines_without_a_phase_have_a_time_too(tmp_path: Path, *, is_other: bool) -> None:
    file = write(tmp_path / "net.py", SOURCE)
    program = Program(**META)
    program.thread(1)
    net = program.module("", "Net")
    forward = program.stack(f"{file}:6 Net.forward", (f"{file}:6 Net.forward", net))
    engine = program.stack(f"{file}:13 main", ENGINE)
    program.run(op("aten::mm", 0, 40, stack=forward, sequence=0))
    program.run(op("back", 50, 90, stack=engine, node_sequence=0, node_thread=1))
    program.run(op("aten::div", 100, 130, stack=program.stack(f"{file}:13 main") if is_other else forward))
    titles = next(line for line in shown(program.recording(tmp_path), width=90) if "share" in line).split()
    assert ("other" in titles) == is_other
    assert "backward" in titles


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_lines_fit_the_width(tmp_path: Path, width: int) -> None:
    file = write(tmp_path / "net.py", "\n" * 99998 + "x = 5  # " + "long " * 100 + "\n")
    text = shown(recording(tmp_path, file, {99999: 50}), width=width)
    assert max(map(cell_len, text)) <= width
    assert any("99999  x = 5" in line for line in text)


def test_the_number_of_lines(tmp_path: Path, snapshot: Snapshot) -> None:
    file = write(tmp_path / "net.py", SOURCE * 9)
    times = {line: 100_000 if line % 20 == 0 else 1 for line in range(1, 110)}
    made = recording(tmp_path, file, times)

    def count(**options: Any) -> int:
        return sum("div f32[64,128]" in line for line in shown(made, **options))

    assert count() == 5  # the others take almost no time
    assert count(top=2) == 2
    assert count(top=0) == 109
    snapshot(shown(made, top=2)[0])


def test_the_heat_map_is_readable_without_color(tmp_path: Path) -> None:
    made = recording(tmp_path, write(tmp_path / "net.py", SOURCE), {6: 50, 8: 3})
    plain, colored = (render(findings(made), color=color) for color in (False, True))
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()
    assert "\x1b[1;31m" in colored


@pytest.mark.parametrize(
    ("clock", "time_ns", "reason"),
    [
        (CLOCK, WRITTEN_NS + 1, None),
        (CLOCK, WRITTEN_NS + 2, "changed since the recording"),
        (None, WRITTEN_NS, "not known whether it changed since the recording"),
        (
            {"monotonic_ns": "x", "realtime_ns": {}},
            WRITTEN_NS,
            "not known whether it changed since the recording",
        ),
    ],
)
def test_changed_files_are_not_shown(tmp_path: Path, clock: Any, time_ns: int, reason: str | None) -> None:
    file = write(tmp_path / "net.py", SOURCE, time_ns)
    made = recording(tmp_path, file, {6: 50}, clock=clock)
    text = "\n".join(shown(made))
    (row,) = [row for row in document(findings(made))["tables"]["lines"] if row["line"] == 6]
    assert ("x = self.fc(x)" in text) == (reason is None)
    assert reason is None or f"net.py  ({reason})\n" in text
    assert row["text"] == (None if reason else " " * 16 + "x = self.fc(x)")


def sources(folder: Path) -> SourceText:
    made = recording(folder, "x.py", {1: 5}, program={"cwd": str(folder)})
    return SourceText(findings(made))


def test_only_regular_python_files_are_read(tmp_path: Path) -> None:
    found = sources(tmp_path)
    write(tmp_path / "secret", "password\n")
    write(tmp_path / "huge.py", b"#" * (MOST_BYTES + 1))
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "loop.py").symlink_to("loop.py")
    for file in (
        "secret",
        "huge.py",
        "pipe.py",
        "folder.py",
        "zero.py",
        "loop.py",
        "none.py",
        "a\0.py",
        "<stdin>",
        "",
    ):
        assert found.text(file, 1) is None, file
        assert found.reason(file) == "source not found here", file


def test_encodings_and_missing_lines(tmp_path: Path) -> None:
    found = sources(tmp_path)
    write(tmp_path / "latin.py", "# coding: latin-1\nä = 1\r\nb\x0cc = 2\n".encode("latin-1"))
    write(tmp_path / "odd.py", b"# coding: no-such\n\xff = 1\n")
    write(tmp_path / "rot.py", b"# coding: rot13\nx = 1\n")
    assert [found.text("latin.py", line) for line in (2, 3, 4, 0, -1)] == [
        "ä = 1",
        "b\x0cc = 2",
        None,
        None,
        None,
    ]
    assert found.text("odd.py", 2) == "\ufffd = 1"
    assert found.text("rot.py", 2) in (None, "x = 1")


def test_the_number_of_files_read_is_limited(tmp_path: Path) -> None:
    found = sources(tmp_path)
    write(tmp_path / "last.py", "x = 1\n")
    write(tmp_path / "first.py", "x = 1\n")
    assert found.text("first.py", 1) == "x = 1"
    for number in range(5000):
        found.text(f"missing_{number}.py", 1)
    assert found.text("last.py", 1) is None
    assert found.text("first.py", 1) == "x = 1"


def test_without_lines_there_is_no_section(tmp_path: Path) -> None:
    program = Program(**META)
    program.run(op("aten::mm", 0, 5))
    assert "Hot lines" not in render(findings(program.recording(tmp_path)))


def quoted(path: str, **view: Any) -> tuple[bool, str]:
    """Whether the report quotes the hot line, and the whole report; the same for JSON."""
    text = Results(path).text(View(full=True, **view))
    (row,) = [row for row in Results(path).document(View(**view))["tables"]["lines"] if row["line"] == 6]
    assert ("x = self.fc(x)" in text) == (row["text"] is not None)
    return "x = self.fc(x)" in text, text


def of_host(folder: Path, name: str, **meta: Any) -> str:
    (folder / "proj").mkdir()
    file = write(folder / "proj" / "net.py", SOURCE)
    return recording(folder, file, {6: 50}, host={"name": name}, **meta).path


def heading_of_file(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("net.py"))


def test_recordings_of_other_users_quote_only_files_below_the_folder(
    tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = of_host(tmp_path, "another")
    monkeypatch.chdir(elsewhere)
    is_quoted, text = quoted(path)
    assert not is_quoted
    monkeypatch.chdir(tmp_path)
    assert quoted(path)[0]
    (elsewhere / "net.py").symlink_to(tmp_path / "proj" / "net.py")  # below only by name
    monkeypatch.chdir(elsewhere)
    assert not quoted(path)[0]
    snapshot(heading_of_file(text))


def test_a_file_of_another_user_is_a_foreign_recording(
    tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = of_host(tmp_path, os.uname().nodename)
    monkeypatch.chdir("/")
    assert quoted(path)[0]
    monkeypatch.chdir(tmp_path / "proj")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert quoted(path)[0]
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    is_quoted, text = quoted(path)
    assert not is_quoted
    snapshot(heading_of_file(text))


def test_files_in_a_named_folder_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the program was elsewhere and the files are newer than the recording, as in a new clone."""
    clone, here = tmp_path / "clone", tmp_path / "here"
    (clone / "pkg").mkdir(parents=True)
    here.mkdir()
    monkeypatch.chdir(here)
    (clone / "pkg" / "net.py").write_text(SOURCE)
    (tmp_path / "outside.py").write_text(SOURCE)
    for file, is_there in (("/home/a/proj/pkg/net.py", True), ("/home/a/proj/../../outside.py", False)):
        made = recording(tmp_path, file, {6: 50}, host={"name": "b"}, roots={"script": "/home/a/proj"})
        assert quoted(made.path, source=str(clone))[0] == is_there
        assert not quoted(made.path)[0]


def test_sources_can_be_switched_off(tmp_path: Path, snapshot: Snapshot) -> None:
    is_quoted, text = quoted(of_host(tmp_path, os.uname().nodename), source="")
    assert not is_quoted
    snapshot(heading_of_file(text))
