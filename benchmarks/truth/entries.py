"""Tables of truth, and how a report's rows are compared with them.

A table says which line and module run which operators, read from a workload's source by hand. The derivatives
come from torch's documentation: derivatives.yaml in torch's sources names the formula of every autograd node,
and INSIDE lists the operators that each formula may run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

ACCUMULATE = "AccumulateGrad: no forward line"
NODE_CALL = "autograd::engine::evaluate_function: "

# What the engine may run in any node: the sum of the gradients of a tensor that is used several times.
ENGINE = "add_"
VIEW = "as_strided view reshape _reshape_alias _unsafe_view clone empty_like empty copy_"
FILL = "zeros zeros_like empty empty_like empty_strided zero_ fill_ resize_"
SCALAR = "to _to_copy empty_strided copy_"  # a Python number converted to a tensor
BLOCKED = "contiguous clone empty_like copy_ empty as_strided as_strided_ resize_ squeeze unsqueeze"
INSIDE = {
    "AddBackward0": f"sum {VIEW} {FILL}",  # if broadcast
    "AddmmBackward0": f"mm resolve_conj t transpose sum {VIEW} {FILL}",
    "BmmBackward0": "bmm resolve_conj transpose as_strided",
    "CloneBackward0": "",
    "ConvolutionBackward0": f"convolution_backward {BLOCKED}",
    "DivBackward0": f"div {SCALAR}",
    "EmbeddingBackward0": f"embedding_backward embedding_dense_backward {VIEW} {FILL}",
    "LogSoftmaxBackward0": "_log_softmax_backward_data",
    "MaskedFillBackward0": f"masked_fill masked_fill_ {VIEW}",
    "MeanBackward1": f"expand unsqueeze as_strided div {SCALAR}",
    "MkldnnRnnLayerBackward0": f"mkldnn_rnn_layer_backward add {VIEW} {FILL}",
    "MulBackward0": "mul",
    "NativeBatchNormBackward0": f"native_batch_norm_backward {FILL}",
    "NativeLayerNormBackward0": f"native_layer_norm_backward {FILL}",
    "NllLossBackward0": f"nll_loss_backward {FILL}",
    "ReluBackward0": "threshold_backward",
    "SoftmaxBackward0": "_softmax_backward_data",
    "TBackward0": "t transpose as_strided",
    "TransposeBackward0": "transpose as_strided",
    "UnsafeViewBackward0": VIEW,
    "ViewBackward0": VIEW,
    "torch::autograd::CppNode<workloads::WindowMean>": f"workloads::window_mean_backward {BLOCKED} {FILL}",
}

# The last node of a linear layer over [batch, length, width] by torch version: 2.13 ends in view, 2.15 in
# _unsafe_view.
LINEAR_END: str = torch.nn.Linear(1, 1)(torch.ones(1, 1, 1)).grad_fn.name()

Key = tuple[str | None, str | None, str, str]  # text of the line, module, phase, operator or node
Row = dict[str, Any]  # of the report's table "hotspots"


@dataclass(frozen=True)
class Entry:
    """What a line runs in one module.

    Operators are separated by blanks, and each is repeated as often as one run of the line calls it. `runs`
    and `backward` name the operators worth checking. If a table names an operator, all its calls of that
    phase must be in the table. `nodes` are all autograd nodes of the line, without the ending "Backward0".
    """

    text: str  # of the line, stripped
    module: str | None  # with numbers as *
    times: int  # how often the line runs
    runs: str
    backward: str = ""
    nodes: str = ""
    phase: str = "forward"  # phase of the line itself

    def operators(self) -> Iterator[tuple[str, str]]:
        """(phase, operator) of each call."""
        yield from ((self.phase, full_name(name)) for name in self.runs.split())
        yield from (("backward", full_name(name)) for name in self.backward.split())

    def node_names(self) -> list[str]:
        """The nodes' whole names."""
        return [name if re.search("Backward|::", name) else f"{name}Backward0" for name in self.nodes.split()]


class Truth:
    """A workload's table."""

    def __init__(self, file: str, source: str, entries: list[Entry]) -> None:
        """Raises ValueError if a line does not occur exactly once in the source: the table is out of date."""
        self.file = file
        self.entries = entries
        self._texts = [line.strip() for line in source.splitlines()]
        missing = {entry.text for entry in entries if self._texts.count(entry.text) != 1}
        if missing:
            raise ValueError(f"not exactly once in {file}: {sorted(missing)}")
        self._owned: dict[tuple[str | None, str | None], set[str]] = {
            (entry.text, entry.module): _owned(entries, entry) for entry in entries
        }
        self._listed = {pair for entry in entries for pair in entry.operators()}

    def calls(self) -> Counter[Key]:
        """Calls of every listed operator."""
        calls: Counter[Key] = Counter()
        for entry in self.entries:
            for phase, operator in entry.operators():
                calls[entry.text, entry.module, phase, operator] += entry.times
        return calls

    def calls_found(self, rows: Iterable[Row]) -> Counter[Key]:
        """The same, as the report has them, on any line."""
        calls: Counter[Key] = Counter()
        for row in rows:
            if (row["phase"], row["operator"]) in self._listed:
                for module, count in modules_of(row):
                    calls[self.text_of(row), module, row["phase"], row["operator"]] += count
        return calls

    def nodes(self) -> Counter[Key]:
        """Calls of every autograd node."""
        calls: Counter[Key] = Counter()
        for entry in self.entries:
            for node in entry.node_names():
                calls[entry.text, entry.module, "backward", node] += entry.times
        return calls

    def nodes_found(self, rows: Iterable[Row]) -> Counter[Key]:
        """The same, as the report has them: calls of the engine, without those that have no forward line."""
        calls: Counter[Key] = Counter()
        for row in backward(rows):
            if row["operator"].startswith(NODE_CALL) and row["reason"] != ACCUMULATE:
                for module, count in modules_of(row):
                    calls[self.text_of(row), module, "backward", row["operator"][len(NODE_CALL) :]] += count
        return calls

    def is_exact(self, row: Row) -> bool:
        """Whether the table allows this operator for the line and modules of a backward row."""
        text = self.text_of(row)
        owned = [self._owned.get((text, module), set()) for module, _ in modules_of(row)]
        return all(row["operator"] in operators for operators in owned)

    def text_of(self, row: Row) -> str | None:
        """The text of the row's line if it is the workload's, else file and number; None without a line."""
        if row["file"] is None:
            return None
        if row["file"].endswith(self.file):
            return self._texts[row["line"] - 1]
        return f"{row['file']}:{row['line']}"


def backward(rows: Iterable[Row]) -> list[Row]:
    """The rows of the backward pass."""
    return [row for row in rows if row["phase"] == "backward"]


def modules_of(row: Row) -> list[tuple[str | None, int]]:
    """Modules, with numbers as *, and their calls."""
    if not row["modules"]:
        return [(None, row["calls"])]
    return [(re.sub(r"\b\d+\b", "*", part["module"]), part["calls"]) for part in row["modules"]]


def full_name(operator: str) -> str:
    """torch's own name for an operator of a table."""
    return operator if "::" in operator else f"aten::{operator}"


def _owned(entries: list[Entry], wanted: Entry) -> set[str]:
    """The operators that backward may run for an entry's line and module."""
    nodes = {
        node
        for entry in entries
        if (entry.text, entry.module) == (wanted.text, wanted.module)
        for node in entry.node_names()
    }
    inside = {full_name(operator) for node in nodes for operator in f"{INSIDE[node]} {ENGINE}".split()}
    return inside | nodes | {NODE_CALL + node for node in nodes}
