"""Sums GPU work by kernel, copy or wait, and by the operator and line that caused it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.devices import device_rows, duration_ns, step_counts
from perfprobe.analyse.gpu_origins import Origin, origin_columns, origins_of
from perfprobe.analyse.gpu_waits import all_waits
from perfprobe.analyse.grouping import measured_sums, sort_by_keys
from perfprobe.analyse.wrappers import wrappers
from perfprobe.models.images import has_float_images
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.gpu import ApiCalls, Copies, CopyKind, GpuLinks, GpuWaits, Kernels
from perfprobe.tables.gpu_findings import CopyRows, GpuFindings, KernelRows, LaunchRows, WaitRows
from perfprobe.tables.steps import Steps
from perfprobe.tables.trace import Trace
from perfprobe.tables.wrappers import WrapperSpans

_ORIGIN = ("operator", "frame", "forward_frame", "phase", "no_line", "linked")
_KERNEL_KEYS = ("name", "overload", "signature", "is_graph", "wrapper", *_ORIGIN)
_COPY_KEYS = ("kind", "source", "destination", "is_async", *_ORIGIN)
_WAIT_KEYS = ("kind", "call", *_ORIGIN)
_NO_ERRORS = (-1, 0, 600)  # not known, success, and cudaErrorNotReady, which is not a failure

_Columns = dict[str, npt.NDArray[Any]]


def gpu_findings(trace: Trace, steps: Steps, spans: WrapperSpans) -> GpuFindings | None:
    """Returns the sums for GPUs; None if no GPU was recorded.

    Args:
        spans: what DDP and FSDP ran.
        steps: as in `StepTimes`. Those of the leading loop's thread are counted, with its evaluations.
    """
    links, gpu = trace.gpu, trace.recording
    if links is None:
        return None
    steps = _of_one_thread(steps)
    of_kernels, of_copies = origins_of(gpu, links)
    calls = np.concatenate([links.kernel_call, links.copy_call])
    is_graph = np.concatenate([of_kernels.is_graph, of_copies.is_graph])
    in_operator = np.append(links.sites.name >= 0, False)[calls]
    untimed = np.concatenate([duration_ns(gpu[Kernels]), duration_ns(gpu[Copies])]) < 0
    waits, wait_call = all_waits(gpu, links)
    launches = distinct(gpu[ApiCalls].correlation[links.graph_launch])
    return GpuFindings(
        kernels=_kernel_rows(trace, links, of_kernels, wrappers(trace, spans, links.kernel_call)),
        copies=_copy_rows(trace, links, of_copies),
        waits=_wait_rows(trace, links, waits, wait_call),
        calls=_launch_rows(gpu[ApiCalls]),
        devices=device_rows(gpu),
        steps=steps,
        step_counts=step_counts(gpu, links, steps, waits, wait_call),
        graph_launches=len(launches),
        unlinked=int(np.count_nonzero(calls < 0)),
        outside=int(np.count_nonzero((calls >= 0) & ~in_operator & ~is_graph)),
        untimed=int(np.count_nonzero(untimed)),
        exact=links.exact,
        disagreements=links.disagreements,
    )


def _of_one_thread(steps: Steps) -> Steps:
    own = steps.take(steps.thread == steps.thread[:1])
    return own.take(np.argsort(own.start_ns, kind="stable"))


@frozen
class _Groups:
    """Groups of rows with equal keys, the longest row first in each. order, first: see `sort_by_keys`."""

    order: Rows
    first: Rows
    took_ns: Int64
    columns: _Columns

    @classmethod
    def of(cls, columns: _Columns, keys: tuple[str, ...], took_ns: Int64) -> _Groups:
        longest = np.argsort(-took_ns, kind="stable")
        order, first = sort_by_keys([columns[name][longest] for name in keys])
        return cls(longest[order], first, took_ns, {name: columns[name] for name in keys})

    @property
    def leaders(self) -> Rows:
        return self.order[self.first]

    def keys(self) -> _Columns:
        return {name: column[self.leaders] for name, column in self.columns.items()}

    def rows(self) -> Int64:
        return np.diff(np.append(self.first, len(self.order))).astype(np.int64)

    def sum(self, column: npt.NDArray[Any]) -> Int64:
        return np.add.reduceat(column[self.order].astype(np.int64), self.first)

    def total_ns(self) -> Int64:
        return measured_sums(self.took_ns, self.order, self.first)

    def least_ns(self) -> Int64:
        far_ns = np.iinfo(np.int64).max
        timed_ns = np.where(self.took_ns < 0, far_ns, self.took_ns)[self.order]
        least_ns = np.minimum.reduceat(timed_ns, self.first)
        return np.where(least_ns == far_ns, -1, least_ns)

    def common(self, column: Int32) -> Int32:
        """The value that all rows of a group have, -1 if they differ."""
        values = column[self.order]
        least, most = np.minimum.reduceat(values, self.first), np.maximum.reduceat(values, self.first)
        return np.where(least == most, least, np.int32(-1))


def _kernel_rows(trace: Trace, links: GpuLinks, origins: Origin, wrapper: Int8) -> KernelRows:
    kernels = trace.recording[Kernels]
    if len(kernels) == 0:
        return KernelRows.empty()
    origin = origin_columns(trace, links, origins)
    is_graph = origins.is_graph.astype(np.int8)
    columns = {**origin, "name": kernels.name, "is_graph": is_graph, "wrapper": wrapper}
    groups = _Groups.of(columns, _KERNEL_KEYS, duration_ns(kernels))
    found = KernelRows(
        **groups.keys(),
        module=groups.common(origin["module"]),
        launch=kernels.launch[groups.leaders],
        device=kernels.device[groups.leaders],
        kernels=groups.rows(),
        untimed=groups.sum(groups.took_ns < 0),
        total_ns=groups.total_ns(),
        least_ns=groups.least_ns(),
        most_ns=groups.took_ns[groups.leaders],
    )
    return found.take(_most_first(found.total_ns))


def _copy_rows(trace: Trace, links: GpuLinks, origins: Origin) -> CopyRows:
    copies = trace.recording[Copies]
    if len(copies) == 0:
        return CopyRows.empty()
    own: dict[str, Int8] = {name: getattr(copies, name) for name in _COPY_KEYS[:4]}
    origin = origin_columns(trace, links, origins)
    columns = {**origin, **own}
    to_gpu = copies.kind == CopyKind.HOST_TO_DEVICE
    image_bytes = copies.size_bytes * (to_gpu & _of_images(trace, origin["signature"]))
    groups = _Groups.of(columns, _COPY_KEYS, duration_ns(copies))
    found = CopyRows(
        **groups.keys(),
        copies=groups.rows(),
        size_bytes=groups.sum(np.maximum(copies.size_bytes, 0)),
        image_bytes=groups.sum(np.maximum(image_bytes, 0)),
        untimed=groups.sum(groups.took_ns < 0),
        total_ns=groups.total_ns(),
    )
    return found.take(_most_first(found.total_ns))


def _of_images(trace: Trace, signature: Int32) -> Mask:
    """Which of these inputs have images of floats."""
    known, number = np.unique(signature, return_inverse=True)
    found = np.array([has_float_images(trace.signature(each) or "") for each in known.tolist()], np.bool_)
    return found[number.reshape(-1)]


def _wait_rows(trace: Trace, links: GpuLinks, waits: GpuWaits, wait_call: Int32) -> WaitRows:
    if len(waits) == 0:
        return WaitRows.empty()
    call = np.append(trace.recording[ApiCalls].name, np.int32(-1))[wait_call]
    columns = {**origin_columns(trace, links, Origin.of_call(wait_call)), "kind": waits.kind, "call": call}
    groups = _Groups.of(columns, _WAIT_KEYS, duration_ns(waits))
    found = WaitRows(
        **groups.keys(),
        waits=groups.rows(),
        total_ns=groups.total_ns(),
        longest_ns=groups.took_ns[groups.leaders],
    )
    return found.take(_most_first(found.total_ns))


def _launch_rows(calls: ApiCalls) -> LaunchRows:
    if len(calls) == 0:
        return LaunchRows.empty()
    groups = _Groups.of({"name": calls.name}, ("name",), duration_ns(calls))
    found = LaunchRows(
        **groups.keys(),
        calls=groups.rows(),
        failed=groups.sum(~np.isin(calls.result, _NO_ERRORS)),
        total_ns=groups.total_ns(),
        longest_ns=groups.took_ns[groups.leaders],
    )
    return found.take(_most_first(found.total_ns))


def _most_first(total_ns: Int64) -> Rows:
    return np.argsort(-total_ns, kind="stable")
