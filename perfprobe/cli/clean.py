"""`perfprobe clean`: removes old recordings."""

from __future__ import annotations

import os

from perfprobe.cli.options import Parser, rows
from perfprobe.cli.report import write
from perfprobe.support import units
from perfprobe.support.errors import EnvironmentLack
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perfprobe.cleaning import Cleaning

_KEEP = 10
_DESCRIPTION = """\
Remove all recordings in .perfprobe/ but the newest, each with what belongs to
it: the recordings of its children, further files of --rotate, measurements,
pictures, and exports with their default names. Nothing outside of .perfprobe/
is removed, no link is followed, and nothing that perfprobe did not write.
Recordings that are still being written stay."""
_EXAMPLES = """\
examples:
  perfprobe clean                            keep the 10 newest
  perfprobe clean --keep 3 --dry-run         what would be removed?
  perfprobe clean --keep 0                   remove all

Exit code: 4 if a file could not be removed.
"""


def parser() -> Parser:
    """The options of `clean`."""
    parser = Parser("clean", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument(
        "--keep",
        metavar="N",
        type=rows,
        default=_KEEP,
        help="number of recordings to keep; the ranks of a job count as one (default: %(default)s)",
    )
    parser.add_argument("--dry-run", action="store_true", help="remove nothing, print what would be removed")
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Check the words. The function that is returned removes, and prints what it removed."""
    from perfprobe.cleaning import Cleaning
    from perfprobe.cli import guarded

    given = parser().parse_args(words)

    def action() -> int:
        cleaning = Cleaning(os.curdir)
        cleaning.remove(given.keep, dry=given.dry_run)
        status = write("".join(f"{line}\n" for line in _lines(cleaning, given.dry_run)))
        return status or (EnvironmentLack.exit_code if cleaning.failed else 0)

    return lambda: guarded(action)


def _lines(cleaning: Cleaning, dry: bool) -> Iterator[str]:
    verb = "would remove" if dry else "removed"
    for name, files, size_bytes in cleaning.removed:
        number = "1 file" if files == 1 else f"{files:,} files"
        yield f"{verb} {printable(name)}: {number}, {units.size(size_bytes)}"
    for name, why in cleaning.left:
        yield f"left {printable(f'{name}: {why}')}"
    recordings = len(cleaning.removed)
    number = "1 recording" if recordings == 1 else f"{recordings:,} recordings"
    size_bytes = sum(one.size_bytes for one in cleaning.removed)
    folder = os.path.basename(cleaning.path)
    yield f"{verb} {number}, {size_bytes:,} bytes; {cleaning.kept:,} kept in {folder}/"
