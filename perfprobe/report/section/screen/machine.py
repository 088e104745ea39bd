"""Lines about the machine: CPU, GPU, and what limits the accuracy of the figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.models.seen import cores_allowed
from perfprobe.models.waiting import is_busy, waited_ns
from perfprobe.report.rows.baseline import added_text, baseline_rows, mean_text, untraced_text
from perfprobe.report.rows.gpu.idle import most_idle_line
from perfprobe.report.rows.gpu.launch_cost import launch_cost
from perfprobe.report.rows.losses import loss_rows
from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.own_cost import own_cost
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.teams import problem_rows, threads_set_to
from perfprobe.report.section.gpu.headline import is_hardly_known, verdict_text
from perfprobe.report.section.gpu.idle import cause_text
from perfprobe.report.section.gpu.states import throttled_rows, throttled_text
from perfprobe.report.section.screen.device import judged_by_gpu
from perfprobe.report.section.screen.places import first_line, whole_percent
from perfprobe.report.section.screen.unread import unread_lines
from perfprobe.report.section.teams import problem_text
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.children import Children
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings, Totals
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_states import DeviceStates
from perfprobe.tables.gpu_verdict import GpuLimit, GpuVerdict
from perfprobe.tables.idle import IdleTimes
from perfprobe.tables.judgements import FewerProcessors, HeldUpTeam, Starved
from perfprobe.tables.processors import Processors
from perfprobe.tables.steps import StepKind, StepTimes

_MOST_SOURCES = 3
_SMALL = "recording below +1 % CPU, as far as counted"
_WHO = {None: "", True: ": other processes", False: ": its own threads"}


def starved_line(findings: Findings) -> Iterator[ScreenRow]:
    """MACHINE: where threads waited much for a processor. Shares leave out what the thread itself waited."""
    found, team = findings.get(Starved), findings.get(HeldUpTeam)
    if found is not None:
        who = "the main thread" if found.of_run else "loop and workers" if found.of_workers else "the loop"
        text = f"{who} got {units.whole_percent(found.share)} % of a core{_WHO[found.by_others]}"
        omitted = "; shares omit that" if found.of_workers else ". Shares leave that out"
        yield said("MACHINE", text, omitted, share=found.share, style="yellow")
    if team is not None:
        remedy = threads_set_to(findings, team.free)
        text = f"its {team.threads} torch threads wait for each other: try {remedy}"
        yield said("" if found else "MACHINE", text, "; shares contain that", style="yellow")


def cpu_line(findings: Findings) -> Iterator[ScreenRow]:
    """CPU: cores used of cores allowed, waiting for a processor, other processes."""
    recording = findings.trace.recording
    cpu_ns, wall_ns, allowed = findings.trace.cpu_ns, findings.wall_ns, cores_allowed(recording)
    if cpu_ns is None or not wall_ns or allowed is None:
        return
    found = findings.get(Processors)
    cores = cpu_ns / wall_ns + (0 if found is None else found.children_cores or 0)
    used = f"{units.tenths(cores)} of {units.plain(allowed)} allowed core{'' if allowed == 1 else 's'}"
    main_ns = waited_ns(recording, main=True) or 0
    waited = f", waited {whole_percent(main_ns / wall_ns)}" if is_busy(findings.trace) else " used"
    yield said("CPU", used + waited, *_other_processes(findings, wall_ns))
    yield from _affinity(findings)
    yield from _problem(findings)
    yield from _in_children(findings, cpu_ns)


def _affinity(findings: Findings) -> Iterator[ScreenRow]:
    """That the affinity was changed to fewer processors."""
    found = findings.get(FewerProcessors)
    if found is not None:
        text = f"affinity changed while it ran: {found.before} to {found.after} cores for the main thread"
        yield said("", text, ": os.sched_setaffinity, or a library at its import", style="yellow")


def _problem(findings: Findings) -> Iterator[ScreenRow]:
    """The costliest problem with the program's threads, and the command for more."""
    rows = [row for row in problem_rows(findings) if row.of_program]
    if rows:
        more = f"; {len(rows) - 1} more" if len(rows) > 1 else ""
        yield said("", problem_text(rows[0]), f"{more}: --view threads", line=rows[0].line, style="yellow")


def _other_processes(findings: Findings, wall_ns: int) -> Iterator[str]:
    recording, found = findings.trace.recording, findings.get(Processors)
    others_ns, cores = recording.number("processors", "others_cpu_ns"), recording.number("host", "cores")
    share = None if others_ns is None or not cores else others_ns / (wall_ns * cores)
    share = share if found is None else found.others_share
    if share is not None:
        yield f"; other processes {whole_percent(share)}"


def _in_children(findings: Findings, cpu_ns: int) -> Iterator[ScreenRow]:
    """Yields how much of the work was in other processes, if it was much, and how many were recorded."""
    children = findings.get(Children)
    if children is None:
        return
    share = 0.0 if not children.cpu_ns else children.cpu_ns / (children.cpu_ns + cpu_ns)
    lost = sum(each.processes for each in children.lost)
    if not is_named(share) and not lost and not children.recordings:
        return
    share_text = f"{whole_percent(share)} of CPU time in child processes; " if is_named(share) else ""
    recorded = f"{len(children.recordings):,} with a recording" if children.recordings else ""
    unseen = f"{lost:,} not recorded" if lost else ""
    numbers = ", ".join(filter(None, [recorded, unseen])) or "none recorded"
    yield said(
        "",
        f"{share_text}children: {numbers}",
        share=share,
        style="yellow" if children.did_most(cpu_ns) else "",
    )


def gpu_line(findings: Findings) -> Iterator[ScreenRow]:
    """GPU: the busy share of the busiest GPU, and what follows from it."""
    found, wall_ns = findings.get(GpuVerdict), findings.wall_ns
    if found is None or not wall_ns:
        yield from unread_lines(findings, "GPU")
        return
    devices, share = len(findings[GpuFindings].devices), found.busy_ns / wall_ns
    several = f" (the busiest of {devices})" if devices > 1 else ""
    busy = f"busy {whole_percent(found.busy)} from first to last work{several}"
    yield said("GPU", busy, f", {whole_percent(share)} of wall", time_ns=found.busy_ns, share=found.busy)
    yield from _throttled_line(findings)
    yield from unread_lines(findings, "")
    if judged_by_gpu(findings):
        return  # SLOW and PARTS say what it did, and what it waited for
    yield said("", _gpu_limit(found, wall_ns))
    if is_hardly_known(found, wall_ns):
        return
    if is_named(1 - found.busy) and found.device is not None and IdleTimes in findings:
        yield from _idle_line(findings, found.device)


def _gpu_limit(found: GpuVerdict, wall_ns: int) -> str:
    """What limits the program, for a line of its own."""
    if found.limit is GpuLimit.LOST:
        return "records of its work are lost: bottleneck unknown"
    text = verdict_text(found, wall_ns).removeprefix("there ")  # a line of its own says what it is about
    return text.replace("that is only", "first to last work is only")


def _throttled_line(findings: Findings) -> Iterator[ScreenRow]:
    """The GPU that was throttled most, its clock, and why: it makes all times on this GPU longer."""
    row = max(throttled_rows(findings), key=lambda each: each.throttled_share or 0, default=None)
    if row is None:
        return
    which = f"GPU {row.device} " if len(findings[DeviceStates]) > 1 else ""
    clocks = f"; {units.clock(row.sm_clock_mhz)} of {units.clock(row.maximum_clock_mhz)}"
    known = row.sm_clock_mhz is not None and row.maximum_clock_mhz is not None
    facts: dict[str, Any] = {"share": row.throttled_share, "style": "yellow"}
    text = throttled_text(row, whole_percent(row.throttled_share or 0))
    yield said("", f"{which}{text}", *([clocks] if known else []), **facts)


def _idle_line(findings: Findings, device: int) -> Iterator[ScreenRow]:
    """The line with most of the GPU's idle time, and what the host did there; or only what the host did."""
    found = most_idle_line(findings, device)
    if found is None or not is_named(found.share):
        return
    idle = f"idle {units.duration(found.time_ns)}{_each_step(findings) if found.is_of_step else ''}"
    facts: dict[str, Any] = {"time_ns": found.time_ns, "share": found.share, "line": found.line}
    cause, share = cause_text(found.cause), f": {whole_percent(found.share)} of its idle time"
    if found.line is None:
        yield said("", f"{idle}: {cause} (no lines recorded)", **facts)
    else:
        pieces = (f" ({cause})", share, first_line(found.line))
        yield said("", f"{idle} while {place(found.line)}", *pieces, **facts)


def _each_step(findings: Findings) -> str:
    times = findings.get(StepTimes)
    is_call = times is not None and len(times.loops) and times.loops.kind[0] == StepKind.INFERENCE
    return " a call" if is_call else " a step"


def trust_line(findings: Findings) -> ScreenRow:
    """The cost of recording (measured or estimated), and how much was lost."""
    rows = loss_rows(findings)
    sources = list(dict.fromkeys(printable(row.source) for row in rows))
    named = ", ".join(sources[:_MOST_SOURCES]) + (", ..." if len(sources) > _MOST_SOURCES else "")
    lost = f"{len(rows):,} not recorded ({named})" if rows else "nothing missing"
    more = (": --view missing",) if rows else ()
    cost = _cost(findings)
    of_launches = launch_cost(findings)
    if of_launches is not None and is_named(of_launches.most):
        cost = f"{cost}, {of_launches.text()}" if cost else of_launches.text()
    return said("TRUST", f"{cost}; {lost}" if cost else lost, *more, style="yellow" if rows else "")


def _cost(findings: Findings) -> str:
    for row in baseline_rows(findings):
        if row.detailed is not None:
            return f"recording {mean_text(row, row.detailed)}"
        return f"{untraced_text(row)}, recording {added_text(row)}"
    totals = findings.get(Totals)
    if totals is None or not totals.operators:
        return ""
    cost = own_cost(findings, totals)
    if cost.share is not None:
        share = whole_percent(cost.share)
        return _SMALL if share.startswith("<") else f"recording at least +{share} CPU"
    if cost.running_ns is not None:
        return f"recording at least {units.duration(cost.running_ns)} CPU"
    return "recording cost not measured"


def incomplete_lines(findings: Findings) -> Iterator[ScreenRow]:
    """Whether the recording is incomplete, with the first reason."""
    losses = findings.get(Losses) or Losses.empty()
    reasons = [
        printable(reason)
        for source, reason in zip(losses.source, losses.reason, strict=True)
        if source == "recording"
    ]
    if reasons:
        yield said("CUT", f"incomplete: {reasons[0]}", style="yellow")
