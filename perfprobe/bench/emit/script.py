"""Writes the source of one script: facts about the call, the call as data, code that builds and runs it."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Sequence
from typing import NamedTuple

from perfprobe.bench.emit.literals import doc_line, literal, stem
from perfprobe.bench.rebuild.recipe import CallRecipe, DeviceRecipe
from perfprobe.support.units import duration, percent
from perfprobe.tables.measurements import Measurement, Wanted

MARK = "# Written by `perfprobe bench --emit`; needs torch, nothing of perfprobe. It is yours to change."
_EMBEDDED = (
    ("perfprobe.bench.rebuild", "operands.py"),
    ("perfprobe.bench", "head_start.py"),
    ("perfprobe.bench.emit", "window.py"),
    ("perfprobe.bench.emit", "runner.py"),
)


class Candidate(NamedTuple):
    """A call to write a script for.

    Attributes:
        recipe: the recipe, or why there is none.
        share: its part of all operator time.
        lines: lines of the user's program that call it.
    """

    wanted: Wanted
    recipe: CallRecipe | str
    share: float | None = None
    lines: Sequence[str] = ()
    measurement: Measurement | None = None


class Script(NamedTuple):
    """A script. stem: its name without `.py`; device: where its call runs; source: its text."""

    stem: str
    device: str
    source: str


def script(number: int, candidate: Candidate, recipe: CallRecipe) -> Script:
    """Returns the script of a call, number `number` in its folder.

    Raises:
        TypeError: the recipe has a value that cannot be written as a literal.
    """
    name = stem(number, recipe.operator, list(recipe.tensors()))
    device = _device(recipe)
    parts = (
        MARK,
        _docstring(candidate, recipe, name, device),
        "from __future__ import annotations",
        f"CALL = {literal(recipe.plain())}",
        *(_section(package, file) for package, file in _EMBEDDED),
        _main(name, candidate.wanted.threads, device),
    )
    return Script(name, device, "\n\n".join(parts))


def _device(recipe: CallRecipe) -> str:
    """Returns the first GPU that the call names, else the CPU."""
    given = (*recipe.arguments, *recipe.keywords.values())
    named = [one.device for one in recipe.tensors()] + [
        one.name for one in given if isinstance(one, DeviceRecipe)
    ]
    found = next((name for name in named if name.startswith("cuda")), "cpu")
    return "cuda:0" if found == "cuda" else found


def _docstring(candidate: Candidate, recipe: CallRecipe, name: str, device: str) -> str:
    wanted = candidate.wanted
    operator = recipe.operator + (f".{recipe.overload}" if recipe.overload else "")
    facts = [f"{operator} {wanted.example or wanted.signature}", ""]
    if candidate.share is not None:
        facts.append(f"Share: {percent(candidate.share)} of all operator time of the program.")
    facts += [f"Line: {line}" for line in candidate.lines]
    facts += [f"Not recorded, chosen here: {note}" for note in recipe.notes]
    facts += _measured(candidate.measurement)
    facts += ["", *_HOW.format(name=name, threads=wanted.threads).splitlines(), *_NOTES[device != "cpu"]]
    return '"""' + "\n".join(doc_line(fact) for fact in facts) + '\n"""'


_HOW = """\
python {name}.py
            5 s of hot calls ({threads} threads) over copies of the operands, more than caches hold
  --warm    the same operands each time: they stay in the caches
  --once    one call to warm up, then one hot call
  --wait    waits before the hot calls, for a tool to attach

Tools see an ITT task and an NVTX range around exactly the hot calls, and ITT's resume and pause
(`vtune -start-paused`) around all of them. Where the call changes its operands, each set is used once and
put back between two such ranges: a range is then short, and what lies outside of ranges is not a hot call.
"""
_NOTES = {
    False: ("README.md beside this file has the command lines for VTune and perf.",),
    True: (
        "The CUDA profiler API is started and stopped around the hot calls (`ncu --profile-from-start off`).",
        "README.md beside this file has the command lines for Nsight.",
    ),
}


def _measured(measurement: Measurement | None) -> list[str]:
    if measurement is None:
        return []
    lines = []
    for what, estimate in (("rotating", measurement.rotating), ("warm", measurement.warm)):
        if estimate is not None:
            span = f"{duration(estimate.low)} to {duration(estimate.high)}"
            lines.append(
                f"Measured, {what}: {duration(estimate.value)} a call ({span}), {measurement.clock} time."
            )
    if measurement.verdict is not None:
        lines.append(f"Verdict: {'; '.join([measurement.verdict.text, *measurement.verdict.modifiers])}")
    return lines


def _section(package: str, file: str) -> str:
    """Returns the source of a module without what only the package needs."""
    source = (pkgutil.get_data(package, file) or b"").decode()
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if _is_of_package(node):
            del lines[node.lineno - 1 : node.end_lineno]
    rule = "# " + "-" * 100
    return f"{rule}\n# {package}.{file.removesuffix('.py')}\n{rule}\n" + "\n".join(lines).strip()


def _is_of_package(node: ast.stmt) -> bool:
    """Whether a statement imports from the package, or may occur only once, at the top of a file."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
        "__future__",
        "perfprobe",
    )


def _main(name: str, threads: int, device: str) -> str:
    arguments = f"name={literal(name)}, threads={literal(threads)}, device={literal(device)}"
    return f'if __name__ == "__main__":\n    sys.exit(run(CALL, {arguments}, description=__doc__))\n'
