"""Checks what needs a machine with a GPU: `make gpu-check OUT=folder`.

Needs neither network nor make: `python3 -m tests.gpu.check --out folder --group A`. Builds this tree, runs
every check in its own process with its own limit, and ends each group within its deadline in any case. Writes
results.jsonl, summary.txt, output.txt and the files of checks to OUT, at most 8 files. The exit status is 1
if a check failed. `--list` prints the checks and which of them need a GPU.
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
RESERVE_S = 10.0  # for writing the summary, and for processes that end slowly


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the checks; returns the exit status."""
    args = parse(arguments)
    if args.list:
        print(listed.table())
        return 0
    # Then running processes are killed and the summary is written.
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
    """Parses the command line."""
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
    """A folder with a built perfprobe, as made by `pip install --target`."""
    folder = Path(text).resolve()
    missing = tree.missing_parts(folder / "perfprobe")
    if missing:
        raise argparse.ArgumentTypeError(f"{folder}/perfprobe is no built package: {missing}")
    return folder


def chosen(args: argparse.Namespace) -> list[list[Check]]:
    """The checks of each requested group. Checks requested by name are a separate group."""
    if args.only:
        return [[check for check in CHECKS if check.name in args.only]]
    wanted = args.group or dict.fromkeys(check.group for check in CHECKS)
    return [[check for check in CHECKS if check.group == group] for group in sorted(wanted)]


def run_all(report: Report, folder: Path, end_s: float, args: argparse.Namespace) -> None:
    """Runs the checks one after another: two programs at a time would share the GPU and disturb its times."""
    missing, site = machine.driver_missing(), args.site
    if missing is None and site is None and not args.no_build:
        site = tree.site(ROOT / "build" / "gpu")
        built, output = tree.build(ROOT, ROOT / "build" / "gpu", end_s)
        report.add(built, output)
    installed = environment(site, folder / "path")
    if missing is None and site is not None:
        report.add(found_in(site, installed, folder))
        if report.results[-1].status == FAIL:
            return  # otherwise another perfprobe would be checked
    for number, group in enumerate(chosen(args)):
        end_s = end_s if number == 0 else end_in(args.deadline - RESERVE_S)
        for check in group:
            if missing is not None and not (check.with_standin and machine.has_standin()):
                report.add(Result(check.name, SKIP, missing))
            else:
                run_one(check, report, folder, end_s, installed)


def end_in(seconds: float) -> float:
    """This time from now on, in time.monotonic()."""
    return time.monotonic() + seconds


def environment(site: Path | None, links: Path) -> dict[str, str]:
    """Variables for the checks' processes: the perfprobe in that folder, or the installed one.

    links: a folder that is created with links to the checks and benchmarks, but without this tree's
    perfprobe. That one is not built and would take precedence over an installed one.
    """
    links.mkdir(parents=True, exist_ok=True)
    for name in ("tests", "benchmarks"):
        if not (links / name).exists():
            (links / name).symlink_to(ROOT / name)
    paths = [str(links)] if site is None else [str(site), str(links)]
    return {"PYTHONPATH": os.pathsep.join(paths), "PYTHONFAULTHANDLER": "1"}


def found_in(site: Path, environment: Mapping[str, str], folder: Path) -> Result:
    """Whether the checks get that perfprobe. An editable installation takes precedence over every path."""
    words = [sys.executable, "-c", "import perfprobe; print(perfprobe.__file__)"]
    ended = process.run(words, 60, folder, environment)
    found = ended.last_line()
    is_it = ended.status == 0 and Path(found).is_relative_to(site)
    return Result(
        "site", PASS if is_it else FAIL, "" if is_it else f"not in {site}: {found}", said={"file": found}
    )


def run_one(check: Check, report: Report, folder: Path, end_s: float, environment: Mapping[str, str]) -> None:
    """Runs a check in its own folder, up to its limit or the remaining time."""
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
    """The result that the check wrote, or else how its process ended."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {"status": "", "reason": "", "said": {}}
    if not found["status"]:
        found["status"], found["reason"] = FAIL, f"{ended.how()}: {ended.last_line()}"
    return Result(name, found["status"], found["reason"], round(ended.seconds, 1), found["said"])


if __name__ == "__main__":
    sys.exit(main())
