"""Where the program ran: versions, machine and settings, to be pasted into a question or a ticket."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from perfprobe.report.rows.choice import Choice
from perfprobe.report.section.block import Block, Fact, Facts, Heading, Section, no_tables
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording

_LONGEST = 60  # cells of one fact
_MOST = 12  # packages or variables that are listed
_COMMIT = 10  # digits of a commit that are shown


def environment(findings: Findings, _: Choice) -> Iterator[Block]:
    """A few lines of facts; nothing if none are known."""
    recording = findings.trace.recording
    groups = [list(_software(recording)), list(_machine(recording)), list(_settings(recording))]
    if any(groups):
        yield Heading("Environment")
        for facts in filter(None, groups):
            yield Facts([Fact(printable(fact), longest=_LONGEST) for fact in facts])


def _software(recording: Recording) -> Iterator[str]:
    versions = recording.fact("versions")
    known = {
        name: version
        for name, version in (versions.items() if isinstance(versions, dict) else ())
        if isinstance(version, str)
    }
    if "python" in known:
        yield f"Python {known['python']}"
    torch = recording.text("torch", "version") or known.get("torch")
    if torch is not None:
        yield f"torch {torch}"
        yield from _torch_build(recording)
    others = [name for name in known if name not in ("python", "torch")]
    yield from (f"{name} {known[name]}" for name in others[:_MOST])


def _torch_build(recording: Recording) -> Iterator[str]:
    def fact(name: str) -> str:
        return recording.text("torch", name) or ""

    if recording.fact("torch", "debug") is True or fact("build_type") == "Debug":
        yield "debug build"
    for title, name in (
        ("CUDA", "cuda"),
        ("ROCm", "hip"),
        ("CUDA runtime", "cuda_runtime"),
        ("cuDNN", "cudnn"),
    ):
        if fact(name):
            yield f"{title} {fact(name)}"
    yield from filter(None, (fact("blas").upper(), fact("openmp"), fact("cpu_capability")))


def _machine(recording: Recording) -> Iterator[str]:
    model = recording.text("host", "cpu_model")
    if model is not None:
        yield " ".join(model.split())
    yield from _cores(recording)
    memory = recording.number("host", "memory_bytes")
    if memory is not None:
        yield units.size(memory)
    kernel = recording.text("host", "kernel")
    if kernel is not None:
        yield f"Linux {kernel}"
    yield from _gpus(recording)


def _cores(recording: Recording) -> Iterator[str]:
    """Yields how many cores the program may use, and how many the machine has."""
    cores, allowed, quota = (
        recording.number("host", name) for name in ("cores", "cores_allowed", "cgroup_cores")
    )
    if cores is None and allowed is None:
        return
    least = min(number for number in (cores, allowed, quota) if number is not None)
    of = f" of {units.plain(cores)}" if cores is not None and least < cores else ""
    why = " (cgroup quota)" if quota is not None and least == quota and quota != allowed else ""
    yield f"{units.plain(least)}{of} core{'s' if of or least != 1 else ''}{why}"


def _gpus(recording: Recording) -> Iterator[str]:
    models = recording.texts("torch", "devices") or recording.texts("nvidia", "models")
    for model in list(dict.fromkeys(models))[:_MOST]:
        number = models.count(model)
        yield f"{number}x {model}" if number > 1 else model
    driver = recording.text("nvidia", "driver")
    if driver is not None:
        yield f"NVIDIA driver {driver}"
    elif not models and recording.fact("host") is not None:
        gpus = len(recording.texts("gpus"))
        yield f"{gpus} NVIDIA GPU{'' if gpus == 1 else 's'}" if gpus else "no NVIDIA driver"


def _settings(recording: Recording) -> Iterator[str]:
    threads, interop = (recording.number("torch", name) for name in ("threads", "interop_threads"))
    if threads is not None:
        between = "" if interop is None else f", interop {units.plain(interop)}"
        yield f"torch threads {units.plain(threads)}{between}"
    known = recording.fact("environment")
    variables = known if isinstance(known, dict) else {}
    if "OMP_NUM_THREADS" not in variables and recording.fact("host") is not None:
        yield "OMP_NUM_THREADS not set"
    yield from (f"{name}={value}" for name, value in list(variables.items())[:_MOST])
    commit, branch = recording.text("git", "commit"), recording.text("git", "branch")
    if commit is not None:
        yield f"git {commit[:_COMMIT]}{f' on {branch}' if branch else ''}"
    realtime_ns = recording.number("clock", "realtime_ns")
    if realtime_ns is not None and realtime_ns > 0:
        yield _date(realtime_ns)


def _date(realtime_ns: float) -> str:
    return f"{datetime.fromtimestamp(realtime_ns / 1e9).astimezone():%Y-%m-%d %H:%M %Z}"


ENVIRONMENT = Section(
    "environment",
    (),
    environment,
    no_tables,
    titles=("Environment",),
    means="Versions, machine, thread settings, commit: paste it into a question or a ticket.",
)
