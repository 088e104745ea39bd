"""Changes of what a step does besides computing: graphs, updates, logs, collections, modes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.models.rules import RULES
from perfprobe.models.user_code import UserCode, assigned, has_keyword
from perfprobe.tables.account import group
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.columns import among, distinct
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.diagnoses import Base, Cause
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import NeedlessForward, NeedlessGraphs, Recompiled, Recomputed, SlowModes
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.steps import StepKind, StepPhase
from perfprobe.tables.trace import Line, Phase

_UPDATES = 0.08  # of a step
_FEWEST = 32  # operators of an update: fewer are those of two or three tensors
_ZEROS = 0.01
_ZERO = "aten::zero_"
_INSIDE = 0.01  # of zero_grad: time in operators. It calls none if gradients become None
_FUSED = ("SGD", "Adam", "AdamW", "Adagrad")  # optimizers with fused=True, also on a CPU
_STEP = "Optimizer.step#"
_COLLECTED = 0.01
_LOGGED = 0.03
_TEN = 10
_FULL = 0.5  # of a GPU's memory: without checkpoints several times as much is kept


def no_grad(known: Known) -> Iterator[Change | Untold]:
    """No graph in evaluations, or in calls of a model that is not trained."""
    found = known.findings.get(NeedlessGraphs)
    steps = known.times.steps
    duration_ns = steps.end_ns - steps.start_ns
    for each in () if found is None else found.found:
        own = (steps.kind == each.kind) & (steps.graph == 1)
        loop = int(np.bincount(steps.loop[own], duration_ns[own]).argmax())
        frame, number = int(known.times.loops.frame[loop]), int(known.times.loops.line[loop])
        line = known.line(frame)
        at = None if line is None or number < 0 else line._replace(line=number)
        body = known.code.text(at) or (
            "for batch in loader: ..." if each.kind is StepKind.EVALUATION else "model(x)"
        )
        share = known.from_host(int(duration_ns[own].sum()) / max(int(duration_ns.sum()), 1))
        snippet = f"with torch.no_grad():\n    {body}"
        given = {"frame": frame, "line": at, "tries": ("no-grad",) if _may_evaluate(known, line) else ()}
        yield change("no-grad", share, Check.SAME_BITS, "torch.no_grad()", snippet, **given)


def _may_evaluate(known: Known, line: Line | None) -> bool:
    """Whether the model may be in eval(): the try takes only such calls for evaluations."""
    if line is None or known.code.tree(line.file) is None:
        return True  # not known
    return known.code.mentions(line.file, ".eval()")


def unused_forward(known: Known) -> Iterator[Change | Untold]:
    """No graph, or no forward, where no backward uses it."""
    found = known.findings.get(NeedlessForward)
    if found is not None:
        line = known.line(found.frame)
        share = found.share if known.gpu is None else known.line_share(line)
        snippet = f"with torch.no_grad():\n    {known.code.text(line) or '...'}"
        yield change(
            "unused-forward",
            share,
            Check.SAME_BITS,
            "no_grad, or leave it out",
            snippet,
            frame=found.frame,
        )


def optimizer(known: Known) -> Iterator[Change | Untold]:
    """One call for all parameters."""
    share = known.phase_share(StepPhase.OPTIMIZER, Phase.OPTIMIZER)
    rows = known.rows.take(known.rows.phase == Phase.OPTIMIZER)
    names = [known.name(each) for each in distinct(rows.name).tolist()]
    calls = int(rows.calls.sum()) / known.account.steps
    if share < _UPDATES or calls < _FEWEST or any("_foreach_" in name or "_fused_" in name for name in names):
        return
    ranges = known.ranges(_STEP)
    frame = int(ranges.frame[0]) if len(ranges) else -1
    kind = known.name(int(ranges.name[0])).removeprefix(_STEP).partition(".")[0] if len(ranges) else ""
    made = known.code.made_for(known.line(frame), kind) if kind else None
    if made is not None and (has_keyword(made, "fused") or has_keyword(made, "foreach")):
        return
    argument = "fused" if kind in _FUSED else "foreach"
    unknown = f"{kind or 'Optimizer'}(..., {argument}=True)"
    snippet = unknown if made is None else assigned(made, **{argument: "True"})
    yield change(
        "optimizer",
        share,
        Check.CLOSE,
        f"{kind}({argument}=True)" if kind else f"{argument}=True",
        snippet,
        frame=frame,
        line=None if made is None else made.line,
        tries=("foreach", "fused") if argument == "fused" else ("foreach",),
    )


def set_to_none(known: Known) -> Iterator[Change | Untold]:
    """Gradients that are None instead of zeros."""
    share = known.from_host(known.account.share(known.account.phases().get(StepPhase.ZERO_GRAD, 0)))
    zeros = known.rows.take(known.named(known.rows, _ZERO, "aten::_foreach_zero_"))
    if share < _ZEROS or int(zeros.calls.sum()) < known.account.steps:
        return
    ranges = known.ranges("Optimizer.zero_grad#")
    inside_ns = int((ranges.total_ns - ranges.self_ns).sum())
    if inside_ns < _INSIDE * int(ranges.total_ns.sum()) or len(ranges) == 0:
        return  # what it fills are other tensors
    frame = int(ranges.frame[0])
    text = known.code.text(known.line(frame)) or "optimizer.zero_grad()"
    snippet = text.replace("set_to_none=False", "set_to_none=True")
    snippet = snippet.replace(".zero_grad()", ".zero_grad(set_to_none=True)")
    given = {"frame": frame, "tries": ("set-to-none",)}
    yield change("set-to-none", share, Check.SAME_BITS, "zero_grad(set_to_none=True)", snippet, **given)


def recomputed(known: Known) -> Iterator[Change | Untold]:
    """Without checkpoints, where memory is not short."""
    found = known.findings.get(Recomputed)
    if found is None:
        return
    fullest = _fullest(known)
    if fullest is None:
        yield Untold(rule="recomputed", needs="--memory")
    if fullest is None or fullest >= _FULL:
        return
    at = known.code.call(known.line(found.frame), "checkpoint")
    call = None if at is None else at[1]
    snippet = "call it without checkpoint()"
    if call is not None and call.args:
        inside = ", ".join(map(ast.unparse, call.args[1:]))
        snippet = f"{ast.unparse(call.args[0])}({inside})"
    share = found.share
    if known.gpu is not None:
        share = known.phase_share(StepPhase.RECOMPUTE, Phase.RECOMPUTE)
    yield change("recomputed", share, Check.CLOSE, "no checkpoint()", snippet, frame=found.frame)


def _fullest(known: Known) -> float | None:
    """The largest part of a GPU's memory that was used, of a CPU 0; None if memory was not recorded."""
    found = known.findings.get(DeviceMemory)
    if known.has_gpu:
        if found is None or not bool((found.capacity_bytes > 0).any()):
            return None
        return float((found.peak_bytes / np.maximum(found.capacity_bytes, 1)).max())
    return None if known.findings.get(MemoryUse) is None else 0.0


def modes(known: Known) -> Iterator[Change | Untold]:
    """Without modes that make steps slower."""
    found = known.findings.get(SlowModes)
    for each in () if found is None else found.found:
        # Where all steps have it there are none to compare with: then the most that is known of any mode.
        saved = RULES["mode"].part if each.slower is None else 1 - 1 / max(each.slower, 1)
        share = max(saved * each.steps / max(each.whole, 1), known.line_share(each.line))
        text = known.code.text(each.line)
        snippet = "# take this line out" if text is None else f"# take out: {text}"
        given = {"line": each.line}
        if share > 0:
            yield change(
                "mode", share / RULES["mode"].part, Check.SAME_BITS, f"no {each.name}", snippet, **given
            )


def collection(known: Known) -> Iterator[Change | Untold]:
    """A garbage collection that need not look at what start-up made."""
    share = known.share(Cause.COLLECTION)
    if share >= _COLLECTED:
        snippet = "gc.collect()\ngc.freeze()  # once, before the loop"
        loops = known.times.loops
        given = {"frame": int(loops.frame[0]), "tries": ("gc=freeze",)}
        yield change("collection", share, Check.SAME_BITS, "gc.freeze()", snippet, **given)


def logging(known: Known) -> Iterator[Change | Untold]:
    """Logs and files in every tenth step."""
    leaves = known.account.leaves
    own = leaves.take(among(leaves.phase, (StepPhase.LOGGING, StepPhase.SAVING)) & (leaves.frame >= 0))
    if len(own) == 0 or known.account.share(int(own.time_ns.sum())) < _LOGGED:
        return
    found = group(own)
    if 2 * max(found.steps, 0) < known.account.steps:
        return  # it is seldom already
    text = known.code.text(known.line(found.frame)) or "..."
    snippet = f"if step % {_TEN} == 0:\n    {text}"
    share = known.from_host(known.account.share(found.time_ns))
    yield change("logging", share, Check.SAME_BITS, f"every {_TEN}th step", snippet, frame=found.frame)


def recompiled(known: Known) -> Iterator[Change | Untold]:
    """Code for any shape, where each new one is compiled."""
    late = next((each for each in known.judged.of(Cause.COMPILE) if each.base is Base.LOOP), None)
    found = known.findings.get(Recompiled)
    if late is not None:
        yield _compiled_once(known.code, late.share, None if found is None else found.function.line)


def recompiled_in_run(findings: Findings) -> Iterator[Change | Untold]:
    """The same for a program without steps: all compilations of a function but the first."""
    found, wall_ns = findings.get(Recompiled), findings.wall_ns
    if found is not None and wall_ns and found.function.again_ns:
        share = found.function.again_ns / wall_ns
        yield _compiled_once(UserCode(findings), share, found.function.line)


def _compiled_once(code: UserCode, share: float, line: Line | None) -> Change:
    what = "torch.compile(dynamic=True)"
    snippet = "torch.compile(model, dynamic=True)"
    function = None if line is None else code.function(line)
    if any(ast.unparse(each).endswith("compile") for each in getattr(function, "decorator_list", ())):
        snippet = "@torch.compile(dynamic=True)"
    made = None if line is None else code.made_for(line, "compile")
    if made is not None:
        snippet, line = assigned(made, dynamic="True"), made.line
    return change("recompiled", share, Check.CLOSE, what, snippet, line=line)
