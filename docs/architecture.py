"""Draws docs/architecture.svg: the imports and includes between the parts of perfprobe.

    python -m docs.architecture     write architecture.dot, and with Graphviz's dot architecture.svg

An arrow that follows from others is left out: cli imports support, but session does so too. A dashed arrow
is an import inside functions only, made when it is needed. Imports for type checkers do not count.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
COMMAND = "make docs"
_INCLUDE = re.compile(r'^\s*#include "(\w+)/', re.MULTILINE)
_STARTS = ("__init__", "__main__")  # the public names, and `python -m perfprobe`: above all others

Edge: TypeAlias = "tuple[str, str]"


def dot_text(root: Path = ROOT) -> str:
    """The picture in Graphviz's language, from the current sources."""
    imports = _imports(root / "perfprobe")
    includes = _includes(root / "csrc")
    python = [_arrow(edge, dashed=not imports[edge]) for edge in _needed(imports)]
    native = [_arrow(edge) for edge in _needed(includes)]
    parts = sorted({part for edge in imports for part in edge})
    folders = sorted({part for edge in includes for part in edge})
    return "\n".join(
        [
            "digraph perfprobe {",
            '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica"];',
            *_cluster("perfprobe", "perfprobe/: an arrow is an import", parts),
            *_cluster("csrc", "csrc/: an arrow is an include", folders),
            *python,
            *native,
            '  "native" -> "csrc/bindings";',
            "}",
            "",
        ]
    )


def svg_mark(dot: str) -> str:
    """The beginning, after its head, of an SVG drawn from this text."""
    return f"<!-- drawn from architecture.dot {hashlib.sha256(dot.encode()).hexdigest()} -->"


def _cluster(name: str, title: str, parts: Iterable[str]) -> list[str]:
    nodes = [f'    "{part}" [label="{part.rpartition("/")[2]}"];' for part in parts]
    head = [f'  subgraph "cluster_{name}" {{', f'    label="{title}"; fontname="Helvetica"; color=gray;']
    return [*head, *nodes, "  }"]


def _arrow(edge: Edge, *, dashed: bool = False) -> str:
    return f'  "{edge[0]}" -> "{edge[1]}"{" [style=dashed]" if dashed else ""};'


def _imports(package: Path) -> dict[Edge, bool]:
    """Which part imports which, and whether at import time or only in functions."""
    found: dict[Edge, bool] = {}
    for path in sorted(package.rglob("*.py")):
        part = path.relative_to(package).parts[0].removesuffix(".py")
        for target, at_once in _imported(ast.parse(path.read_text(encoding="utf-8")).body, True):
            if target != part and part not in _STARTS:
                found[part, target] = found.get((part, target), False) or at_once
    return found


def _imported(body: Iterable[ast.AST], at_once: bool) -> Iterator[tuple[str, bool]]:
    """The parts of perfprobe that these statements import, and whether when they are first run."""
    for node in body:
        if isinstance(node, ast.ImportFrom | ast.Import):
            yield from ((part, at_once) for part in _parts(node))
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _imported(node.orelse, at_once)
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imported(ast.iter_child_nodes(node), at_once and not is_function)


def _parts(node: ast.ImportFrom | ast.Import) -> Iterator[str]:
    """`session` of `from perfprobe.session import ...` and of `from perfprobe import session`."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        names = [f"{module}.{name}" for name in names] if module == "perfprobe" else [module]
    for name in names:
        package, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        if package == "perfprobe" and part and not part.startswith("_"):
            yield part


def _includes(folder: Path) -> dict[Edge, bool]:
    found: dict[Edge, bool] = {}
    for path in sorted([*folder.rglob("*.h"), *folder.rglob("*.cpp")]):
        part = path.relative_to(folder).parts[0]
        for target in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            if target != part and (folder / target).is_dir():
                found[f"csrc/{part}", f"csrc/{target}"] = True
    return found


def _needed(edges: Iterable[Edge]) -> list[Edge]:
    """The edges that do not follow from others."""
    kept = sorted(set(edges))
    for edge in list(kept):
        others = [each for each in kept if each != edge]
        if edge[1] in _reached(edge[0], others):
            kept = others
    return kept


def _reached(start: str, edges: Iterable[Edge]) -> set[str]:
    following: dict[str, list[str]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    found, waiting = set(), [start]
    while waiting:
        new = [each for each in following.get(waiting.pop(), []) if each not in found]
        found.update(new)
        waiting += new
    return found


def main() -> None:
    """Write the text, and draw it where `dot` is."""
    text = dot_text()
    (FOLDER / "architecture.dot").write_text(text, encoding="utf-8")
    if shutil.which("dot") is None:
        print("no dot here: architecture.svg stays as it is (apt install graphviz)")
        return
    drawn = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True).stdout
    head, mark, rest = drawn.partition("<svg ")
    (FOLDER / "architecture.svg").write_text(f"{head}{svg_mark(text)}\n{mark}{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
