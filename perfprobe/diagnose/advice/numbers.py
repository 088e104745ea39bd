"""Changes of how numbers are computed: dtypes, copies, growing results."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.columns import distinct
from perfprobe.tables.judgements import Growing, SlowDtype
from perfprobe.tables.trace import Line

_CONVERTS = 0.05
_CONTIGUOUS = ".contiguous()"
_COPIES = ("aten::copy_", "aten::clone", "aten::contiguous")
_FLOATS = {"double": "float", "half": "float"}
_DTYPES = re.compile(r"\bfloat(64|16)\b")


def slow_dtype(known: Known) -> Iterator[Change | Untold]:
    """float32 instead of float64, or of float16 on a CPU."""
    found = known.findings.get(SlowDtype)
    if found is None:
        return
    text = known.code.text(known.line(found.frame))
    is_double = found.dtype == "float64"
    yield change(
        found.dtype,
        found.share,
        Check.DTYPE,
        "float32",
        _in_float(text) if text else "x = x.float()",
        frame=found.frame,
        tries=("float32",) if is_double else (),
    )


def _in_float(text: str) -> str:
    """The line with float32 in place of its other dtype, or converted at its end."""
    changed = _DTYPES.sub("float32", text)
    for old, new in _FLOATS.items():
        changed = re.sub(rf"\.{old}\(\)", f".{new}()", changed)
    if changed != text:
        return changed
    made = re.search(r"\b(?:torch\.)?(?:from_numpy|as_tensor|tensor)\(", text)
    end = -1 if made is None else _closing(text, made.end())
    return f"{text[:end]}.float(){text[end:]}" if end > 0 else f"{text}  # then .float()"


def _closing(text: str, start: int) -> int:
    """The place behind the bracket that closes the one before `start`; -1 for none."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return -1


def growing(known: Known) -> Iterator[Change | Untold]:
    """One `cat` of all parts."""
    found = known.findings.get(Growing)
    if found is not None:
        line = known.line(found.frame)
        share = min(found.share, known.line_share(line) or 1)  # its sum contains waiting
        snippet = _cat_once(known, line)
        yield change("cat-in-loop", share, Check.SAME_BITS, "cat once", snippet, frame=found.frame)


def _cat_once(known: Known, line: Line | None) -> str:
    """The two lines that replace `out = torch.cat([out, x])`."""
    target, part, function, others = "out", "x", "torch.cat", ""
    found = known.code.call(line, "cat", "concat", "concatenate")
    if found is not None and isinstance(found[0], ast.Assign) and found[1].args:
        call = found[1]
        target, function = ast.unparse(found[0].targets[0]), ast.unparse(call.func)
        items = [ast.unparse(each) for each in getattr(call.args[0], "elts", [])]
        part = next((each for each in items if each != target), part)
        named = (f"{each.arg}={ast.unparse(each.value)}" for each in call.keywords)
        others = "".join(f", {each}" for each in (*map(ast.unparse, call.args[1:]), *named))
    return f"parts.append({part})  # in the loop\n{target} = {function}(parts{others})  # after it"


def conversions(known: Known) -> Iterator[Change | Untold]:
    """Without the copies of `.contiguous()`, at each line that has many."""
    copies = known.rows.take(known.named(known.rows, *_COPIES) & (known.rows.frame >= 0))
    shares = {
        frame: known.operators_share(copies.take(copies.frame == frame))
        for frame in distinct(copies.frame).tolist()
        if int(copies.calls[copies.frame == frame].sum()) >= known.account.steps
    }
    for frame, share in shares.items():
        text = known.code.text(known.line(frame))
        if share >= _CONVERTS and text is not None and _CONTIGUOUS in text:
            what, snippet = "no contiguous()", text.replace(_CONTIGUOUS, "")
            yield change("conversions", share, Check.CLOSE, what, snippet, frame=frame)
