"""Runs a whole program several times, in fresh processes, with different settings of threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time

from perfprobe.bench import program_sweep
from perfprobe.results import Results
from perfprobe.support.errors import EnvironmentLack, InputError, UsageError
from perfprobe.support.masking.words import masked
from perfprobe.support.text import printable
from perfprobe.support.view import View
from perfprobe.tables.sweep import Sweep, SweepRun, SweepSetting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO, Any

    from perfprobe.tables.sweep import SweepRow

# Operators and ranges are enough to find steps. Everything else is switched off, because it costs time.
_RECORDED = ("--no-config", "-q", "--python", "off", "--gpu", "off", "--children", "off")
_LONGEST = 300  # characters of a failed program's error output that are quoted
INTERRUPTED = "interrupted"
_TIME_IS_UP = "the time is up"


def swept(
    words: Sequence[str],
    settings: Sequence[SweepSetting],
    *,
    rounds: int,
    time_s: float | None,
    progress: Callable[[int, int, str], None],
) -> Sweep:
    """Run the program `rounds` times with each setting, in turns; fewer times if the time limit is reached.

    Args:
        words: the script and its arguments, or `-m MODULE` and its arguments.
        progress: is called with the number of runs done and in total, and the current setting.

    Raises:
        InputError: the program failed.
        UsageError: numbers of workers are requested, but no argument of the program has `{workers}`.
    """
    if settings[0].workers is not None and not any(program_sweep.WORKERS in word for word in words):
        remedy = "write it where the number belongs: --workers 0,2 -- train.py --num-workers {workers}"
        raise UsageError("no argument of the program is {workers}", "--workers", remedy)
    runs: list[SweepRun] = []
    begun, stopped, whole = time.monotonic(), "", rounds * len(settings)
    with tempfile.TemporaryDirectory(prefix="perfprobe-") as folder:
        try:
            for round_ in range(rounds):
                for at in program_sweep.order(len(settings), round_):
                    progress(len(runs), whole, settings[at].name)
                    runs.append(_run(words, settings, at, round_, folder))
                if time_s is not None and time.monotonic() - begun > time_s * (1 - 1 / (round_ + 2)):
                    stopped = _TIME_IS_UP if round_ + 1 < rounds else ""
                    break
        except KeyboardInterrupt:
            stopped = INTERRUPTED
    return Sweep(" ".join(map(printable, masked(words))), tuple(settings), tuple(runs), stopped)


def _run(
    words: Sequence[str], settings: Sequence[SweepSetting], at: int, round_: int, folder: str
) -> SweepRun:
    setting, path = settings[at], os.path.join(folder, f"{round_}-{at}.perfprobe")
    program = [word.replace(program_sweep.WORKERS, str(setting.workers)) for word in words]
    said = os.path.join(folder, "said")
    with open(said, "wb") as output:
        process = _started([*_RECORDED, "-o", path, *program], setting, output)
        try:
            status = process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    if status != 0:
        what = f"the program ended with exit code {status}"
        raise InputError(what, " ".join(masked(program)), _last_words(said))
    run = _measured(path, at, round_)
    os.unlink(path)
    return run


def _started(words: Sequence[str], setting: SweepSetting, output: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "perfprobe", "run", *words],
            env={**os.environ, **setting.variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    except OSError as error:  # arguments that just fitted beside the words of this command
        where = f"{error.strerror}, with {len(words)} arguments"
        raise EnvironmentLack("the program cannot be started", where, "give it fewer") from error


def _last_words(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("perfprobe:")]
    return printable(masked(lines[-1:])[0][:_LONGEST]) if lines else ""


def _measured(path: str, at: int, round_: int) -> SweepRun:
    from perfprobe.tables.steps import StepTimes

    found = Results(path).findings(View(), (StepTimes,))
    threads = found.trace.recording.number("torch", "threads")
    known = None if threads is None else int(threads)
    times = found.get(StepTimes)
    if times is not None and len(times.loops) and int(times.loops.median_ns[0]) > 0:
        return SweepRun(at, round_, int(times.loops.median_ns[0]), int(times.loops.steady[0]), known)
    return SweepRun(at, round_, float(found.wall_ns or 1), 0, known)


def text(sweep: Sweep, *, width: int, color: bool) -> str:
    """The results as text."""
    from perfprobe.report.render.text import page
    from perfprobe.report.section.sweep import sweep_blocks

    return page(sweep_blocks(sweep, *_judged(sweep)), width=width, color=color)


def document(sweep: Sweep) -> dict[str, Any]:
    """The results, ready for json.dumps."""
    from dataclasses import asdict

    rows, best, ignored = _judged(sweep)
    return {
        "schema": 1,
        "meta": {"program": sweep.program, "by_steps": sweep.by_steps, "stopped": sweep.stopped or None},
        "tables": {
            "settings": [asdict(row) for row in rows],
            "runs": [{**asdict(run), "setting": sweep.settings[run.setting].name} for run in sweep.runs],
        },
        "recommended": None if best is None or ignored else best.to_paste,
    }


def _judged(sweep: Sweep) -> tuple[list[SweepRow], SweepRow | None, bool]:
    """The rows, the setting to recommend, and whether the program ignored all of them."""
    rows = program_sweep.rows(sweep)
    return rows, program_sweep.best(rows), program_sweep.ignored(rows)
