"""Rows of GPU kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from perfprobe.models.kernel_families import family
from perfprobe.models.launch_sizes import LaunchTable
from perfprobe.models.tensor_cores import in_plugin_list, uses_tensor_cores
from perfprobe.report.rows.gpu.chosen import Chosen, chosen
from perfprobe.report.rows.gpu.site import Site, site
from perfprobe.report.rows.row import inline, mean_ns, measured, named, unwritten, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import Launches
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.strings import Strings
from perfprobe.tables.wrappers import WRAPPER_TEXTS


@frozen(kw_only=True)
class Sizes:
    """Shared memory of a block, blocks per multiprocessor, and occupancies (1 is full), as in `LaunchSizes`.

    tensor_cores: whether its name is one of kernels that use them. plugin_tensor_cores: whether it is in the
    TensorBoard plugin's list of names.
    """

    shared_bytes: int | None
    blocks_per_sm: float | None
    theoretical_occupancy: float | None
    occupancy: float | None
    plugin_occupancy: float | None
    tensor_cores: bool
    plugin_tensor_cores: bool


@frozen(kw_only=True)
class KernelRow:
    """Kernels of one name under one operator, signature, line and phase; figures as in `KernelRows`.

    family: what made it, such as NCCL or cuBLAS. wrapper: "DDP" or "FSDP" for a kernel of NCCL. made_from:
    the operators of a kernel that torch.compile generated. module: that of all calls, None if they differ.
    launch: how the longest kernel was launched, the columns of `Launches`, each None if not known. sizes:
    computed from `launch`. share: its share of the time of all kernels.
    """

    name: str | None
    operator: str | None
    overload: str | None
    signature: str | None
    module: str | None
    at: Site = inline()
    is_graph: bool
    family: str | None
    wrapper: str | None
    made_from: Sequence[str] | None
    kernels: int
    untimed: int
    total_ns: int | None
    least_ns: int | None
    most_ns: int | None
    launch: Mapping[str, int | None] = inline()
    sizes: Sizes = inline()
    share: float | None = unwritten()

    @property
    def mean_ns(self) -> int | None:
        """The mean of the kernels with times."""
        return mean_ns(self.total_ns, self.kernels - self.untimed)


def kernel_rows(findings: Findings, top: int, sort: str = "self") -> Chosen[KernelRow]:
    """The `top` first rows in focus, 0 for all."""
    trace, table, whole_ns = findings.trace, findings[GpuFindings].kernels, kernel_time_ns(findings)
    strings, launches = trace.recording[Strings], trace.recording[Launches]
    sizes = LaunchTable(trace.recording)

    def row(value: Mapping[str, Any]) -> KernelRow:
        total_ns = measured(value["total_ns"])
        return KernelRow(
            name=named(strings[value["name"]]),
            operator=named(strings[value["operator"]]),
            overload=named(strings[value["overload"]]),
            signature=trace.signature(value["signature"]),
            module=trace.module(value["module"]),
            at=site(trace, value),
            is_graph=value["is_graph"] == 1,
            family=_family(strings[value["name"]], strings[value["operator"]]),
            wrapper=WRAPPER_TEXTS.get(value["wrapper"]),
            made_from=trace.made_from(value["name"])[0] or trace.made_from(value["operator"])[0] or None,
            kernels=value["kernels"],
            untimed=value["untimed"],
            total_ns=total_ns,
            least_ns=measured(value["least_ns"]),
            most_ns=measured(value["most_ns"]),
            launch=_launch(launches, value["launch"]),
            sizes=_sizes(sizes, value, strings[value["name"]]),
            share=None if total_ns is None else total_ns / max(whole_ns, 1),
        )

    return chosen(findings, table, "kernels", top, sort, row)


def _family(kernel: str, operator: str) -> str | None:
    """The family by the kernel's name; for Triton's kernels, which have any name, by their operator."""
    return family(kernel) or ("Triton" if operator.startswith("triton::") else None)


def kernel_time_ns(findings: Findings) -> int:
    """The time of all kernels with times, in ns. A focus does not change it."""
    total_ns = findings[GpuFindings].kernels.total_ns
    return int(total_ns[total_ns >= 0].sum())


def _launch(launches: Launches, at: int) -> Mapping[str, int | None]:
    if not 0 <= at < len(launches):
        return dict.fromkeys(launches.dtypes)
    (found,) = values(launches.take(slice(at, at + 1)))
    return {name: measured(figure) for name, figure in found.items()}


def _sizes(table: LaunchTable, value: Mapping[str, Any], name: str) -> Sizes:
    blocks, theoretical, occupancy, plugin = table.of(value["device"], value["launch"])
    return Sizes(
        shared_bytes=table.shared_bytes(value["launch"]),
        blocks_per_sm=_known(blocks),
        theoretical_occupancy=_known(theoretical),
        occupancy=_known(occupancy),
        plugin_occupancy=_known(plugin),
        tensor_cores=uses_tensor_cores(name),
        plugin_tensor_cores=in_plugin_list(name),
    )


def _known(figure: float) -> float | None:
    return None if math.isnan(figure) else figure
