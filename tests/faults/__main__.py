"""Makes each call of perfprobe's own fail, one after another, and prints what went wrong.

    python -m tests.faults [COMMAND ...] [--kind KIND ...] [--every K] [--from N]
    python -m tests.faults --uncovered

The n-th call fails for n = N, N + K, N + 2K and so on. `calls.py` says which calls are of a kind.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults import commands
from tests.faults.calls import uncovered
from tests.faults.commands import COMMANDS, KINDS, Ended


def main() -> int:
    """Returns 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"{', '.join(COMMANDS)}; default: all")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these kinds of calls")
    parser.add_argument("--every", type=int, default=1, metavar="K")
    parser.add_argument("--from", type=int, default=1, metavar="N", dest="first")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--uncovered", action="store_true", help="only list the calls that no kind covers")
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        library = commands.build(Path(name))
        for chosen in given.commands or COMMANDS:
            if given.uncovered:
                commands.prepared(COMMANDS[chosen], Path(name))
                print(chosen, dict(uncovered(COMMANDS[chosen], Path(name))), flush=True)
                continue
            for kind in given.kind or KINDS:
                numbers = (given.first, given.every, given.jobs)
                failed += _swept(chosen, kind, numbers, library, Path(name))
    return min(failed, 1)


def _swept(name: str, kind: str, numbers: tuple[int, int, int], library: Path, folder: Path) -> int:
    """How many calls of a kind went wrong. numbers: the first, the distance, how many at a time."""
    first, every, jobs = numbers
    command = COMMANDS[name]
    folders = [folder / f"{name}-{number}" for number in range(jobs)]
    for each in folders:
        commands.prepared(command, each)
    plain = commands.plain(command, folders[0], library)
    most = commands.run(command, folders[0], library).calls[kind]
    found: Counter[tuple[str, str, str]] = Counter()

    def tried(lane: int) -> None:
        for number in range(first + lane * every, most + 1, jobs * every):
            fault = f"{kind}:{number}"
            ended = commands.run(command, folders[lane], library, fault)
            what = commands.wrong(command, ended, plain, folders[lane]) if ended.where else ""
            if what:
                found[what, ended.where, _last(ended)] += 1
                print(f"{name} {fault}: {what} at {ended.where}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(tried, range(jobs)))
    print(f"{name} {kind}: {most} calls, every {every}: {sum(found.values())} wrong", flush=True)
    for (what, where, last), count in sorted(found.items(), key=lambda item: item[0][1]):
        print(f"    {count:5}  {what}  at {where}  {last}", flush=True)
    return sum(found.values())


def _last(ended: Ended) -> str:
    lines = [line for line in ended.err.splitlines() if line.strip()]
    return lines[-1][:150] if lines else ""


if __name__ == "__main__":
    sys.exit(main())
