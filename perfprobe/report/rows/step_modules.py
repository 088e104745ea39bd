"""The module with most of a step's time, for programs whose own lines are not specific enough."""

from __future__ import annotations

from perfprobe.report.rows.modules import Node, module_trees
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots

_MOST = 0.6  # a module with this share of its parent's time is named in place of the parent
_MUCH = 0.25  # a module needs this share of its root's time


@frozen
class HotModule:
    """A module, or several similar ones. path: `transformer.h.*.attn`. time_ns: in all steps."""

    path: str
    node: Node

    @property
    def time_ns(self) -> int:
        """Typical time of its operators and its children's, in ns."""
        return self.node.total_ns

    @property
    def name(self) -> str:
        """The path; with the class if the module has only a number, as in a Sequential: `0 (Conv2d)`."""
        is_number = self.path.rpartition(".")[2].isdigit() and self.node.type
        return f"{self.path} ({self.node.type})" if is_number else self.path

    @property
    def classes(self) -> set[str]:
        """The classes of the module and of those that it contains."""
        found, waiting = set[str](), [self.node]
        while waiting:
            node = waiting.pop()
            found.add(node.type)
            waiting += node.parts
        return found

    @property
    def phases(self) -> str:
        """The phases in which it has time: `forward + backward`."""
        return " + ".join(name for name in ("forward", "backward") if self.node.figures[f"{name}_ns"] > 0)


def hot_module(findings: Findings) -> HotModule | None:
    """The innermost module that has most of each parent's time and much of its root's, otherwise None."""
    roots = module_trees(findings.trace, findings[StepHotspots].modules)
    node = max(roots, key=lambda root: root.total_ns, default=None)
    if node is None:
        return None
    root, depth = node, 0
    path: list[str] = []
    while node.parts:
        part = max(node.parts, key=lambda each: each.total_ns)
        if part.total_ns < (_MOST if depth else _MUCH) * node.total_ns:
            break
        node, depth = part, depth + 1
        path.append(node.name)
    if len(roots) > 1 or path[:1] == ["*"]:  # `*` alone says nothing
        path.insert(0, root.name)
    return HotModule(".".join(path), node) if depth else None
