"""The table of GPU kernels: which ones take the time, and what launched them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import RenderableType

from perfprobe.report import columns, shorten
from perfprobe.report.base import Layout
from perfprobe.report.cells import counts, durations, line_column, percents
from perfprobe.report.columns import Column
from perfprobe.report.gpu.cells import (
    PART,
    chosen,
    in_focus,
    mean_ns,
    operator_texts,
    site_columns,
    timed,
)
from perfprobe.report.gpu.names import cut_middle, kernel_names, shortened
from perfprobe.report.operator_columns import PHASES
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import Launches
from perfprobe.tables.gpu_findings import GpuFindings, KernelRows
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace

TOP = 15
_LONGEST_NAME = 60  # cells, in a sentence
_DEVICE = re.compile(r"@cuda:\d+")
GRAPH = "(graph)"


def kernels(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table and what its rows do not tell; nothing where no kernel ran."""
    gpu, trace = findings.gpu, findings.trace
    assert gpu is not None
    rows = gpu.kernels
    found = chosen(findings, rows, kernels_in_focus(findings, rows), "kernels", layout, TOP)
    if found is None:
        return
    shown, said = found
    share = units.percent(_time(shown) / max(_time(rows), 1))
    yield heading("GPU kernels", f"{said}, {share} of kernel time", layout.width)
    yield columns.table(columns.fit(_columns(trace, shown, _time(rows), layout), layout.width))
    notes = list(_notes(gpu, shown))
    if notes:
        yield paragraph(" ".join(notes), layout.width, "dim")


def hottest_kernel(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """Name, operator, line, phase and share of the one with most time."""
    gpu, trace = findings.gpu, findings.trace
    if gpu is None or len(gpu.kernels) == 0 or gpu.kernels.total_ns[0] <= 0:
        return
    row = gpu.kernels.take(slice(1))
    ((name, is_graph),) = zip(row.name.tolist(), row.is_graph.tolist(), strict=True)
    kernel = cut_middle(
        shortened(trace.recording[Strings][name] if name >= 0 else "(unknown)"), _LONGEST_NAME
    )
    (operator,) = operator_texts(trace, row, row.overload, layout)
    by = " by a CUDA graph" if is_graph == 1 else "" if operator == units.ABSENT else f" by {operator}"
    (place,) = line_column(trace, replace(row, forward_frame=row.frame)).cells
    share = units.percent(_time(row) / _time(gpu.kernels))
    phase = PHASES[Phase(int(row.phase[0]))]
    text = f"Hottest kernel: {kernel}{by}, {place}, {phase}: {share} of kernel time."
    yield paragraph(text, layout.width, "bold")


def kernels_in_focus(findings: Findings, rows: KernelRows) -> Mask:
    """Which rows match the focus, by the kernel's whole name, signature and module too."""
    trace, strings = findings.trace, findings.trace.recording[Strings]
    return in_focus(
        findings,
        rows,
        (rows.name, lambda at: strings[at] if at >= 0 else None),
        (rows.signature, trace.signature),
        (rows.module, trace.module),
    )


def _time(rows: KernelRows) -> int:
    return int(rows.total_ns[rows.total_ns >= 0].sum())


def _columns(trace: Trace, shown: KernelRows, whole_ns: int, layout: Layout) -> list[Column]:
    strings = trace.recording[Strings]
    names = [strings[name] if name >= 0 else "(unknown)" for name in shown.name.tolist()]
    texts = without_device([trace.signature(signature) for signature in shown.signature.tolist()])
    signatures = [units.ABSENT if text is None else shorten.signature(printable(text)) for text in texts]
    operators = operator_texts(trace, shown, shown.overload, layout)
    named = ("operator", "overload", "signature", "frame", "forward_frame", "phase")
    sites = list(zip(*(getattr(shown, name).tolist() for name in named), strict=True))
    marked = zip(kernel_names(names, sites), shown.is_graph.tolist(), strict=True)
    kernel = [f"{GRAPH} {name}" if is_graph == 1 else name for name, is_graph in marked]
    least, most = durations(shown.least_ns), durations(shown.most_ns)
    mean = durations(mean_ns(shown.total_ns, shown.kernels - shown.untimed))
    return [
        Column("share", percents(shown.total_ns, whole_ns), align="right", style="bold"),
        Column("total", timed(shown.total_ns, shown.untimed), align="right"),
        Column("kernels", counts(shown.kernels), 2, align="right"),
        Column("mean", mean, 6, align="right"),
        Column("least", least, 8, align="right"),
        Column("most", most, 7, align="right"),
        *([_launches(trace, shown)] if layout.columns == "all" else []),
        Column("kernel", kernel, least=12, wish=22, style="bold", shorten=cut_middle),
        *site_columns(trace, shown, operators, layout, Column("signature", signatures, 5, least=12, wish=20)),
    ]


def without_device(signatures: Sequence[str | None]) -> list[str | None]:
    """The signatures without `@cuda:0` where they know no other device: on one GPU that says nothing."""
    devices = {device for text in signatures if text is not None for device in _DEVICE.findall(text)}
    if len(devices) != 1:
        return list(signatures)
    return [None if text is None else _DEVICE.sub("", text) for text in signatures]


def _launches(trace: Trace, shown: KernelRows) -> Column:
    """Grid and block of the longest one: how many blocks of how many threads."""
    launches = trace.recording[Launches]
    sizes = zip(
        *(getattr(launches, f"{of}_{axis}").tolist() for of in ("grid", "block") for axis in "xyz"),
        strict=True,
    )
    texts = [f"{gx * gy * gz:,} x {bx * by * bz:,}" for gx, gy, gz, bx, by, bz in sizes]
    cells = [texts[at] if 0 <= at < len(texts) else units.ABSENT for at in shown.launch.tolist()]
    return Column("blocks x threads", cells, 4, align="right")


def _notes(gpu: GpuFindings, shown: KernelRows) -> Iterator[str]:
    if bool((shown.untimed > 0).any()):
        yield (
            f"{PART} lacks kernels that the driver gave no times; {units.count(gpu.untimed)} records in all "
            "have none."
        )
    if bool((shown.is_graph == 1).any()):
        yield (
            f"{GRAPH}: by launches of CUDA graphs ({units.count(gpu.graph_launches)}), at the line shown; "
            "which operator captured each kernel is not known."
        )
    if gpu.exact > 0:
        yield (
            f"{units.count(gpu.exact)} calls were linked by the operator's number (--gpu-links exact); by "
            f"time {units.count(gpu.disagreements)} of them would be another operator's."
        )
    if gpu.unlinked > 0:
        yield f"Of {units.count(gpu.unlinked)} kernels and copies the starting call is not known."
