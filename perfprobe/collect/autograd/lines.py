"""Finds the line of an operator that Python calls by operator syntax: `a / b`, `x[1]`, `-x`.

The interpreter sees no call there. The profiler only knows the function in which the operator ran, and the
lines of the calls before and after it. The function's source, which is parsed but not run, says which lines
contain that syntax. A line is only returned if no other line is possible.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence
    from typing import Any

LARGEST_FILE_BYTES = 4 << 20

_SIGNS = {
    "Add": ("add",),
    "Sub": ("sub",),
    "Mult": ("mul",),
    "Div": ("div",),
    "FloorDiv": ("floor_divide",),
    "Mod": ("remainder",),
    "MatMult": ("matmul",),
    "Pow": ("pow",),
    "BitAnd": ("__and__", "bitwise_and", "__iand__"),
    "BitOr": ("__or__", "bitwise_or", "__ior__"),
    "BitXor": ("__xor__", "bitwise_xor", "__ixor__"),
    "LShift": ("__lshift__", "bitwise_left_shift", "__ilshift__"),
    "RShift": ("__rshift__", "bitwise_right_shift", "__irshift__"),
    "USub": ("neg",),
    "Invert": ("bitwise_not",),
    "Eq": ("eq",),
    "NotEq": ("ne",),
    "Lt": ("lt",),
    "LtE": ("le",),
    "Gt": ("gt",),
    "GtE": ("ge",),
}
_ANY_INDEX = ("select", "slice", "index", "unsqueeze", "alias", "to", "lift_fresh")
_STORES = ("copy_", "fill_", "index_put_", "_index_put_impl_", "to", "lift_fresh")
_ATTRIBUTES = {
    "T": ("numpy_T", "t", "permute"),
    "mT": ("transpose", "mT"),
    "H": ("transpose", "adjoint", "conj", "t"),
    "mH": ("transpose", "adjoint", "conj"),
    "real": ("real", "view_as_real", "select"),
    "imag": ("imag", "view_as_real", "select"),
    "data": ("detach",),
}
_TRUTH = ("is_nonzero",)
_CONVERSIONS = ("bool", "int", "float", "complex")  # calls of types, which the profiler does not see
_OTHERS = {
    **dict.fromkeys(("For", "comprehension", "Starred", "Assign"), ("unbind",)),
    **dict.fromkeys(("If", "While", "IfExp", "BoolOp", "Assert"), _TRUTH),
}
_LONG = ("Attribute", "Subscript", "If", "While", "IfExp", "BoolOp")
_LOOPS = ("For", "AsyncFor", "While", "ListComp", "SetComp", "DictComp", "GeneratorExp")
# Nodes with their own code object, and its name if the source gives none.
_FUNCTIONS = {"FunctionDef": "", "AsyncFunctionDef": "", "Lambda": "<lambda>", "GeneratorExp": "<genexpr>"}
if sys.version_info < (3, 12):
    _FUNCTIONS |= {"ListComp": "<listcomp>", "SetComp": "<setcomp>", "DictComp": "<dictcomp>"}


class Function:
    """The lines of operator syntax and of loops in one function of the source."""

    def __init__(self, node: Any, qualified: str) -> None:
        self.name = qualified
        self.first = 1 if not hasattr(node, "lineno") else int(node.lineno)
        self.last = 1 << 30 if not hasattr(node, "end_lineno") else int(node.end_lineno)
        is_loop = type(node).__name__ in _LOOPS
        self.loops: list[tuple[int, int]] = [(self.first, self.last)] if is_loop else []
        self._spans: list[tuple[int, int]] = []  # of statements and expressions with several lines
        self._lines: dict[str, set[int]] = {}
        for inner in _own_nodes(node):
            self._add(inner)

    def line(self, operator: str, before: int | None, after: int | None) -> int | None:
        """Returns the only line that can have called the operator; None if there are several or none.

        Args:
            operator: torch's name, such as `aten::div`.
            before: line of the last call before it; None if there was none in this run of the function.
            after: line of the first call after it; None if there was none.
        """
        first, last = self._between(before, after)
        if first == last:
            return first
        found = self._lines.get(operator.rpartition("::")[2], set())
        possible = [line for line in found if first <= line <= last]
        return possible[0] if len(possible) == 1 else None

    def _between(self, before: int | None, after: int | None) -> tuple[int, int]:
        """Returns the first and the last line that can have run in between."""
        first = self.first if before is None else before
        last = self.last if after is None else after
        backwards = first > last  # by another jump than a loop
        for start, stop in self.loops:
            backwards = backwards and not start <= last <= first <= stop
            if before is not None and start <= before <= stop:  # the loop may have started over
                first, last = min(first, start), max(last, stop)
            elif after is not None and start <= after <= stop:
                last = max(last, stop)
        if backwards:
            return self.first, self.last
        # The statements of these calls may continue on other lines with operator syntax.
        around = [(start, stop) for start, stop in self._spans if stop >= first and start <= last]
        first = min([start for start, stop in around if start <= first <= stop], default=first)
        last = max([stop for start, stop in around if start <= last <= stop], default=last)
        return first, last

    def _add(self, node: Any) -> None:
        kind = type(node).__name__
        if kind in _LOOPS:
            self.loops.append((node.lineno, node.end_lineno))
        elif not hasattr(node, "body") and getattr(node, "end_lineno", 0) > getattr(node, "lineno", 0):
            self._spans.append((node.lineno, node.end_lineno))
        for name, line in _signs(node, kind):
            self._lines.setdefault(name, set()).add(line)


class SourceTexts:
    """The functions of source files, by file and line. Each file is read once."""

    def __init__(self) -> None:
        self._files: dict[str, list[Function]] = {}

    def function(self, file: str, line: int, name: str) -> Function | None:
        """Returns the innermost function with this name that contains the line; None if there is none."""
        if file not in self._files:
            self._files[file] = _parsed(file)
        found = [
            function
            for function in self._files[file]
            if function.first <= line <= function.last and function.name.rpartition(".")[2] == name
        ]
        return max(found, key=lambda function: function.first, default=None)


def _parsed(file: str) -> list[Function]:
    syntax: Any = sys.modules.get("ast")  # torch loaded it; an import could find a file of the program
    if syntax is None:
        return []
    try:
        with open(file, "rb") as source:
            text = source.read(LARGEST_FILE_BYTES + 1)
        if len(text) > LARGEST_FILE_BYTES:
            return []
        tree = compile(text, file, "exec", syntax.PyCF_ONLY_AST, dont_inherit=True)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return [Function(tree, "<module>"), *_functions(tree, "")]


def _functions(node: Any, prefix: str) -> Iterator[Function]:
    for child in _children(node):
        kind = type(child).__name__
        if kind in _FUNCTIONS:
            name = prefix + (_FUNCTIONS[kind] or child.name)
            yield Function(_with_decorators(child), name)
            yield from _functions(child, f"{name}.<locals>.")
        else:
            inner = f"{prefix}{child.name}." if kind == "ClassDef" else prefix
            yield from _functions(child, inner)


def _with_decorators(node: Any) -> Any:
    # The first line of a code object is that of its first decorator.
    decorators = getattr(node, "decorator_list", [])
    if decorators:
        node.lineno = min(node.lineno, *(decorator.lineno for decorator in decorators))
    return node


def _children(node: Any) -> Iterator[Any]:
    for field in node._fields:
        value = getattr(node, field, None)
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "_fields"):
                yield item


def _own_nodes(node: ast.AST) -> Iterator[Any]:
    """Yields all nodes of a function except those of nested functions and classes."""
    for child in _children(node):
        if type(child).__name__ in (*_FUNCTIONS, "ClassDef"):
            continue  # (a comprehension's first iterator runs in the outer function)
        yield child
        yield from _own_nodes(child)


def _signs(node: Any, kind: str) -> Iterator[tuple[str, int]]:
    """Yields the operators that a node may call, each with the line that the interpreter has for it."""
    line = getattr(node, "lineno", None) or getattr(getattr(node, "iter", None), "lineno", None)
    if line is None:
        return
    for name in _names(node, kind):
        yield name, line
        # A long expression may be one instruction on its first line, or several on separate lines.
        if kind in _LONG and node.end_lineno != line:
            yield name, node.end_lineno


def _names(node: Any, kind: str) -> Sequence[str]:
    if kind in ("BinOp", "UnaryOp", "AugAssign"):
        names = _SIGNS.get(type(node.op).__name__, _TRUTH)
        # Without the `_` if the type has no in-place operator.
        return (*names, *(f"{name}_" for name in names)) if kind == "AugAssign" else names
    if kind == "Compare":
        return [name for op in node.ops for name in _SIGNS.get(type(op).__name__, ("eq",))]
    if kind == "Subscript":
        return _of_index(node)
    if kind == "Attribute":
        return _ATTRIBUTES.get(node.attr, ())
    is_conversion = kind == "Call" and getattr(node.func, "id", "") in _CONVERSIONS
    return (*_TRUTH, "item") if is_conversion else _OTHERS.get(kind, ())


def _of_index(node: Any) -> tuple[str, ...]:
    """Returns the operators that indexing may call, by what is between the brackets."""
    index = node.slice
    parts = index.elts if type(index).__name__ == "Tuple" else [index]
    names = {name for part in parts for name in _of_part(part)} | {"alias"}
    if type(node.ctx).__name__ != "Load":
        names.update(_STORES)
    return tuple(names)


def _of_part(part: Any) -> tuple[str, ...]:
    kind = type(part).__name__
    if kind == "Slice":
        return ("slice",)
    if kind == "UnaryOp":
        part, kind = part.operand, type(part.operand).__name__
    value = getattr(part, "value", part)
    if kind != "Constant" or isinstance(value, bool):
        return _ANY_INDEX
    return ("unsqueeze",) if value is None else ("select",) if isinstance(value, int) else ()
