"""The program's own files with what each line took: the same rows as the section *lines* and JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfprobe.models.source_text import SourceText
from perfprobe.report.page.packed import shown
from perfprobe.report.page.places import Places, own_files
from perfprobe.report.rows.lines import LineRow, line_rows, placed_lines
from perfprobe.support import units
from perfprobe.tables.columns import distinct
from perfprobe.tables.findings import Findings, HotLines, Hotspots
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import RunSpent
from perfprobe.tables.trace import Line

AROUND = 6  # lines shown above and below one with figures
MOST_FILES, MOST_LINES = 40, 3000  # of a file
_LONGEST, _FOLDERS = 200, 3
BARS = ("forward", "backward", "recompute", "other")


def sources(findings: Findings, places: Places) -> list[dict[str, Any]]:
    """Files, the one with most time first. Each line has its text, if it may be shown, and its figures."""
    rows = _rows(findings)
    python_ns, memory = _python_ns(findings), _allocated(findings)
    of_file: dict[str, dict[int, dict[str, Any]]] = {}
    for line in dict.fromkeys([*rows, *python_ns, *memory]):
        figures = _figures(rows.get(line), python_ns.get(line, 0), memory.get(line, 0))
        of_file.setdefault(line[0], {})[line[1]] = figures
    text = SourceText(findings)
    files = sorted(
        of_file, key=lambda file: -sum(each["self"] + each["python"] for each in of_file[file].values())
    )
    return [_file(file, of_file[file], text, places) for file in files[:MOST_FILES]]


def _rows(findings: Findings) -> dict[tuple[str, int], LineRow]:
    if Hotspots not in findings or HotLines not in findings:
        return {}
    rows = line_rows(findings, SourceText(findings), placed_lines(findings, "self"))
    found: dict[tuple[str, int], LineRow] = {}
    for row in rows:
        if row.line is not None:
            found.setdefault((row.line.file, row.line.line), row)
    return found


def _python_ns(findings: Findings) -> Mapping[tuple[str, int], int]:
    """Time outside of operators by the program's line, of the whole run as the times of operators are.

    Imports are left out: the section *start-up* has them, and nothing else would be seen beside them.
    """
    spent, structure = findings.get(RunSpent), findings.get(CallStructure)
    if spent is None or structure is None:
        return {}
    frames = findings.trace.sites.frame
    is_import = structure.python.imports.importer[spent.rows.stack] >= 0
    rows = spent.rows.take((spent.rows.name < 0) & (spent.rows.stack >= 0) & ~is_import)
    own = own_files(findings)
    by_line = _by_line(findings, frames[rows.stack], rows.time_ns)
    return {line: time_ns for line, time_ns in by_line.items() if line[0] in own}


def _allocated(findings: Findings) -> Mapping[tuple[str, int], int]:
    use = findings.get(MemoryUse)
    return {} if use is None else _by_line(findings, use.lines.frame, use.lines.allocated_bytes)


def _by_line(findings: Findings, frames: Any, weights: Any) -> Mapping[tuple[str, int], int]:
    """Sums by the line of each frame; only positive ones."""
    found: dict[tuple[str, int], int] = {}
    for frame in distinct(frames).tolist():
        line = findings.trace.line(frame)
        weight = int(np.sum(weights[frames == frame]))
        if line is not None and weight > 0:
            found[line.file, line.line] = found.get((line.file, line.line), 0) + weight
    return found


def _figures(row: LineRow | None, python_ns: int, allocated_bytes: int) -> dict[str, Any]:
    """Times in ns as JSON has them, and as text. self: of operators; python: outside of them."""
    bars = [0] * len(BARS) if row is None else [getattr(row, f"{name}_ns") for name in BARS]
    gpu_ns = None if row is None else row.gpu_self_ns
    self_ns = 0 if row is None else row.self_ns
    return {
        "self": self_ns,
        "bars": bars,
        "python": python_ns,
        "gpu": gpu_ns or 0,
        "allocated": allocated_bytes,
        "texts": [
            units.duration(self_ns) if row is not None else "",
            units.duration(python_ns) if python_ns else "",
            units.duration(gpu_ns) if gpu_ns else "",
            units.size(allocated_bytes) if allocated_bytes else "",
        ],
    }


def _file(
    file: str, figures: Mapping[int, Mapping[str, Any]], text: SourceText, places: Places
) -> dict[str, Any]:
    lines = text.lines(file)
    numbers = _shown_lines(sorted(figures), len(lines) if lines else 0)
    found = []
    for number in numbers:
        known = lines[number - 1] if lines and 0 < number <= len(lines) else ""
        entry: dict[str, Any] = {"line": number, "text": _text(known), "figures": figures.get(number)}
        if number in figures:
            entry["place"] = places.number(Line(file, number, ""))
        found.append(entry)
    return {
        "file": shown(_near(file, text.folder), _LONGEST),
        "missing": shown(text.reason(file) or "", _LONGEST),
        "length": len(lines) if lines else 0,
        "lines": found,
    }


def _near(file: str, folder: str) -> str:
    """A file as seen from the program's folder. Of others only the end: pages are shared."""
    inside = file.removeprefix(os.path.join(folder, ""))
    return "/".join(inside.split("/")[-_FOLDERS:]) if inside.startswith("/") else inside


def _shown_lines(with_figures: Sequence[int], length: int) -> Sequence[int]:
    """The lines with figures and some around each; of a file that cannot be read only those."""
    if not length:
        return with_figures[:MOST_LINES]
    found: set[int] = set()
    for number in with_figures:
        found.update(range(max(number - AROUND, 1), min(number + AROUND, length) + 1))
        found.add(number)
        if len(found) > MOST_LINES:
            break
    return sorted(found)


def _text(line: str) -> str:
    """A line as a file has it, with its indentation."""
    expanded = line.expandtabs(4)
    indent = len(expanded) - len(expanded.lstrip(" "))
    return " " * indent + shown(expanded[indent:], _LONGEST)
