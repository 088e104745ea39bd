"""A change of attention that is made by hand: one operator for product, softmax and product."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.models.user_code import name_of
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.findings import HotspotRows
from perfprobe.tables.trace import Line

_LEAST = 0.1  # of a step
_PRODUCTS = ("aten::bmm", "aten::baddbmm", "aten::baddbmm_")
_SOFTMAX = "aten::_softmax"
_EACH = 2  # products of a softmax: before it and after it
_CALLS = ("matmul", "bmm")


class _Found(NamedTuple):
    """Attention in one function. line: that of the softmax."""

    share: float
    frame: int
    line: Line


class _Product(NamedTuple):
    """A product in the source, and the name that its result is given to, "" for none."""

    target: str
    left: str
    right: str


def attention(known: Known) -> Iterator[Change | Untold]:
    """One operator, where the weights are not returned."""
    found = [each for rows in _by_function(known).values() if (each := _attention(known, rows)) is not None]
    best = max((each for each in found if not _returns_weights(known, each.line)), default=None)
    if best is not None and best.share >= _LEAST:
        what = "scaled_dot_product_attention"
        snippet = _code(known, best.line)
        yield change("attention", best.share, Check.CLOSE, what, snippet, frame=best.frame)


def _by_function(known: Known) -> dict[tuple[str, str], HotspotRows]:
    """The operators by the function that their line, or their forward's, is in: those with a softmax."""
    places: dict[tuple[str, str], list[int]] = {}
    for at, frame in enumerate(_frames(known.rows)):
        line = known.line(frame)
        if line is not None:
            places.setdefault((line.file, line.function), []).append(at)
    found = {place: known.rows.take(np.array(own)) for place, own in places.items()}
    return {place: own for place, own in found.items() if bool(known.named(own, _SOFTMAX).any())}


def _frames(rows: HotspotRows) -> list[int]:
    frames: list[int] = np.where(rows.frame >= 0, rows.frame, rows.forward_frame).tolist()
    return frames


def _attention(known: Known, rows: HotspotRows) -> _Found | None:
    """All operators from the first product's line to the last one's, if the softmax is between them."""
    softmax = rows.take(known.named(rows, _SOFTMAX) & (rows.frame >= 0))
    products = rows.take(known.named(rows, *_PRODUCTS) & (rows.frame >= 0))
    if len(softmax) == 0 or int(products.calls.sum()) < _EACH * int(softmax.calls.sum()):
        return None
    frame = int(softmax.frame[0])
    line = known.line(frame)
    numbers = [each.line for each in map(known.line, products.frame.tolist()) if each is not None]
    if line is None or not min(numbers) <= line.line <= max(numbers):
        return None
    lines = [known.line(each) for each in _frames(rows)]
    between = [each is not None and min(numbers) <= each.line <= max(numbers) for each in lines]
    return _Found(known.operators_share(rows.take(np.array(between))), frame, line)


def _softmax_name(known: Known, line: Line) -> str | None:
    """The name that the softmax's result is given to."""
    node = known.code.statement(line)
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else None


def _returns_weights(known: Known, line: Line) -> bool:
    """Whether the weights are returned, or are made elsewhere, as in a library that may return them."""
    function = known.code.function(line)
    if function is None:
        return False  # not known
    if "softmax" not in ast.unparse(function):
        return True
    name = _softmax_name(known, line)
    returned = (node.value for node in ast.walk(function) if isinstance(node, ast.Return))
    return name is not None and any(_is_itself(value, name) for value in returned)


def _is_itself(value: ast.expr | None, name: str) -> bool:
    """Whether a name, or a tuple with it, is returned."""
    items = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(each is not None and ast.unparse(each) == name for each in items)


def _code(known: Known, line: Line) -> str:
    """The call, with the names of the products' operands where they can be read."""
    weights, function = _softmax_name(known, line), known.code.function(line)
    query, key, value, target = "q", "k", "v", "out"
    products = list(_products(function))
    for each in products:
        if weights is not None and weights in each.left:
            value, target = each.right, each.target or target
    for each in products:
        if "transpose" in each.right or each.right.endswith((".mT", ".T")) or "permute" in each.right:
            query, key = each.left, re.split(r"\.(?:m?T$|transpose|permute)", each.right)[0]
            break
    call = f"F.scaled_dot_product_attention({query}, {key}, {value})"
    return f"{target} = {call}  # mask, scale, dropout: its arguments"


def _products(function: ast.AST | None) -> Iterator[_Product]:
    """Matrix products in assignments and returned values."""
    for node in ast.walk(function) if function is not None else ():
        target = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
        value = node.value if isinstance(node, ast.Assign | ast.Return) else None
        for each in ast.walk(value) if value is not None else ():
            sides = _sides(each)
            if sides is not None:
                yield _Product(target, *map(ast.unparse, sides))


def _sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """What `a @ b`, `torch.bmm(a, b)` or `a.matmul(b)` multiplies."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if not isinstance(node, ast.Call) or name_of(node) not in _CALLS or not node.args:
        return None
    if len(node.args) > 1:
        return node.args[0], node.args[1]
    return (node.func.value, node.args[0]) if isinstance(node.func, ast.Attribute) else None
