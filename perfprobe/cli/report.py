"""`perfprobe report`: prints the report on a recording."""

from __future__ import annotations

import gc
import json
import os
import sys
from itertools import chain

from perfprobe.cli.config import add_config, said_with, use_config
from perfprobe.cli.links import links_of
from perfprobe.cli.options import Output, Parser, add_options, existing, view, writable
from perfprobe.cli.terminal import colored, width
from perfprobe.support import files
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.text import encodable, harmless, printable
from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from perfprobe.results import Results

_ALLOCATIONS = 100_000  # allocations between two garbage collections: python's default is 700

_PICTURES = (".png", ".svg", ".pdf")
_DESCRIPTION = "Print the report of a recording: hot operators with shapes and source lines."
_EXAMPLES = """\
examples:
  perfprobe report                           the newest recording here
  perfprobe report run.perfprobe --top 40    another one: `perfprobe list`
  perfprobe report run-*.perfprobe           all child processes or ranks
  perfprobe report trace.json.gz             a trace of torch.profiler
  perfprobe report log/resnet18              a TensorBoard log folder
  perfprobe report --full                    all sections
  perfprobe report --view lines              one section
  perfprobe report log/resnet18 --view ranks which rank the others waited for
  perfprobe report --brief                   Markdown for a ticket
  perfprobe report --html run.html           a page for the browser, to share
  perfprobe report --plot steps.png          phases and times of the steps
  perfprobe report runs/                     one report of a --keep slow folder
  perfprobe report --sort calls              most calls first
  perfprobe report --sort gpu                most time on GPUs first
  perfprobe report --group op --columns autograd      torch's usual table
  perfprobe report --group line --focus attention     only matching lines
  perfprobe report --calls aten::div         the stacks that called it
  perfprobe report --json | jq '.missing'    everything, for programs
"""


def parser() -> Parser:
    """The options of `report`."""
    parser = Parser("report", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.usage = "perfprobe report [FILE ...] [OPTIONS]"
    parser.add(
        "files",
        nargs="*",
        metavar="FILE",
        heading="what to read",
        brief="recordings, traces or .pstats files (default: the newest recording here)",
        help="recordings (default: the newest one here), traces of torch.profiler (.json, .json.gz or a "
        "TensorBoard log folder), or .pstats files. Several files give one report after the other, with "
        "--json a list",
    )
    add_options(parser, View)
    add_options(parser, Output)
    parser.add(
        "--calls",
        metavar="OPERATOR",
        heading="what to print",
        brief="print the call stacks of one operator instead",
        help="print the call stacks of one operator instead (aten::div, aten::div.Tensor or div), with self "
        "time and calls; backward operators have the stack of their forward call",
    )
    parser.add(
        "--json",
        action="store_true",
        heading="what to print",
        brief=None,
        help="print JSON instead of a table",
    )
    parser.add(
        "--plot",
        metavar="FILE",
        heading="what to print",
        brief="draw the steps, or memory, as a picture",
        help="draw a picture instead (.png, .svg or .pdf): the steps, their phases and durations; with "
        "--view memory, memory over time",
    )
    parser.add(
        "--html",
        metavar="FILE",
        heading="what to print",
        brief="write a page for the browser: timeline, source...",
        help="write one HTML page instead, which needs no network: first screen, tables of all sections, "
        "timeline of some steps, flame graph, source, steps over time and call graph; --no-source leaves "
        "source lines out",
    )
    add_config(parser)
    return parser


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Read the recording and build the report. The function that is returned prints it."""
    from perfprobe.cli.progress import reading

    options = parser()
    configured = use_config(options, words)
    given = options.parse_args(words)
    collect_garbage_seldom()
    try:
        wanted = view(given)
    except UsageError as error:
        raise said_with(error, configured) from error
    paths = [path for named in given.files for path in files_of(existing(named))] or [newest()]
    with reading(paths):
        return _prepared(given, paths, wanted)


def _prepared(given: Namespace, paths: Sequence[str], wanted: View) -> Callable[[], int]:
    from perfprobe.cli import guarded
    from perfprobe.results import Results

    if given.plot is not None:
        return _plot(paths, given.plot, wanted)
    if given.html is not None:
        return _html(paths, given, wanted)
    if wanted.is_together or _is_one_run(paths):
        return _together(paths, wanted, given)
    if given.json:
        return _as_json(paths, wanted, given.calls)
    if len(paths) == 1:
        results = Results(paths[0], (), wanted.largest)
        text, links = _text(results, wanted, given), links_of(results, wanted, given.color)
        return lambda: write(text, links)
    return lambda: guarded(lambda: max(write(*each) for each in _texts(paths, wanted, given)))


def files_of(path: str) -> list[str]:
    """The file itself, or all recordings or traces in a folder.

    Raises:
        InputError: the folder has none.
    """
    if not os.path.isdir(path):
        return [path]
    from perfprobe.read.kineto import traces_in
    from perfprobe.tables import storage

    found = sorted(entry.path for entry in storage.recordings_in(path))
    return found or traces_in(path)


def _is_one_run(paths: Sequence[str]) -> bool:
    """Whether these are recordings of which only slow steps were kept: one report for all of them."""
    from perfprobe.results import Results

    return len(paths) > 1 and all(path.endswith(".perfprobe") for path in paths) and Results(paths[0]).is_kept


def _together(paths: Sequence[str], wanted: View, given: Namespace) -> Callable[[], int]:
    """One report on several recordings: the ranks of a run beside each other, or the files of a long one."""
    from perfprobe.results import Results

    results = Results(paths[0], paths[1:], wanted.largest)
    if given.json:
        document = results.written(wanted)
        return lambda: write_all(chain(document.pieces(), ["\n"]))
    text = results.text(wanted, width=width(), color=colored(given.color))
    links = links_of(results, wanted, given.color)
    return lambda: write(text, links)


def _plot(paths: Sequence[str], output: str, wanted: View) -> Callable[[], int]:
    """Draw the steps of one recording, or its memory."""
    from perfprobe.results import Results

    if len(paths) > 1 and not _is_one_run(paths):
        raise UsageError("a picture shows one recording", "--plot", "name one")
    if os.path.splitext(output)[1] not in _PICTURES:
        raise UsageError("unknown picture format", output, f"use a name that ends in {', '.join(_PICTURES)}")
    path = writable(output)
    results = Results(paths[0], paths[1:], wanted.largest)
    (results.plot_memory if wanted.view == "memory" else results.plot)(path)
    return lambda: write(f"the picture is {printable(path)}\n")


def _html(paths: Sequence[str], given: Namespace, wanted: View) -> Callable[[], int]:
    """Write the page of one recording, or of the ranks or files that belong together."""
    from perfprobe.results import Results

    if given.json or given.calls is not None:
        raise UsageError("a page is written instead of JSON or stacks", "--html", "leave one out")
    if len(paths) > 1 and not (wanted.is_together or _is_one_run(paths)):
        raise UsageError("a page shows one recording", "--html", "name one")
    path = writable(given.html)
    write_file(path, Results(paths[0], paths[1:], wanted.largest).page(wanted))
    return lambda: write(f"the page is {printable(path)}\n")


def write_file(path: str, page: Iterable[bytes]) -> None:
    """Write a page. Raises EnvironmentLack if the file cannot be written."""
    try:
        files.write(path, page)
    except OSError as error:
        raise EnvironmentLack(f"the page cannot be written ({error.strerror})", path) from error


def _as_json(paths: Sequence[str], wanted: View, calls: str | None) -> Callable[[], int]:
    """One document, or a list of them. All are made before the first is written: one may be refused."""
    from perfprobe.report.render.json import Document, listed
    from perfprobe.results import several

    documents = [
        results.written(wanted) if calls is None else results.calls_document(calls, wanted)
        for results in several(paths, wanted.largest)
    ]
    if len(documents) > 1:
        return lambda: write_all([*listed(documents), "\n"])
    (only,) = documents
    if isinstance(only, Document):
        return lambda: write_all(chain(only.pieces(), ["\n"]))
    text = json.dumps(only, indent=1, allow_nan=False) + "\n"
    return lambda: write(text)


def _text(results: Results, wanted: View, given: Namespace) -> str:
    letters, color = width(), colored(given.color)
    if given.calls is None:
        return results.text(wanted, width=letters, color=color)
    return results.calls_text(given.calls, wanted, width=letters, color=color)


def _texts(
    paths: Sequence[str], wanted: View, given: Namespace
) -> Iterator[tuple[str, Callable[[str], str]]]:
    """The reports one by one, so that the first can be read while the next is made, with their links."""
    from perfprobe.results import Results, several

    are_compared = (wanted.is_screen or wanted.full) and given.calls is None
    alone = (Results(path, (), wanted.largest) for path in paths)
    opened = several(paths, wanted.largest) if are_compared else alone
    for number, (path, results) in enumerate(zip(paths, opened, strict=True)):
        text = _text(results, wanted, given)
        shown = f"{'' if number == 0 else chr(10)}== {printable(path)}\n\n{text}"
        yield shown, links_of(results, wanted, given.color)


def collect_garbage_seldom() -> None:
    """Let Python collect garbage less often: eighty collections take a twentieth of a short report's time."""
    gc.set_threshold(_ALLOCATIONS)


def newest() -> str:
    """The newest recording in the current folder and its `.perfprobe/`; printed on standard error.

    Raises:
        InputError: there is none.
    """
    from perfprobe.tables import storage

    path = storage.newest(os.getcwd())
    if sys.stderr is not None:
        sys.stderr.write(f"perfprobe: the newest recording here is {printable(os.path.relpath(path))}\n")
    return path


def write(text: str, finish: Callable[[str], str] = str) -> int:
    """Write to standard output; return the exit code. A reader that stops early (`| head`) is no error.

    finish: what is done with the text at last, as a terminal shows it.
    """
    return write_all([text], finish)


def write_all(texts: Iterable[str], finish: Callable[[str], str] = str) -> int:
    """Write several texts to standard output, each as soon as it is made; return the exit code."""
    if sys.stdout is None:
        return _cannot_write("it is closed")
    try:
        for text in texts:
            sys.stdout.write(finish(encodable(harmless(text), sys.stdout.encoding)))
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    except OSError as error:
        _forget_stdout()
        return _cannot_write(str(error.strerror))
    return 0


def _cannot_write(why: str) -> int:
    missing = EnvironmentLack("standard output cannot be written", why)
    if sys.stderr is not None:
        sys.stderr.write(f"perfprobe: {missing}\n")
    return missing.exit_code


def _forget_stdout() -> None:
    # When the interpreter ends it flushes standard output, and would print the error again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
