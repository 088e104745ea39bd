"""Changes of steps that consist of short operators."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.models.user_code import assigned, called, name_of
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.diagnoses import Cause
from perfprobe.tables.findings import HotspotRows
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.steps import StepKind
from perfprobe.tables.trace import Line

_GENERATED = ("inductor", "CompiledFunction", "triton_")  # in names of what torch.compile makes
_OVERHEAD = "overhead-bound"
_MUCH = 0.4  # of a step
_READ = "aten::_local_scalar_dense"


def compiled(known: Known) -> Iterator[Change | Untold]:
    """torch.compile, unless something is compiled already, or values are read in between."""
    found = known.first(Cause.SHORT_OPERATORS)
    share, frame = (_overhead(known), hottest_frame(known)) if found is None else (found.share, found.frame)
    if found is not None and found.short is not None:
        share = 0.0 if found.short.reads is not None else max(share - found.short.of_data, 0)
    if share and not _is_compiled(known):
        model = model_name(known)
        snippet = f"{model} = torch.compile({model})"
        given = {"frame": frame, "tries": ("compile",)}
        yield change("compile", known.from_host(share), Check.CLOSE, "torch.compile", snippet, **given)


def _overhead(known: Known) -> float:
    """The share of a step in operators that bench found to be mostly overhead; 0 if it is not most of it."""
    found = known.findings.get(Measurements)
    rows = () if found is None else found.rows
    shares = (row.seen.share for row in rows if row.seen and row.verdict and row.verdict.kind == _OVERHEAD)
    share = sum(shares) * known.operators_share()
    return share if share >= _MUCH else 0.0


def _is_compiled(known: Known) -> bool:
    """Whether torch.compile was at work, by its own counts or by what it generated."""
    found = known.findings.get(Compilations)
    if found is not None and found.functions:
        return True
    is_generated = known.marks(known.rows, lambda name: any(part in name for part in _GENERATED))
    return bool(is_generated.any()) or len(known.ranges("Torch-Compiled Region")) > 0


def larger_batches(known: Known) -> Iterator[Change | Untold]:
    """The same overhead for more samples."""
    found, samples = known.first(Cause.SHORT_OPERATORS), int(known.times.loops.samples[0])
    if found is None or found.short is None or found.short.reads is not None or samples <= 0:
        return
    ranges = known.ranges("enumerate(DataLoader)")
    frame = int(ranges.frame[0]) if len(ranges) else int(known.times.loops.frame[0])
    made = known.code.made_for(known.line(frame), "DataLoader")
    what = f"batch_size={2 * samples}"
    snippet = what if made is None else assigned(made, batch_size=str(2 * samples))
    share = known.from_host(max(found.share - found.short.of_data, 0)) / 2
    is_training = int(known.times.loops.kind[0]) == StepKind.TRAINING
    check = Check.TRAINING if is_training else Check.CLOSE
    given = {"frame": frame, "line": None if made is None else made.line}
    yield change("larger-batches", share, check, what, snippet, **given)


def tolist(known: Known) -> Iterator[Change | Untold]:
    """All values read at once."""
    found = known.first(Cause.SHORT_OPERATORS)
    if found is None or found.short is None or found.short.reads is None:
        return
    reads = known.rows.take(known.named(known.rows, _READ))
    frame = int(reads.frame[reads.calls.argmax()])
    snippet = _read_at_once(known, known.line(frame))
    # Reads are at least a third of the calls: `.item()` calls two operators around each.
    part = 3 * int(reads.calls.sum()) / max(int(known.rows.calls.sum()), 1)
    share = found.share * min(part, 1.0)
    share = share if known.gpu is None else known.share(Cause.SYNCHRONISED)
    yield change("tolist", share, Check.SAME_BITS, "tolist() once", snippet, frame=frame)


def _read_at_once(known: Known, line: Line | None) -> str:
    """The loop over a list in place of a tensor, or the list that is made before the loop."""
    read = next((each for each in called(known.code.statement(line)) if name_of(each) == "item"), None)
    if line is None or read is None or not isinstance(read.func, ast.Attribute):
        return "values = tensor.tolist()  # once, before the loop"
    value = ast.unparse(read.func.value)
    loop = known.code.loop(line)
    if isinstance(loop, ast.For) and ast.unparse(loop.target) == value:
        return f"for {value} in {ast.unparse(loop.iter)}.tolist(): ...  # {value}.item() becomes {value}"
    name = value.partition("[")[0]
    return f"{name}_list = {name}.tolist()  # once, before the loop, in place of {value}.item()"


def model_name(known: Known) -> str:
    """What the program calls its model: what the loop calls and a line of the file made of a class.

    A class of the file itself comes first: the others may be its parts.
    """
    line = known.line(int(known.times.loops.frame[0]))
    tree = None if line is None else known.code.tree(line.file)
    if line is None or tree is None:
        return "model"
    at = line._replace(line=max(int(known.times.loops.line[0]), 1))
    names = [ast.unparse(each.func) for each in called(known.code.loop(at) or known.code.function(at))]
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    made = _made_of_classes(tree)
    found = sorted((name for name in names if name in made), key=lambda name: made[name] not in own)
    return found[0] if found else "model"


def _made_of_classes(tree: ast.Module) -> dict[str, str]:
    """The names that the file gives to what it makes of a class, and that class; also second names."""
    made: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            kind = _class(node.value) or made.get(ast.unparse(node.value), "")
            made |= {ast.unparse(target): kind for target in node.targets if kind}
    return made


def _class(value: ast.expr) -> str:
    """The class of `Net()`, also of `Net().eval()` and the like; "" if it is none."""
    while isinstance(value, ast.Call):
        name = name_of(value)
        if _is_class(name):
            return name
        if not isinstance(value.func, ast.Attribute):
            break
        value = value.func.value
    return ""


def _is_class(name: str) -> bool:
    return name[:1].isupper() and not name.endswith("Loss")


def hottest_frame(known: Known) -> int:
    """The line of the operators with most time, -1 if none has a line."""
    return frame_of_most(known.rows.take(known.rows.frame >= 0))


def frame_of_most(rows: HotspotRows) -> int:
    """The line of the one with most time, -1 for none."""
    return int(rows.frame[rows.typical_ns.argmax()]) if len(rows) else -1
