"""What a line that calls a whole model contains: the tree of modules, and lines of the model's package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.models.source_text import SourceText
from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.lines import line_rows
from perfprobe.report.rows.modules import TreeRow, module_rows, tree_rows
from perfprobe.report.rows.named import OF_ROW
from perfprobe.report.section.block import Blank, Block, Column, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures, unless_zero
from perfprobe.report.section.hot_lines import heat, source_view, usual
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, HotModules, Hotspots, LibraryLines

TOP = 12
_INDENT = "  "


def module_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`modules`, all of them, and `library_lines`."""
    lines = findings[HotModules].library.lines.take(slice(choice.top or None))
    return {
        "modules": module_rows(findings),
        "library_lines": line_rows(findings, SourceText(findings), lines),
    }


def hot_modules(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The tree, and lines of libraries, if one line has most time in several modules, or if requested."""
    found = findings[HotModules]
    if not ((found.line_has_most and found.line_modules > 1) or found.library.is_given or choice.is_alone):
        return
    rows = tree_rows(findings, choice.most(TOP), OF_ROW)
    if rows:
        yield Heading("Hot modules", _said(findings, rows))
        yield Table(_columns(rows))
    if rows and len(found.library.lines):
        yield Blank()
    yield from _library_lines(findings, found.library, choice)


def _said(findings: Findings, rows: Sequence[TreeRow]) -> str:
    found = findings[HotModules]
    share = units.percent(sum(row.share for row in rows if row.depth == 0))
    number = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    text = f"{len(found.modules):,} modules in {number}, {share} of operator time"
    line = findings.trace.line(found.line_frame)
    if line is None or not found.line_has_most:
        return text
    place = f"{printable(line.file).rpartition('/')[2]}:{line.line}"
    return f"{text}; {place} has {units.percent(found.line_share)}"


def _columns(rows: Sequence[TreeRow]) -> list[Column]:
    def times(title: str, name: str, rank: int) -> Column:
        return figures(title, (unless_zero(row.node.figures[name]) for row in rows), rank)

    phases = (
        ("forward", "forward_ns", 6),
        ("backward", "backward_ns", 6),
        ("recompute", "recompute_ns", 7),
        ("other", "other_ns", 8),
    )
    styles = [heat(row.share) for row in rows]
    has_gpu = any(row.node.figures["gpu_self_ns"] >= 0 for row in rows)
    return [
        replace(figures("share", (units.percent(row.share) for row in rows)), styles=styles),
        times("total", "total_ns", 1),
        times("own", "own_ns", 2),
        *([times("gpu", "gpu_self_ns", 1)] if has_gpu else []),
        *(times(*phase) for phase in phases if any(row.node.figures[phase[1]] for row in rows)),
        Column("module", [_name(row) for row in rows], least=24, styles=styles),
        Column("class", [printable(row.node.type) for row in rows], 5, least=12, style="dim"),
    ]


def _name(row: TreeRow) -> str:
    repeated = f" ({row.node.number:,})" if row.repeats else ""
    return f"{_INDENT * row.depth}{printable(row.node.name)}{repeated}"


def _library_lines(findings: Findings, library: LibraryLines, choice: Choice) -> Iterator[Block]:
    packages = ", ".join(map(printable, library.packages))
    whole_ns = max(findings[Hotspots].totals.self_ns, 1)
    if len(library.lines) == 0:
        if library.is_given:
            yield Paragraph(f"No operator was called from {packages}.", "yellow")
        return
    sources = SourceText(findings)
    lines = library.lines.take(slice(choice.most(usual(library.lines, whole_ns)) or None))
    shown = line_rows(findings, sources, lines)
    share = units.percent(sum(row.self_ns for row in shown) / whole_ns)
    number = f"{len(shown):,} of {len(library.lines):,} lines"
    yield Heading(f"Lines of {packages}", f"{number} by self time, {share} of operator time")
    yield source_view(shown, sources, lambda files: _within(library.packages, files))


def _within(packages: Sequence[str], files: Sequence[str]) -> dict[str, str]:
    """Paths of files relative to the package's folder."""
    short = shorten.file_names(files)
    found = {}
    for file in files:
        starts = [file.rfind(f"/{package}/") for package in packages]
        found[file] = file[max(starts) + 1 :] if max(starts) >= 0 else short[file]
    return found


_MEANINGS: dict[str, str] = {
    "share": "Share of all operators' self time, including the module's submodules.",
    "total": "Time of operators in the module and its submodules.",
    "own": "Time of operators in the module without its submodules.",
    "gpu": "Time on GPUs of what these operators launched.",
    "forward": "Share of the self time that passed in forward.",
    "backward": "Share of the self time that passed in backward, at the line of the forward call.",
    "recompute": "Share of the self time in which backward ran forward code again (checkpoint).",
    "other": "Share of the self time in all other phases: optimizer, data, inference without modules.",
    "module": "Path of the `nn.Module` that called the operator, as in the model's own `named_modules()`. "
    "Wrappers (`torch.compile`, DataParallel, sharding, checkpoints) are left out. A row for several layers "
    "says how many: `layers.*.attention (4)`. If there are two models of one class, the second is `Net#2`.",
    "class": "Class of the module.",
}

MODULES = Section(
    "modules",
    (Hotspots, HotModules),
    hot_modules,
    module_tables,
    titles=("Hot modules",),
    means="The model's modules with most time, in the model's order, and the hot lines of the packages that "
    "define them. Shown if one line causes most of the time, or with `--package`.",
    meanings=_MEANINGS,
    json={
        "modules": "The section *modules*: every module, as a tree.",
        "library_lines": "The section *modules*: hot lines of the packages that define the modules.",
    },
)
