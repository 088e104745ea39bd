"""`perfprobe export`: a recording as a file that other tools open."""

from __future__ import annotations

import os
import shlex
import zlib
from typing import NamedTuple

from perfprobe.cli.options import Parser, existing, writable
from perfprobe.cli.report import collect_garbage_seldom, newest, write_all
from perfprobe.collect.base import Stderr
from perfprobe.report.export.exported import BY_TIME
from perfprobe.support import files
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MOST_NAMES = 1000  # file names that are tried
_COMPRESSED = ".gz"
_GZIP_LEVEL, _GZIP_BITS = 2, 31  # a higher level takes twice as long for a tenth less


class Format(NamedTuple):
    """The file ending of a format, whether it is text, and what opens it."""

    suffix: str
    is_text: bool
    opened_with: str


# The module of that name in perfprobe.report.export makes the file: `exported(findings, chosen) -> Exported`,
# from the findings in its KINDS. chosen: the value of --times, or for chrome of --steps.
FORMATS = {
    "pstats": Format(".pstats", False, "snakeviz {}"),
    "speedscope": Format(".speedscope.json", True, "https://www.speedscope.app, or `npx speedscope {}`"),
    "collapsed": Format(".collapsed", True, "flamegraph.pl --countname us {} > flames.svg"),
    "pprof": Format(".pb.gz", False, "go tool pprof -http=: {}, or drop it on https://www.speedscope.app"),
    "chrome": Format(
        ".pt.trace.json.gz", True, "https://ui.perfetto.dev, or `tensorboard --logdir` of its folder"
    ),
}
_DESCRIPTION = """\
Convert a recording, or a .pstats file of cProfile, to a file for other tools.

  pstats      Python functions, as cProfile writes them
  speedscope  Python functions with operators as leaves, for flame graphs
  collapsed   the same as text: `main;step;aten::mm 1234`, in microseconds
  pprof       the same for pprof, Pyroscope and Parca, with labels of operators
  chrome      a trace like torch.profiler's: operators, kernels, ranges, samples
"""
_EXAMPLES = """\
examples:
  perfprobe export --format pstats -o out.pstats
    snakeviz out.pstats                      in the browser
    python -m pstats out.pstats              then: sort tottime, stats 20
  perfprobe export --format speedscope       for https://www.speedscope.app
  perfprobe export --format speedscope --by run  of the run, not of the steps
  perfprobe export --format collapsed -o - | flamegraph.pl > flames.svg
  perfprobe export --format chrome --steps 2:4  for https://ui.perfetto.dev
"""


def parser() -> Parser:
    """The options of `export`."""
    parser = Parser("export", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a recording, trace or .pstats file (default: the newest recording here)",
    )
    parser.add_argument("--format", choices=FORMATS, required=True, help="what to write")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write, - for standard output (default: a new one beside the recording)",
    )
    parser.add_argument(
        "--times",
        choices=("cprofile", "samples"),
        help="pstats: source of times (default: cProfile if it counted to the end); samples have operators",
    )
    parser.add_argument(
        "--by",
        choices=("time", "run"),
        help="speedscope, collapsed, pprof: the time of the steps (default), or of the whole run",
    )
    parser.add_argument(
        "--steps",
        metavar="A:B",
        help="chrome: only steps A to B-1, counted from 0; A or B may be left out",
    )
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Check what can be written. The function that is returned makes and writes it piece by piece."""
    from perfprobe.cli import guarded
    from perfprobe.cli.progress import reading
    from perfprobe.results import Results

    given = parser().parse_args(words)
    collect_garbage_seldom()
    chosen = FORMATS[given.format]
    if given.times is not None and given.format != "pstats":
        raise UsageError("--times is for pstats only", f"--format {given.format}", "leave it out")
    if given.by is not None and given.format not in BY_TIME:
        raise UsageError(f"--by is for {', '.join(BY_TIME)} only", f"--format {given.format}", "leave it out")
    if given.steps is not None and given.format != "chrome":
        raise UsageError("--steps is for chrome only", f"--format {given.format}", "leave it out")
    if given.output == "-" and not chosen.is_text:
        raise UsageError(f"a {chosen.suffix} file is binary", "-o -", "name a file")
    path = existing(given.file) if given.file is not None else newest()
    output = given.output if given.output in (None, "-") else writable(given.output)
    with reading([path]):
        made = Results(path).export(given.format, given.times, given.steps, given.by or "time")
    if output not in (None, "-") and os.path.exists(output) and os.path.samefile(output, path):
        raise UsageError("this is the file that is read", output, "name another file to write")
    for note in made.notes:
        Stderr().tell(note)
    if output == "-":
        return lambda: guarded(lambda: write_all(part.decode() for part in made.parts))
    return lambda: guarded(lambda: _save(made.parts, output, os.path.splitext(path)[0], chosen))


def _save(parts: Iterable[bytes], output: str | None, stem: str, chosen: Format) -> int:
    names = [stem + chosen.suffix, *(f"{stem}-{number}{chosen.suffix}" for number in range(2, MOST_NAMES))]
    name = names[0] if output is None else output
    if name.endswith(_COMPRESSED):
        parts = _compressed(parts)
    try:
        if output is None:
            name = files.write_new(names, parts)
        else:
            files.write(output, parts)
    except OSError as error:
        why = f"the file cannot be written ({error.strerror})"
        if isinstance(error, FileExistsError):
            why = "no free name for the file"
        raise EnvironmentLack(why, name, "name another with -o") from error
    Stderr().tell(printable(f"wrote {name}; open it with: {chosen.opened_with.format(shlex.quote(name))}"))
    return 0


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts compressed by gzip, made while they are read."""
    made = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_BITS)
    for part in parts:
        yield made.compress(part)
    yield made.flush()
