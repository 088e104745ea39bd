"""Damages files of every kind and reads them with every command, which must print output or a one-line error.

    python -m tests.mutations [--count N] [--seed N] [--recordings FOLDER] [KIND ...]

FOLDER may contain more recordings (*.perfprobe) to damage. Each kind is read in its own process with at most
1 GiB. Reading a file for more than 20 s of CPU time counts as a hang.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
from pathlib import Path

from tests.mutations.reading import KINDS, TOO_LONG, Fault, read_all

MOST_BYTES = 1 << 30


def main() -> int:
    """Returns 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("--count", type=int, default=3000, help="of each kind of file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recordings", type=Path, default=Path("/nonexistent"), metavar="FOLDER")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool(2, maxtasksperchild=1) as pool:
        jobs = [
            (name, pool.apply_async(_checked, (name, given.count, given.seed, given.recordings, folder)))
            for name in given.kinds or kinds(given.recordings)
        ]
        bad = 0
        for name, job in jobs:
            faults, most_mib = job.get()
            bad += len(faults)
            hangs = sum(fault.what.endswith(TOO_LONG) for fault in faults)
            said = f"{len(faults) - hangs} faults, {hangs} hangs, at most {most_mib} MiB"
            print(f"{name:16} {given.count} damaged, {said}", flush=True)
            for fault in faults[:5]:
                print(f"  {fault.command} of seed {fault.seed}: {fault.what}", flush=True)
    return 1 if bad else 0


def kinds(recordings: Path) -> list[str]:
    """The kinds of files."""
    own = sorted(path.stem for path in recordings.glob("*.perfprobe"))
    return [*KINDS, *own]


def _checked(name: str, count: int, seed: int, recordings: Path, folder: str) -> tuple[list[Fault], int]:
    place = Path(folder) / name
    place.mkdir()
    resource.setrlimit(resource.RLIMIT_AS, (_mapped_bytes() + MOST_BYTES, resource.RLIM_INFINITY))
    faults = read_all(name, range(seed, seed + count), recordings, place)
    return faults, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _mapped_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
