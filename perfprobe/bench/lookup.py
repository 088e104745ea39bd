"""What only torch's registry knows, asked of a process of its own: hints for typed calls, and scripts.

A request is a line of JSON on standard input, the answer one on standard output.
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

from perfprobe.bench.process import command
from perfprobe.support import errors
from perfprobe.support.errors import EnvironmentLack, PerfprobeError
from perfprobe.tables.measurements import Wanted

_MOST_NAMES = 3
_MOST_SCHEMAS = 2
_LIMIT_S = 300


def hint(wanted: Wanted) -> str:
    """What may have been meant instead of this call: the nearest names, or what the operator takes."""
    return str(_asked({"hint": asdict(wanted)}))


def scripts(calls: Sequence[tuple[Wanted, float | None]], folder: str) -> str:
    """Write a script for each call, with its share of all operator time; returns what was written, in words.

    Raises:
        PerfprobeError: nothing can be written there.
    """
    return str(_asked({"calls": [[asdict(wanted), share] for wanted, share in calls], "folder": folder}))


def _asked(request: dict[str, Any]) -> Any:
    words = [word.replace("perfprobe.bench.worker", __name__) for word in command()]
    try:
        ended = subprocess.run(
            words, input=json.dumps(request).encode(), capture_output=True, check=True, timeout=_LIMIT_S
        )
        answer = json.loads(ended.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        lines = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else str(error)
        raise EnvironmentLack(
            "torch's operators cannot be looked up", why, "torch must be importable"
        ) from None
    if "error" in answer:
        raise getattr(errors, answer["error"])(*answer["texts"])
    return answer["said"]


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what torch prints is no answer
    import torch

    try:
        if "hint" in request:
            said = _hint(Wanted(**request["hint"]), torch)
        else:
            said = _written(request, torch)
        answer: dict[str, Any] = {"said": said}
    except PerfprobeError as error:
        answer = {"error": type(error).__name__, "texts": [error.what, error.where, error.remedy]}
    json.dump(answer, answers)
    answers.close()


def _hint(wanted: Wanted, torch: Any) -> str:
    name, _, overload = wanted.operator.partition(".")
    try:
        found = torch._C._jit_get_schemas_for_operator(name)
    except RuntimeError:
        found = []
    known = [str(schema).partition("::")[2] for schema in found if overload in ("", schema.overload_name)]
    if known:
        more = f", or {len(known) - _MOST_SCHEMAS} more" if len(known) > _MOST_SCHEMAS else ""
        return f"it is {', or '.join(known[:_MOST_SCHEMAS])}{more}"
    names = {text.partition(".")[0] for text in torch._C._dispatch_get_all_op_names()}
    near = difflib.get_close_matches(name, names, _MOST_NAMES)
    return (
        f"there is {', '.join(near)}" if near else "its name is one that torch's documentation does not show"
    )


def _written(request: dict[str, Any], torch: Any) -> str:
    raise NotImplementedError
