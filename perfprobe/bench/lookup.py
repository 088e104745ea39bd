"""Asks torch's registry in a separate process: for hints on typed calls, and to write scripts.

A request is JSON on standard input, the answer JSON on standard output.
"""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from perfprobe.support import errors, starter
from perfprobe.support.errors import EnvironmentLack, PerfprobeError, UsageError
from perfprobe.tables.measured_file import measurement
from perfprobe.tables.measurements import Measurement, Wanted

_MOST_NAMES = 3
_NEAR = 0.6  # of difflib's ratio
_LIMIT_S = 300


def hint(wanted: Wanted) -> str:
    """Returns a suggestion for this call: the nearest names, or the arguments of the operator."""
    return _asked({"hint": asdict(wanted)})


def scripts(calls: Sequence[Measurement], folder: str) -> str:
    """Writes a script for each call; returns lines for the user.

    Raises:
        UsageError, EnvironmentLack: nothing can be written to the folder.
    """
    return _asked({"calls": [asdict(call) for call in calls], "folder": folder})


def not_callable(wanted: Wanted, reason: str, hint: str) -> UsageError:
    """Makes the error for a typed call."""
    what = f"this cannot be called: {reason}"
    return UsageError(what, f"{wanted.operator} {wanted.signature}".rstrip(), hint)


def _asked(request: dict[str, Any]) -> str:
    try:
        ended = subprocess.run(
            starter.command(__name__),
            env=starter.environment(),
            input=json.dumps(request).encode(),
            capture_output=True,
            check=True,
            timeout=_LIMIT_S,
        )
        answer = json.loads(ended.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        lines = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else str(error)
        remedy = "torch must be importable"
        raise EnvironmentLack("torch's operators cannot be looked up", why, remedy) from None
    if "error" in answer:
        raise getattr(errors, answer["error"])(*answer["texts"])
    return str(answer["said"])


def main() -> None:
    """Answers the request on standard input."""
    request = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # torch's own output is not an answer
    import torch

    try:
        said = _hint(Wanted(**request["hint"]), torch) if "hint" in request else _written(request, torch)
        answer: dict[str, Any] = {"said": said}
    except PerfprobeError as error:
        answer = {"error": type(error).__name__, "texts": [error.what, error.where, error.remedy]}
    json.dump(answer, answers)
    answers.close()


def _hint(wanted: Wanted, torch: Any) -> str:
    from perfprobe.bench.rebuild.recipe import NotRebuilt
    from perfprobe.bench.rebuild.schema import schemas

    try:
        known = [schema.overload for schema in schemas(wanted.operator, torch)]
    except NotRebuilt:
        known = []
    name = wanted.operator.partition(".")[0]
    if known:
        texts = [
            str(schema).partition("::")[2]
            for schema in torch._C._jit_get_schemas_for_operator(name)
            if schema.overload_name in known
        ]
        shortest = min(texts, key=len)
        more = f", or another of its {len(texts)} overloads" if len(texts) > 1 else ""
        return f"expected {shortest}{more}"
    every = {text.partition(".")[0] for text in torch._C._dispatch_get_all_op_names()}
    names = {text.partition("::")[2]: text for text in sorted(every, reverse=True)}
    near = difflib.get_close_matches(name.partition("::")[2], names, _MOST_NAMES, _NEAR)
    return f"nearest: {', '.join(names[text] for text in near)}" if near else "no similar name"


def _written(request: dict[str, Any], torch: Any) -> str:
    from perfprobe.bench.emit.folder import write_scripts
    from perfprobe.bench.emit.script import Candidate
    from perfprobe.bench.emit.summary import summary

    candidates = []
    for row in map(measurement, request["calls"]):
        seen, measured = row.seen, None if row.rotating is None else row
        share, lines = (None, ()) if seen is None else (seen.share, seen.lines)
        made = _recipe(row.wanted, torch)
        if isinstance(made, str) and seen is None:
            raise not_callable(row.wanted, made, _hint(row.wanted, torch))
        candidates.append(Candidate(row.wanted, made, share, lines, measured))
    return summary(write_scripts(candidates, request["folder"]))


def _recipe(wanted: Wanted, torch: Any) -> Any:
    """Returns the call's recipe, or why there is none."""
    from perfprobe.bench.rebuild.recipe import NotRebuilt
    from perfprobe.bench.rebuild.recipes import recipe
    from perfprobe.bench.rebuild.schema import schemas

    try:
        return recipe(wanted, schemas(wanted.operator, torch))
    except NotRebuilt as why:
        return str(why)
