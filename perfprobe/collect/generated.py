"""Reads what inductor notes about the kernels of a generated module: their operators and source lines.

Both exist by default, also if the module comes from inductor's cache. The operators are in the kernel's name.
The lines are in a map from lines of the module to the Python stack of a graph node.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

_CALL = re.compile(r"\s+(?:\w+ = )?([\w.]+)\(")
_EXTERN = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.")
_PLACE = re.compile(r'File "(.+)", line (\d+), in (.+)')


def known_operators(torch: Any) -> set[str]:
    """Returns the names of the operators that a kernel may be made from, without namespaces and overloads.

    Composite operators are left out, because they are decomposed before inductor sees them (`log_sigmoid`
    would look like `log` and `sigmoid`).
    """
    native = torch._C
    return {
        name.partition("::")[2].partition(".")[0]
        for name in native._dispatch_get_all_op_names()
        if name.startswith(("aten::", "prims::"))
        and not native._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
    }


def call_traces(
    source: str, kernels: Collection[str], traces: Iterable[tuple[int, str | None]]
) -> dict[str, list[str]]:
    """Returns for each kernel the Python stacks of the graph nodes that it computes, if inductor noted them.

    Inductor notes a node when it reaches it, and writes a kernel when it reaches something else. So the last
    node noted before a kernel is that of the extern call after it, if no other node is in between.

    Args:
        source: the text of the module.
        kernels: names of kernels.
        traces: line number and stack of every node, in order.
    """
    noted = sorted(((line, trace or "") for line, trace in traces), key=lambda entry: entry[0])
    found: dict[str, list[str]] = {}
    pending: list[str] = []  # stacks of nodes that are not called yet
    latest: str | None = None  # the kernel called since the last node
    for number, text in enumerate(source.splitlines(), 1):
        while noted and noted[0][0] <= number:
            pending.append(noted.pop(0)[1])
            latest = None
        match = _CALL.match(text)
        name = match.group(1).removesuffix(".run") if match is not None else ""  # `.run`: Triton's
        if name in kernels:
            found.setdefault(name, []).extend(pending)
            pending, latest = [], name
        elif name.startswith(_EXTERN):
            if latest is not None and found[latest]:
                found[latest].pop()
            pending, latest = [], None
    return found


def places(traces: Iterable[str], library: str) -> list[dict[str, object]]:
    """Returns file, line and function of each stack's innermost frame outside `library`, each once."""
    found = []
    for trace in traces:
        frames = _PLACE.findall(trace)
        own = [frame for frame in frames if not frame[0].startswith(f"{library}/")]
        found += [{"file": file, "line": int(line), "function": name} for file, line, name in own[-1:]]
    return [place for at, place in enumerate(found) if place not in found[:at]]
