"""Runs a command, and then says how long it took.

    python .ci/timed.py NAME COMMAND ...

Exits as the command does.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    """Run it."""
    begun_s = time.monotonic()
    status = subprocess.call(words[1:])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took_s, cpu_s = time.monotonic() - begun_s, used.ru_utime + used.ru_stime
    print(f"{words[0]}: {took_s:.0f} s, {cpu_s:.0f} s of CPU time", flush=True)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
