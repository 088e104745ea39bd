"""Changes of how numbers are computed: dtypes, attention, growing results."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.columns import distinct
from perfprobe.tables.findings import HotspotRows
from perfprobe.tables.judgements import Growing, SlowDtype
from perfprobe.tables.trace import Line

_ATTENDS = 0.1  # of a step
_CONVERTS = 0.05
_CONTIGUOUS = ".contiguous()"
_COPIES = ("aten::copy_", "aten::clone", "aten::contiguous")
_PRODUCTS = ("aten::bmm", "aten::baddbmm", "aten::baddbmm_")
_SOFTMAX = ("aten::_softmax",)
_BESIDE = ("aten::native_dropout", "aten::_softmax_backward_data", "aten::masked_fill_", "aten::masked_fill")
_PRODUCTS_EACH = 2  # of a softmax: before it and after it
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


def attention(known: Known) -> Iterator[Change | Untold]:
    """One operator for product, softmax and product, where the weights are not returned."""
    best: tuple[float, int] = (0.0, -1)
    for rows in _by_function(known).values():
        share = _attends(known, rows)
        softmax = rows.take(known.named(rows, *_SOFTMAX))
        if share > best[0] and not _returns_weights(known, int(softmax.frame[0])):
            best = share, int(softmax.frame[0])
    share, frame = best
    if share >= _ATTENDS:
        what = "scaled_dot_product_attention"
        snippet = _attention_code(known, frame)
        yield change("attention", share, Check.CLOSE, what, snippet, frame=frame)


def _by_function(known: Known) -> dict[tuple[str, str], HotspotRows]:
    """The rows of products and softmax by the function that their line, or their forward's, is in."""
    rows = known.rows.take(known.named(known.rows, *_PRODUCTS, *_SOFTMAX, *_BESIDE))
    frames = np.where(rows.frame >= 0, rows.frame, rows.forward_frame)
    places: dict[tuple[str, str], list[int]] = {}
    for at, frame in enumerate(frames.tolist()):
        line = known.line(frame)
        if line is not None:
            places.setdefault((line.file, line.function), []).append(at)
    found = {place: rows.take(np.array(own)) for place, own in places.items()}
    return {place: own for place, own in found.items() if bool(known.named(own, *_SOFTMAX).any())}


def _attends(known: Known, rows: HotspotRows) -> float:
    """The share of these rows if each softmax has two products, else 0."""
    softmax = rows.take(known.named(rows, *_SOFTMAX))
    products = rows.take(known.named(rows, *_PRODUCTS) & (rows.frame >= 0))
    if int(products.calls.sum()) < _PRODUCTS_EACH * int(softmax.calls.sum()):
        return 0.0
    return known.operators_share(rows)


def _softmax_name(known: Known, line: Line) -> str | None:
    """The name that the softmax's result is given to."""
    node = known.code.statement(line)
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else None


def _returns_weights(known: Known, frame: int) -> bool:
    """Whether the weights are returned, or are made elsewhere, as in a library that may return them."""
    line = known.line(frame)
    function = None if line is None else known.code.function(line)
    if line is None or function is None:
        return False  # not known
    name = _softmax_name(known, line)
    if "softmax" not in ast.unparse(function):
        return True
    if name is None:
        return False
    returned = (node.value for node in ast.walk(function) if isinstance(node, ast.Return)) if function else ()
    return any(_is_itself(value, name) for value in returned)


def _is_itself(value: ast.expr | None, name: str) -> bool:
    """Whether a name, or a tuple with it, is returned."""
    items = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(each is not None and ast.unparse(each) == name for each in items)


def _attention_code(known: Known, frame: int) -> str:
    """The call, with the names of the products' operands where they can be read."""
    line = known.line(frame)
    weights = None if line is None else _softmax_name(known, line)
    function = None if line is None else known.code.function(line)
    query, key, value, target = "q", "k", "v", "out"
    for given, product in _products(function):
        if weights is not None and weights in ast.unparse(product.left):
            value, target = ast.unparse(product.right), given or target
    for _, product in _products(function):
        right = ast.unparse(product.right)
        if "transpose" in right or right.endswith((".mT", ".T")) or "permute" in right:
            query, key = ast.unparse(product.left), re.split(r"\.(?:m?T$|transpose|permute)", right)[0]
            break
    call = f"F.scaled_dot_product_attention({query}, {key}, {value})"
    return f"{target} = {call}  # mask, scale, dropout: its arguments"


def _products(function: ast.AST | None) -> Iterator[tuple[str, ast.BinOp]]:
    """Matrix products in assignments and returned values, each with the name that the result is given to."""
    for node in ast.walk(function) if function is not None else ():
        target = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
        value = node.value if isinstance(node, ast.Assign | ast.Return) else None
        for each in ast.walk(value) if value is not None else ():
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.MatMult):
                yield target, each
