"""Runs a script under another profiler, as its users would, and prints the profiler's report.

    python launch.py TOOL OUTPUT script.py [ARGS]

TOOL is a name of `TOOLS`. When the script has ended, the time (CLOCK_MONOTONIC ns) is written to
OUTPUT.ended. Then the report is printed, as perfprobe prints its own.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

ROWS = 20


@contextmanager
def c_profile(output: Path, ended: Callable[[], None]) -> Iterator[None]:
    """cProfile: the statistics as a file and as a table."""
    import cProfile
    import pstats

    profiler = cProfile.Profile()
    profiler.enable()
    yield
    profiler.disable()
    ended()
    profiler.dump_stats(output)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(ROWS)


@contextmanager
def viztracer(output: Path, ended: Callable[[], None]) -> Iterator[None]:
    """viztracer: a trace file; it prints no table."""
    from viztracer import VizTracer  # type: ignore[import-not-found,unused-ignore]

    tracer = VizTracer(output_file=str(output), verbose=0)
    tracer.start()
    yield
    tracer.stop()
    ended()
    tracer.save()


@contextmanager
def torch_profiler(output: Path, ended: Callable[[], None], **options: bool) -> Iterator[None]:
    """torch.profiler: the table by operator, and by input shape where shapes were recorded."""
    import torch

    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options)
    profiler.start()
    yield
    ended()
    profiler.stop()
    averages = profiler.key_averages(group_by_input_shape=options.get("record_shapes", False))
    print(averages.table(sort_by="self_cpu_time_total", row_limit=ROWS))


Watch = Callable[[Path, Callable[[], None]], AbstractContextManager[None]]

TOOLS: dict[str, Watch] = {
    "cProfile": c_profile,
    "viztracer": viztracer,
    "torch.profiler": torch_profiler,
    "torch.profiler shapes": lambda output, ended: torch_profiler(output, ended, record_shapes=True),
    "torch.profiler shapes+stack": lambda output, ended: torch_profiler(
        output, ended, record_shapes=True, with_stack=True
    ),
}


def main() -> None:
    """Run the script."""
    tool, output, script, *args = sys.argv[1:]
    path = Path(output)

    def ended() -> None:
        path.with_suffix(".ended").write_text(str(time.monotonic_ns()), encoding="ascii")

    sys.argv[:] = [script, *args]
    sys.path[0] = str(Path(script).parent)
    with TOOLS[tool](path, ended):
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
