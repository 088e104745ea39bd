"""A comparison of two versions as text, Markdown, JSON, and as what continuous integration reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.models.compared import Change, Changed, Comparison, GateResult, Outcome, Part, PartChange
from perfprobe.models.paired import Difference
from perfprobe.report.render.text import page
from perfprobe.report.rows.row import plain
from perfprobe.report.section.block import Block, Said
from perfprobe.report.section.compared import FIGURE_TEXTS, operator_text, screen_rows, signed
from perfprobe.report.section.compared_tables import full_pages
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable

SCHEMA = 1
_MOST_ANNOTATIONS = 10  # GitHub shows no more of a kind
_MOST_ROWS = 20  # in Markdown
_MILLION = 1e6


def text(
    found: Comparison,
    short: Changed,
    results: Sequence[GateResult],
    *,
    width: int,
    color: bool,
    full: bool,
) -> str:
    """The first screen, with `full` also all rows."""
    pages = [blocks(found, short, results), *(full_pages(found) if full else ())]
    return "\n".join(page(blocks, width=width, color=color) for blocks in pages)


def blocks(found: Comparison, short: Changed, results: Sequence[GateResult]) -> Iterator[Block]:
    """The first screen."""
    for row in screen_rows(found, short, results):
        yield Said(row.label, row.pieces, row.style)


def markdown(found: Comparison, short: Changed, results: Sequence[GateResult]) -> str:
    """The lines of the first screen as a list, and the rows with the largest differences as a table."""
    head, *others = screen_rows(found, short, results)
    lines = [f"**perfprobe compare**: {_plain(head.text)}", ""]
    lines += [f"- `{row.label}` {_plain(row.text)}" for row in others]
    if found.rows:
        lines += ["", "| A | B | change | operator | line |", "| ---: | ---: | ---: | --- | --- |"]
        lines += [_cells(row) for row in found.rows[:_MOST_ROWS]]
    return "\n".join(lines) + "\n"


def _cells(row: PartChange) -> str:
    at = "" if row.part.place is None else f"`{_code(place(row.part.place))}`"
    figures = (units.duration(row.time_ns.before), units.duration(row.time_ns.after), signed(row.time_ns.by))
    return f"| {' | '.join(figures)} | `{_code(operator_text(row.part))}` | {at} |"


def _plain(said: str) -> str:
    """Text in which nothing is markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in printable(said))


def _code(said: str) -> str:
    return said.replace("`", "'").replace("|", "\\|")


def marked_lines(short: Changed, results: Sequence[GateResult]) -> list[str]:
    """At most ten lines by which GitHub marks the lines that are slower; none if no gate failed."""
    if not any(result.outcome is Outcome.FAILED for result in results):
        return []
    spots = [spot for spot in (short.where, *short.also) if spot is not None and spot.part.place is not None]
    found = [
        _annotation(spot.part, signed(spot.by_ns)) for spot in spots if spot.by_ns > 0 and spot.is_certain
    ]
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    found += [f"::error title=perfprobe::{_data(f'{each.gate.text}: {each.why}')}" for each in failed]
    return found[:_MOST_ANNOTATIONS]


def _annotation(part: Part, much: str) -> str:
    said = f"{operator_text(part)} {much} a step"
    return f"::error file={_property(part.path)},line={part.line},title=slower::{_data(said)}"


def _data(said: str) -> str:
    return printable(said).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(said: str) -> str:
    return _data(said).replace(":", "%3A").replace(",", "%2C")


def benchmark_page(found: Comparison) -> list[dict[str, Any]]:
    """`customSmallerIsBetter`: what pages of benchmarks read. Figures of the later version."""
    rows = []
    if found.step_ns is not None:
        rows.append(_entry("step", "ms", found.step_ns, _MILLION))
    rows += [
        _entry(f"phase {phase.name.lower()}", "ms", each, _MILLION) for phase, each in found.phases.items()
    ]
    for name, each in found.figures.items():
        unit, scale = {"peak_memory": ("MiB", float(1 << 20)), "gpu_idle": ("%", 0.01)}.get(
            name, ("ms", _MILLION)
        )
        rows.append(_entry(FIGURE_TEXTS[name], unit, each, scale))
    return rows


def _entry(name: str, unit: str, change: Change, scale: float) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "unit": unit, "value": change.after / scale}
    if change.low is not None and change.high is not None:
        entry["range"] = f"± {units.significant((change.high - change.low) / 2 / scale, 3)}"
    return entry


def document(found: Comparison, short: Changed, results: Sequence[GateResult]) -> dict[str, Any]:
    """Everything, ready for json.dumps."""
    return {
        "schema": SCHEMA,
        "versions": [
            {"name": name, "runs": runs, "steps": steps, "runs_with_rows": with_rows}
            for name, runs, steps, with_rows in zip(
                found.names, found.runs, found.steps, found.with_rows, strict=True
            )
        ],
        "verdict": short.verdict.value,
        "measure": found.measure.value,
        "paired": found.paired,
        "not_paired": found.unpaired or None,
        "mismatches": [{"text": each.text, "forbids": each.forbids} for each in found.mismatches],
        "step": _step(found.step, found.step_ns),
        "waited_ns": None if found.waited_ns is None else _change(found.waited_ns),
        "unattributed_ns": found.unattributed_ns,
        "shared": found.shared,
        "phases": {phase.name.lower(): _change(each) for phase, each in found.phases.items()},
        "figures": {name: _change(each) for name, each in found.figures.items()},
        "counts": [_count(each) for each in found.counts],
        "rows": [_row(row) for row in found.rows],
        "gates": [
            {"gate": each.gate.text, "outcome": each.outcome.value, "why": each.why} for each in results
        ],
        "screen": [plain(row) for row in screen_rows(found, short, results)],
    }


def _step(step: Difference | None, step_ns: Change | None) -> dict[str, Any] | None:
    if step is None or step_ns is None:
        return None
    names = ("pairs", "ratio", "low", "high", "error", "p", "least")
    figures = {name: getattr(step, name) for name in names}
    return {"before_ns": step_ns.before, "after_ns": step_ns.after, **figures}


def _change(change: Change) -> dict[str, Any]:
    return {**change._asdict(), "by": change.by, "is_certain": change.is_certain}


def _count(count: Any) -> dict[str, Any]:
    line = None if count.line is None else count.line._asdict()
    names = ("name", "before", "after", "is_certain")
    return {**{name: getattr(count, name) for name in names}, "line": line}


def _row(row: PartChange) -> dict[str, Any]:
    return {
        "match": row.match.value,
        "before": None if row.before is None else _part(row.before),
        "after": None if row.after is None else _part(row.after),
        "time_ns": {**_change(row.time_ns), "is_certain": row.is_certain},
        "calls": _change(row.calls),
        "calls_ns": row.calls_ns,
        "each_ns": row.each_ns,
        "signatures": [list(side) for side in row.signatures],
    }


def _part(part: Part) -> dict[str, Any]:
    found = part._asdict()
    return {**found, "kind": part.kind.name.lower(), "phase": part.phase.name.lower()}
