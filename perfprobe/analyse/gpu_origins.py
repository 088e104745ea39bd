"""Where work on GPUs comes from: the call that started it, and the operator and line that made it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.operator_rows import same_signatures
from perfprobe.tables.columns import Int32, Mask
from perfprobe.tables.gpu import Copies, GpuLinks, Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import NoLine, Trace


class Origin(NamedTuple):
    """Where rows come from.

    Attributes:
        call: the call that started each, of a graph's work its launch; -1 if not known.
        site: the row of `CallSites` that says what it is: of a graph's work the captured call, if known.
        is_graph: whether a CUDA graph launched it.
        is_node: whether it is of a graph, and not known which operator of it.
        several: whether inputs and module of the site may be those of another call.
    """

    call: Int32
    site: Int32
    is_graph: Mask
    is_node: Mask
    several: Mask

    @classmethod
    def of_call(cls, call: Int32) -> Origin:
        """Rows of no graph."""
        none = np.zeros(len(call), np.bool_)
        return cls(call, call, none, none, none)


def origins_of(gpu: Recording, links: GpuLinks) -> tuple[Origin, Origin]:
    """Where kernels and copies come from."""
    captured = links.captured
    return (
        _of_work(gpu[Kernels], links, links.kernel_call, captured.kernels, captured.several_kernels),
        _of_work(gpu[Copies], links, links.copy_call, captured.copies, captured.several_copies),
    )


def _of_work(rows: Kernels | Copies, links: GpuLinks, call: Int32, captured: Int32, several: Mask) -> Origin:
    is_graph, is_known = of_graph(rows, links, call), captured >= 0
    return Origin(call, np.where(is_known, captured, call), is_graph, is_graph & ~is_known, several)


def origin_columns(trace: Trace, links: GpuLinks, origin: Origin) -> dict[str, npt.NDArray[Any]]:
    """Columns that say where each row comes from.

    Work of a graph has the line of its launch and no operator, if its capture was not recorded.
    """
    sites = links.sites

    def at_site(column: npt.NDArray[Any], absent: int) -> npt.NDArray[Any]:
        return np.append(column, column.dtype.type(absent))[origin.site]

    hidden, several = origin.is_node, origin.is_node | origin.several
    no_line = at_site(sites.no_line, NoLine.CALL_NOT_RECORDED)
    unknown = hidden & (origin.call < 0)
    return {
        "operator": np.where(hidden, np.int32(-1), at_site(sites.name, -1)),
        "overload": np.where(hidden, np.int32(-1), at_site(sites.overload, -1)),
        "signature": np.where(several, np.int32(-1), at_site(same_signatures(trace)[sites.signature], -1)),
        "frame": at_site(sites.frame, -1),
        "forward_frame": at_site(sites.forward_frame, -1),
        "module": np.where(origin.several, np.int32(-1), at_site(sites.module, -1)),
        "phase": at_site(sites.phase, 0),
        "no_line": np.where(unknown, no_line.dtype.type(NoLine.GRAPH_LAUNCH_UNKNOWN), no_line),
        "linked": (origin.call >= 0).astype(np.int8),
    }


def of_graph(rows: Kernels | Copies, links: GpuLinks, call: Int32) -> Mask:
    """A mask of the rows that a CUDA graph launched."""
    return np.asarray((rows.graph >= 0) | np.append(links.graph_launch, False)[call])
