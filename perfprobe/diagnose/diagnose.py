"""All rules, and the order of what they find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfprobe.diagnose.advice.advice import advice
from perfprobe.diagnose.device import base_of, device, judging_device
from perfprobe.diagnose.evaluations import evaluations
from perfprobe.diagnose.fewer_processors import fewer_processors
from perfprobe.diagnose.gpu import gpu_verdict
from perfprobe.diagnose.growing import growing
from perfprobe.diagnose.growing_workers import growing_workers
from perfprobe.diagnose.growth import memory_growth
from perfprobe.diagnose.held_up_team import held_up_team
from perfprobe.diagnose.hottest import hottest_operator
from perfprobe.diagnose.idle import idle
from perfprobe.diagnose.late_imports import late_imports
from perfprobe.diagnose.lines import lines
from perfprobe.diagnose.loaders import loader_verdicts
from perfprobe.diagnose.modes import slow_modes
from perfprobe.diagnose.needless_forward import needless_forward
from perfprobe.diagnose.needless_graphs import needless_graphs
from perfprobe.diagnose.noise import noise
from perfprobe.diagnose.operators import operators
from perfprobe.diagnose.other_rank import other_rank
from perfprobe.diagnose.python import outside
from perfprobe.diagnose.recompiled import compiling_steps, recompiled
from perfprobe.diagnose.recomputed import recomputed
from perfprobe.diagnose.run import of_run
from perfprobe.diagnose.short_operators import short_operators
from perfprobe.diagnose.slow_dtypes import slow_dtype
from perfprobe.diagnose.start_up import after_steps, start_up
from perfprobe.diagnose.starved import starved
from perfprobe.diagnose.teams.problems import thread_problems
from perfprobe.diagnose.threads import threads
from perfprobe.diagnose.throttled import throttled
from perfprobe.diagnose.trends import rising
from perfprobe.diagnose.unexplained import unexplained
from perfprobe.diagnose.waits import waits
from perfprobe.tables.account import Account
from perfprobe.tables.children import Children
from perfprobe.tables.diagnoses import Base, Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.workers import WorkerFindings

# Of causes that stand out, those of the first group come first. What takes more than all steps comes before
# what is in them, and there what is not the program's own work.
_RANKS = (
    (Cause.START_UP, Cause.AFTER),
    (Cause.EVALUATION,),
    (
        *(Cause.DATA, Cause.COLLECTION, Cause.COMPILE, Cause.IMPORT, Cause.THREADS),
        *(Cause.RANKS, Cause.LOCK, Cause.GPU),
        *(Cause.LAUNCHES, Cause.SYNCHRONISED, Cause.BETWEEN_KERNELS, Cause.COPIES),
    ),
    (
        *(Cause.SHORT_OPERATORS, Cause.LINE, Cause.FUNCTION, Cause.MODULE, Cause.FORWARD_ONLY, Cause.MODULES),
        *(Cause.OPERATOR, Cause.GPU_OPERATOR, Cause.CONVERSIONS),
    ),
    (Cause.UNEXPLAINED, Cause.IMPORTS),
)
_ABOUT = 1.1
# Batches that the loop makes itself are work, which one argument of DataLoader moves to other processes.
_EASIER = 1.3
_NEEDLESS = 1.5  # a model with one layout has no copies into another one
_RANK = {cause: rank for rank, causes in enumerate(_RANKS) for cause in causes}

# Judgements of other types than `Diagnosis`. The rules below may need them.
_RULES = (
    *(gpu_verdict, hottest_operator, outside, thread_problems, starved, held_up_team, idle, noise),
    *(needless_graphs, other_rank, throttled, memory_growth, rising, slow_dtype, growing),
    *(needless_forward, recomputed, growing_workers, fewer_processors),
    *(recompiled, slow_modes, loader_verdicts),
)


def diagnosed(findings: Findings) -> Findings:
    """The findings with what the rules say about them."""
    findings = findings.plus(*(rule(findings) for rule in _RULES))
    account, times, gpu = findings.get(Account), findings.get(StepTimes), judging_device(findings)
    base = Base.STEPS if gpu is None else base_of(gpu)
    if times is not None and len(times.loops) == 0 and account is None:
        return _with_advice(findings.plus(Diagnoses(tuple(of_run(findings, gpu)), 0, base)))
    account = None if account is None or account.own_ns <= 0 else account
    strings = findings.trace.recording[Strings]
    found = [*_found(findings, times, account), *(() if gpu is None else device(gpu, strings))]
    # Where a GPU is judged, what its loop's thread did is said, but is not the bottleneck.
    as_work = _as_work(findings, found)
    found.sort(key=lambda each: (gpu is not None and each.base is Base.STEPS, *_order(each, as_work)))
    number = 0 if account is None else account.steps
    return _with_advice(findings.plus(Diagnoses(tuple(found), number, base)))


def _with_advice(findings: Findings) -> Findings:
    return findings.plus(advice(findings))


def _found(findings: Findings, times: StepTimes | None, account: Account | None) -> Iterator[Diagnosis]:
    if times is not None:
        yield from start_up(findings, times)
        yield from after_steps(findings, times)
        yield from late_imports(findings, times)
        yield from evaluations(times)
        yield from compiling_steps(times)
    if account is not None:
        yield from _in_steps(findings, account)


def _in_steps(findings: Findings, account: Account) -> Iterator[Diagnosis]:
    yield from waits(findings, account)
    yield from threads(findings, account)
    yield from short_operators(findings, account)
    yield from lines(findings, account)
    yield from operators(findings, account)
    yield from unexplained(account)


def _order(each: Diagnosis, as_work: tuple[Diagnosis, ...]) -> tuple[bool, int, float]:
    """What stands out first, by rank; then the largest share.

    Short operators leave out what few steps do beyond the median. A line that has as much is one of theirs.
    as_work: waits that count like the work of any line.
    """
    is_own = each in as_work
    factors = {Cause.SHORT_OPERATORS: _ABOUT, Cause.CONVERSIONS: _NEEDLESS}
    factors[Cause.DATA] = _EASIER if is_own else 1
    rank = _RANK[Cause.LINE if is_own else each.cause]
    return not each.stands_out, rank if each.stands_out else 0, -each.share * factors.get(each.cause, 1)


def _as_work(findings: Findings, found: Sequence[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Batches that the loop makes itself, and collections of garbage that a line has more time than."""
    own_batches = _makes_batches(findings)
    most = max((each.share for each in found if _RANK[each.cause] == _RANK[Cause.LINE]), default=0.0)
    own = {
        Cause.DATA: lambda each: own_batches and each.base is Base.STEPS and each.frame >= 0,
        Cause.COLLECTION: lambda each: each.base is Base.STEPS and each.share < most,
    }
    return tuple(each for each in found if each.cause in own and own[each.cause](each))


def _makes_batches(findings: Findings) -> bool:
    """Whether no other process makes the loop's batches, as far as known."""
    workers, children = findings.get(WorkerFindings), findings.get(Children)
    has_none = workers is None or not workers.made_batches
    return has_none and children is None and not findings.trace.recording.is_trace
