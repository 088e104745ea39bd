"""What `perfprobe threads` says of programs whose problem is known, and whether its figures are right.

    python -m benchmarks.threads planted [--only NAME]
    python -m benchmarks.threads clocks
    python -m benchmarks.threads sweep [--busy 2] [--rounds 10]

planted: programs with one problem each: whether it is found, at its line, and nothing else of the program.
clocks: run time of each thread and of the process, beside `/proc` and `getrusage`.
sweep: the transformer as it is and with one thread, twice: whether the gain of the first sweep lies in the
interval of the second one.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.threads import clocks, planted, sweep

PARTS = {"planted": planted, "clocks": clocks, "sweep": sweep}


def main() -> None:
    """Run a part and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parts = parser.add_subparsers(dest="part", required=True)
    for name, part in PARTS.items():
        part.options(parts.add_parser(name, help=str(part.__doc__).partition("\n")[0]))
    given = parser.parse_args()
    sys.stdout.write(PARTS[given.part].run(given) + "\n")


if __name__ == "__main__":
    main()
