"""How much of each operator's time on GPUs is in kernels that use tensor cores, by the kernels' names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfprobe.analyse.devices import duration_ns
from perfprobe.analyse.gpu_origins import origins_of
from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.models.matrix_work import PLUGIN, is_unaligned, may_use_tensor_cores, uses_tf32
from perfprobe.models.tensor_cores import uses_tensor_cores
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.gpu import Kernels
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


class TensorCores(Table, name="tensor_cores"):
    """The time on GPUs of the operators that launched kernels, and what of it uses tensor cores."""

    operator: Int32 = column("the operator that launched them, -1 none", Strings)
    kernel_ns: Int64 = column("sum of the kernels' durations", combine=Combine.SUM)
    tensor_ns: Int64 = column("that of kernels that use tensor cores", combine=Combine.SUM)
    eligible: Int8 = column("1 if tensor cores can do what it does, for some types and sizes")
    in_plugin_list: Int8 = column("1 if the TensorBoard plugin says so")
    tf32_ns: Int64 = column("time of kernels that multiply in TF32", combine=Combine.SUM)
    unaligned_ns: Int64 = column(
        "time of kernels that load single elements, because a size or a stride is odd", combine=Combine.SUM
    )
    kernels: Int64 = column("number of kernels", combine=Combine.SUM)


def tensor_cores(trace: Trace) -> TensorCores | None:
    """A row for each operator, most time first; None without kernels that have times."""
    kernels, strings, links = trace.recording[Kernels], trace.recording[Strings], trace.gpu
    if links is None:
        return None
    rows = np.flatnonzero(duration_ns(kernels) >= 0)
    if len(rows) == 0:
        return None
    origin, _ = origins_of(trace.recording, links)
    launched_by = np.append(links.sites.name, np.int32(-1))[origin.site]
    operator = np.where(origin.is_node, np.int32(-1), launched_by)[rows]
    took_ns = duration_ns(kernels)[rows]
    order, first = sort_by_keys([operator])
    names = operator[order[first]]
    texts = [strings[name] for name in names.tolist()]

    def sums(ns: Int64) -> Int64:
        return np.add.reduceat(ns[order], first)

    def of_kernels(is_one: Callable[[str], bool]) -> Int64:
        return sums(took_ns * strings.marks(is_one)[kernels.name[rows]])

    found = TensorCores(
        operator=names,
        eligible=np.array([may_use_tensor_cores(text) for text in texts], np.int8),
        in_plugin_list=np.array([text in PLUGIN for text in texts], np.int8),
        kernels=np.diff(np.append(first, len(order))).astype(np.int64),
        kernel_ns=sums(took_ns),
        tensor_ns=of_kernels(uses_tensor_cores),
        tf32_ns=of_kernels(uses_tf32),
        unaligned_ns=of_kernels(is_unaligned),
    )
    return found.take(np.argsort(-found.kernel_ns, kind="stable"))
