"""Checks on a machine with a GPU what cannot be checked without: `make gpu-check OUT=folder`.

Needs no network, and no make: `python3 -m tests.gpu.check --out folder --group A`. Builds this tree, runs
every check in a process of its own and with a limit of its own, and ends each group within its deadline
whatever they do. Into OUT go results.jsonl, summary.txt, output.txt and what the checks record, 8 files in
all. The exit status is 1 where a check failed. `--list` says which checks there are, and which need a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.gpu import listed, machine, process, tree
from tests.gpu.listed import CHECKS, GROUP_S, GROUPS, Check
from tests.gpu.result import FAIL, NOT_RUN, PASS, SKIP, Report, Result

ROOT = Path(__file__).resolve().parents[2]
RESERVE_S = 10.0  # for writing the summary, and for processes that are slow to go


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks; the process's exit status."""
    args = parse(arguments)
    if args.list:
        print(listed.table())
        return 0
    # So that what runs is killed, and the summary written.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end_s = end_in(args.deadline - RESERVE_S)
    report = Report(args.out)
    with tempfile.TemporaryDirectory(prefix="perfprobe-gpu-check-") as folder:
        try:
            run_all(report, Path(folder), end_s, args)
        finally:
            status = report.close()
            signal.signal(signal.SIGTERM, before)
    return status


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.check", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--group", action="append", choices=GROUPS, help="the checks of this group (repeatable; all)"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="only this check (repeatable)")
    parser.add_argument("--deadline", type=float, default=GROUP_S, metavar="SECONDS", help="for each group")
    parser.add_argument(
        "--site", type=_site, metavar="FOLDER", help="check the built perfprobe in that folder"
    )
    parser.add_argument("--no-build", action="store_true", help="check the perfprobe that is installed")
    parser.add_argument(
        "--list", action="store_true", help="say which checks there are, and which need a GPU"
    )
    args = parser.parse_args(arguments)
    if not args.list and args.out is None:
        parser.error("name a folder for what it finds: --out FOLDER")
    args.out = args.out and args.out.resolve()
    unknown = set(args.only or ()) - {check.name for check in CHECKS}
    if unknown:
        parser.error(f"there is no check {', '.join(sorted(unknown))}: see --list")
    return args


def _site(text: str) -> Path:
    """A folder that has a built perfprobe, as `pip install --target` leaves it."""
    folder = Path(text).resolve()
    missing = tree.lacking(folder / "perfprobe")
    if missing:
        raise argparse.ArgumentTypeError(f"{folder}/perfprobe is no built package: {missing}")
    return folder


def chosen(args: argparse.Namespace) -> list[list[Check]]:
    """The checks of each group that is asked for; those asked for by name are a group of their own."""
    if args.only:
        return [[check for check in CHECKS if check.name in args.only]]
    wanted = args.group or dict.fromkeys(check.group for check in CHECKS)
    return [[check for check in CHECKS if check.group == group] for group in sorted(wanted)]


def run_all(report: Report, folder: Path, end_s: float, args: argparse.Namespace) -> None:
    """One check after the other: two programs at a time would share the GPU, and its times would show it."""
    missing, site = machine.driver_lack(), args.site
    if missing is None and site is None and not args.no_build:
        site = tree.site(ROOT / "build" / "gpu")
        built, output = tree.build(ROOT, ROOT / "build" / "gpu", end_s)
        report.add(built, output)
    installed = environment(site, folder / "path")
    if missing is None and site is not None:
        report.add(found_in(site, installed, folder))
        if report.results[-1].status == FAIL:
            return  # the checks would be of another perfprobe
    for number, group in enumerate(chosen(args)):
        end_s = end_s if number == 0 else end_in(args.deadline - RESERVE_S)
        for check in group:
            if missing is not None and not (check.with_standin and machine.has_standin()):
                report.add(Result(check.name, SKIP, missing))
            else:
                run_one(check, report, folder, end_s, installed)


def end_in(seconds: float) -> float:
    """That time from now, of time.monotonic()."""
    return time.monotonic() + seconds


def environment(site: Path | None, links: Path) -> dict[str, str]:
    """For the checks' processes: the perfprobe in that folder, or the one that is installed.

    links: a folder that is made, with the checks and benchmarks but without this tree's perfprobe, which
    nobody has built and which would come before an installed one.
    """
    links.mkdir(parents=True, exist_ok=True)
    for name in ("tests", "benchmarks"):
        if not (links / name).exists():
            (links / name).symlink_to(ROOT / name)
    paths = [str(links)] if site is None else [str(site), str(links)]
    return {"PYTHONPATH": os.pathsep.join(paths), "PYTHONFAULTHANDLER": "1"}


def found_in(site: Path, environment: Mapping[str, str], folder: Path) -> Result:
    """Whether that is the perfprobe the checks get: an editable install comes before every path."""
    words = [sys.executable, "-c", "import perfprobe; print(perfprobe.__file__)"]
    ended = process.run(words, 60, folder, environment)
    found = ended.last_line()
    is_it = ended.status == 0 and Path(found).is_relative_to(site)
    return Result(
        "site", PASS if is_it else FAIL, "" if is_it else f"not in {site}: {found}", said={"file": found}
    )


def run_one(check: Check, report: Report, folder: Path, end_s: float, environment: Mapping[str, str]) -> None:
    """Run a check in a folder of its own, for its limit or what is left of the time."""
    left_s = end_s - time.monotonic()
    if left_s < 2:
        report.add(Result(check.name, FAIL, NOT_RUN))
        return
    own = folder / check.name
    own.mkdir()
    child = [sys.executable, "-u", "-m", "tests.gpu.child"]
    words = [*child, check.function, report.folder, own / "result.json"]
    ended = process.run(words, min(check.limit_s, left_s), own, environment)
    report.add(read(check.name, own / "result.json", ended), ended.output)


def read(name: str, path: Path, ended: process.Ended) -> Result:
    """What the check wrote down of itself; where it could not, how its process ended."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {"status": "", "reason": "", "said": {}}
    if not found["status"]:
        found["status"], found["reason"] = FAIL, f"{ended.how()}: {ended.last_line()}"
    return Result(name, found["status"], found["reason"], round(ended.seconds, 1), found["said"])


if __name__ == "__main__":
    sys.exit(main())
