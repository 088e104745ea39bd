"""The program's own code, parsed: what a line calls, where what it uses was made, how a call is changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from perfprobe.models.source_text import SourceText
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Line

_DEEPEST = 80  # levels
Node = TypeVar("Node", bound=ast.stmt)


class MadeCall(NamedTuple):
    """A call, and where it is. target: the name that its result is given to, "" for none."""

    line: Line
    text: str
    call: ast.Call
    target: str


class UserCode:
    """Parsed files of the program, as far as they may be read. Each is parsed at most once."""

    def __init__(self, findings: Findings) -> None:
        self._texts = SourceText(findings, below_this_folder=True)
        self._trees: dict[str, ast.Module | None] = {}

    def tree(self, file: str) -> ast.Module | None:
        """The file's code, None if it cannot be read or is not Python."""
        if file not in self._trees:
            self._trees[file] = _parsed(self._texts.lines(file))
        return self._trees[file]

    def text(self, line: Line | None) -> str | None:
        """The statement at a line in one line, of `for` and the like its head; None if not known."""
        node = self.statement(line)
        if node is None or line is None:
            return None
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        lines = (self._texts.lines(line.file) or [])[node.lineno - 1 : max(last, node.lineno)]
        return _in_one("\n".join(lines))

    def mentions(self, file: str, word: str) -> bool:
        """Whether a file has this word anywhere, as far as it can be read."""
        return any(word in line for line in self._texts.lines(file) or ())

    def statement(self, line: Line | None) -> ast.stmt | None:
        """The innermost statement at a line."""
        return None if line is None else next(iter(self._around(line, ast.stmt)), None)

    def call(self, line: Line | None, *names: str) -> tuple[ast.stmt, ast.Call] | None:
        """The first call of one of these functions at a line, and the innermost statement that it is in."""
        around = [] if line is None else self._around(line, ast.stmt)
        found = ((node, each) for node in around for each in called(node) if name_of(each) in names)
        return next(found, None)

    def function(self, line: Line) -> ast.AST | None:
        """The innermost function at a line, else the module."""
        functions = self._around(line, ast.FunctionDef, ast.AsyncFunctionDef)
        return functions[0] if functions else self.tree(line.file)

    def loop(self, line: Line) -> ast.stmt | None:
        """The innermost loop at a line."""
        loops = self._around(line, ast.For, ast.AsyncFor, ast.While)
        return loops[0] if loops else None

    def _at(self, line: Line) -> list[ast.stmt]:
        """The innermost statement at a line, and others that begin there."""
        around = self._around(line, ast.stmt)
        return [node for node in around if node is around[0] or node.lineno == line.line]

    def _around(self, line: Line, *kinds: type[Node]) -> list[Node]:
        """Statements of these kinds that contain a line, the innermost first."""
        tree = self.tree(line.file)
        nodes = [node for node in (() if tree is None else ast.walk(tree)) if isinstance(node, kinds)]
        found = [node for node in nodes if _first(node) <= line.line <= (node.end_lineno or node.lineno)]
        return found[::-1]  # ast.walk goes inwards

    def made_for(self, line: Line | None, *makers: str) -> MadeCall | None:
        """The call of one of these that made what the line uses; else the only one in its file."""
        tree = None if line is None else self.tree(line.file)
        if tree is None or line is None:
            return None
        found = [made for made in self._made(line, tree) if _last(made.call.func) in makers]
        used = {ast.unparse(each) for node in self._at(line) for each in _expressions(node)}
        own = [made for made in found if made.target in used]
        chosen = own or found
        return chosen[-1] if own or len(found) == 1 else None

    def _made(self, line: Line, tree: ast.Module) -> Iterator[MadeCall]:
        text = "\n".join(self._texts.lines(line.file) or ())
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return):
                continue
            for call in ast.walk(value) if isinstance(value, ast.AST) else ():
                if isinstance(call, ast.Call):
                    own = _in_one(ast.get_source_segment(text, call) or "")
                    target = ast.unparse(targets[0]) if targets[0] is not None else ""
                    yield MadeCall(line._replace(line=call.lineno), own, call, target)


def _first(node: ast.stmt) -> int:
    """The first line of a statement, with the decorators of a function."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def with_keyword(made: MadeCall, **keywords: str) -> str:
    """The call's text with these arguments added, or changed."""
    text = made.text
    for name, value in keywords.items():
        given = next((each for each in made.call.keywords if each.arg == name), None)
        if given is not None:
            old = re.escape(ast.unparse(given.value))
            text = re.sub(rf"\b{name}\s*=\s*{old}", f"{name}={value}", text, count=1)
        elif text.endswith(")"):
            inside = text[:-1].rstrip().rstrip(",")
            text = f"{inside}{'' if inside.endswith('(') else ', '}{name}={value})"
    return text


def assigned(made: MadeCall, **keywords: str) -> str:
    """The same, with the name that the program gives to the result."""
    text = with_keyword(made, **keywords)
    return f"{made.target} = {text}" if made.target else text


def has_keyword(made: MadeCall, name: str) -> bool:
    """Whether the call has this argument, not as False, or may have it in a dict."""
    given = [each.value for each in made.call.keywords if each.arg in (name, None)]
    return any(not (isinstance(each, ast.Constant) and each.value is False) for each in given)


def called(node: ast.AST | None) -> Iterator[ast.Call]:
    """All calls in a piece of code."""
    yield from (each for each in (ast.walk(node) if node is not None else ()) if isinstance(each, ast.Call))


def name_of(call: ast.Call) -> str:
    """The last part of the function's name: `cat` of `torch.cat`."""
    return _last(call.func)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Names and attributes in a statement, of `for` only in what it loops over."""
    inside = node.iter if isinstance(node, ast.For | ast.AsyncFor) else node
    yield from (each for each in ast.walk(inside) if isinstance(each, ast.Name | ast.Attribute))


def _parsed(lines: list[str] | None) -> ast.Module | None:
    if lines is None:
        return None
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return None if _is_deep(tree) else tree


def _is_deep(tree: ast.Module) -> bool:
    """Whether its expressions are nested so deeply that `ast.unparse`, which calls itself, could fail."""
    nodes: list[tuple[ast.AST, int]] = [(tree, 0)]
    while nodes:
        node, depth = nodes.pop()
        if depth > _DEEPEST:
            return True
        nodes += ((each, depth + 1) for each in ast.iter_child_nodes(node))
    return False


def _in_one(text: str) -> str:
    """A statement in one line, without comments."""
    lines = [re.sub(r"(^|\s+)#[^'\"]*$", "", line.strip()) for line in text.split("\n")]
    whole = " ".join(line for line in lines if line)
    return re.sub(r"([(\[{]) ", r"\1", re.sub(r",? ([)\]}])", r"\1", whole)) if len(lines) > 1 else whole
