"""Changes of steps that consist of short operators."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.models.user_code import called, name_of, with_keyword
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.diagnoses import Cause

_READ = "aten::_local_scalar_dense"


def compiled(known: Known) -> Iterator[Change | Untold]:
    """torch.compile, unless something is compiled already, or values are read in between."""
    found, compiled = known.first(Cause.SHORT_OPERATORS), known.findings.get(Compilations)
    if found is None or found.short is None or found.short.reads is not None:
        return
    if compiled is not None and compiled.functions:
        return
    overhead = max(found.share - found.short.of_data, 0)
    model = model_name(known)
    snippet = f"{model} = torch.compile({model})"
    given = {"frame": found.frame, "tries": ("compile",)}
    yield change("compile", overhead, Check.DTYPE, "torch.compile", snippet, **given)


def larger_batches(known: Known) -> Iterator[Change | Untold]:
    """The same overhead for more samples."""
    found, samples = known.first(Cause.SHORT_OPERATORS), int(known.times.loops.samples[0])
    if found is None or found.short is None or found.short.reads is not None or samples <= 0:
        return
    ranges = known.ranges("enumerate(DataLoader)")
    frame = int(ranges.frame[0]) if len(ranges) else int(known.times.loops.frame[0])
    made = known.code.made_for(known.line(frame), "DataLoader")
    what = f"batch_size={2 * samples}"
    snippet = what
    if made is not None:
        text = with_keyword(made, batch_size=str(2 * samples))
        snippet = f"{made.target} = {text}" if made.target else text
    share = max(found.share - found.short.of_data, 0) / 2
    given = {"frame": frame, "line": None if made is None else made.line}
    yield change("larger-batches", share, Check.TRAINING, what, snippet, **given)


def tolist(known: Known) -> Iterator[Change | Untold]:
    """All values read at once."""
    found = known.first(Cause.SHORT_OPERATORS)
    if found is None or found.short is None or found.short.reads is None:
        return
    reads = known.rows.take(known.named(known.rows, _READ))
    frame = int(reads.frame[reads.calls.argmax()])
    text = known.code.text(known.line(frame))
    read = next((each for each in called(_parsed(text)) if name_of(each) == "item"), None)
    value = (
        ast.unparse(read.func.value)
        if read is not None and isinstance(read.func, ast.Attribute)
        else "values"
    )
    snippet = f"all_of_it = {value.partition('[')[0]}.tolist()  # once, before the loop"
    # Reads are at least a third of the calls: `.item()` calls two operators around each.
    part = 3 * int(reads.calls.sum()) / max(int(known.rows.calls.sum()), 1)
    share = found.share * min(part, 1.0)
    yield change("tolist", share, Check.SAME_BITS, "tolist() once", snippet, frame=frame)


def model_name(known: Known) -> str:
    """What the program calls its model: what the loop's function calls and some line of the file made."""
    loops = known.times.loops
    line = known.line(int(loops.frame[0]))
    if line is None:
        return "model"
    tree = known.code.tree(line.file)
    body = known.code.statement(line._replace(line=max(int(loops.line[0]), 1)))
    made = {
        ast.unparse(target)
        for node in (() if tree is None else ast.walk(tree))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _is_class(name_of(node.value))
        for target in node.targets
    }
    names = [ast.unparse(each.func) for each in called(body)]
    return next((name for name in names if name in made), "model")


def _is_class(name: str) -> bool:
    return name[:1].isupper() and not name.endswith("Loss")


def _parsed(text: str | None) -> ast.AST | None:
    try:
        return None if text is None else ast.parse(text)
    except SyntaxError:
        return None


def hottest_frame(known: Known) -> int:
    """The line of the operators with most time, -1 if none has a line."""
    rows = known.rows.take(known.rows.frame >= 0)
    return int(rows.frame[np.argmax(rows.typical_ns)]) if len(rows) else -1
