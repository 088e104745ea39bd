"""The trial: records a small program and reads the recording, as a user would."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from typing import Any

from perfprobe.doctor.child import Child, command, last_line
from perfprobe.doctor.part import LACK, OK, Part
from perfprobe.support import units

_SCRIPT = "trial.py"
_START = "import torch\nx = torch.ones(4, 3, requires_grad=True)\n"
# For each line the operator that must be recorded there, with its input tensors.
_STEPS = (
    ("a = x + x", "aten::add", "f32[4,3] f32[4,3]"),
    ("b = a - x", "aten::sub", "f32[4,3] f32[4,3]"),
    ("c = b * a", "aten::mul", "f32[4,3] f32[4,3]"),
    ("d = c / a", "aten::div", "f32[4,3] f32[4,3]"),
    ("e = d.exp()", "aten::exp", "f32[4,3]"),
    ("f = e.sqrt()", "aten::sqrt", "f32[4,3]"),
    ("g = f @ a.t()", "aten::mm", "f32[4,3] f32[3,4]"),
    ("h = torch.softmax(g, 1)", "aten::_softmax", "f32[4,4]"),
    ("i = torch.relu(h)", "aten::relu", "f32[4,4]"),
    ("j = i.sum()", "aten::sum", "f32[4,4]"),
)
_END = "j.backward()\n"
_BACKWARD = ("aten::_softmax_backward_data", "h = torch.softmax(g, 1)")


class Trial:
    """A trial, which begins immediately. `part` waits for its end."""

    def __init__(self, limit_s: float) -> None:
        self._since = time.monotonic()
        self._folder = ""
        self._child: Child | None = None
        try:
            self._folder = tempfile.mkdtemp(prefix="perfprobe-doctor-")
            steps = "".join(f"{statement}\n" for statement, _, _ in _STEPS)
            with open(os.path.join(self._folder, _SCRIPT), "w", encoding="utf-8") as file:
                file.write(f"{_START}{steps}{_END}")
            words = ["run", "-q", "-o", "trial.perfprobe", "--json", "trial.json", _SCRIPT]
            # `doctor` changes nothing, so it must not build the observer.
            self._child = command(words, self._folder, limit_s, PERFPROBE_BUILD="off")
        except OSError as error:
            self._why = str(error)

    def part(self) -> Part:
        """Checks whether the operators were recorded with shapes and lines, also in backward."""
        try:
            return self._judged()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _judged(self) -> Part:
        if self._child is None:
            remedy = "set TMPDIR to a folder that can be written"
            return Part("trial", LACK, "the trial program could not be written", self._why, remedy)
        _, err, why = self._child.wait()
        try:
            with open(os.path.join(self._folder, "trial.json"), encoding="utf-8") as file:
                document = json.load(file)
        except (OSError, ValueError):
            return _failed(why or "no report was written", err)
        rows = document["tables"]["hotspots"]
        missing = _missing(rows)
        if missing:
            return _lost(missing, document["missing"])
        calls, seconds = sum(row["calls"] for row in rows), time.monotonic() - self._since
        found = f"{calls} operators recorded with shapes and lines, forward and backward, and read back"
        return Part("trial", OK, f"{found} in {units.tenths(seconds)} s")


def _failed(why: str, err: str) -> Part:
    said = last_line(err).removeprefix("perfprobe: ")
    return Part("trial", LACK, "a small program could not be recorded", f"{why}: {said}" if said else why)


def _lost(missing: list[str], losses: list[dict[str, Any]]) -> Part:
    found = (
        "no operator was recorded" if len(missing) > len(_STEPS) else f"recorded without {', '.join(missing)}"
    )
    reason = "; ".join(f"{loss['reason']}" for loss in losses) or "no loss was reported"
    remedy = next((loss["remedy"] for loss in losses if loss["remedy"]), "")
    return Part("trial", LACK, found, reason, remedy)


def _missing(rows: list[dict[str, Any]]) -> list[str]:
    """Returns the operators that were not found at their lines."""
    first = _START.count("\n") + 1
    seen = [(row["operator"], row["line"], row["signature"] or "") for row in rows]
    wanted = [(operator, at, tensors) for at, (_, operator, tensors) in enumerate(_STEPS, first)]
    operator, statement = _BACKWARD
    wanted.append((operator, first + [step for step, _, _ in _STEPS].index(statement), ""))
    return [
        operator
        for operator, line, tensors in wanted
        if not any(row[:2] == (operator, line) and row[2].startswith(tensors) for row in seen)
    ]
