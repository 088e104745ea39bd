"""Opens a recording, and makes findings, reports, pictures and exports of it."""

from __future__ import annotations

import importlib
import shlex
from functools import cached_property

from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from perfprobe.analyse.findings import Analysis
    from perfprobe.report.export.exported import Exported
    from perfprobe.report.render.json import Document
    from perfprobe.support.graph_view import GraphView
    from perfprobe.tables.callgraph import CallGraph
    from perfprobe.tables.findings import Findings
    from perfprobe.tables.kept import KeptRun
    from perfprobe.tables.ranks import Ranks
    from perfprobe.tables.recording import Recording


class Results:
    """A recording, or a profile of cProfile. It is opened when first needed; findings are kept.

    Args:
        path: the file.
        others: the recordings of other ranks of the same run.
        largest_bytes: the largest size of a trace, after it was expanded; None for the usual one.

    Every method raises InputError if the file cannot be read.
    """

    def __init__(self, path: str, others: Sequence[str] = (), largest_bytes: int | None = None) -> None:
        self._path = path
        self._largest_bytes = () if largest_bytes is None else (largest_bytes,)
        self._others = [Results(other, (), largest_bytes) for other in others]

    @cached_property
    def _analysis(self) -> Analysis:
        from dataclasses import replace

        from perfprobe.analyse.findings import Analysis
        from perfprobe.merge import link
        from perfprobe.merge.children import children_ran
        from perfprobe.tables.children import ChildRecordings

        self._child_recordings = ChildRecordings()
        trace = link(_read(self._path, *self._largest_bytes))
        return Analysis(replace(trace, children_ran=children_ran(trace.recording, self._child_recordings)))

    def findings(self, view: View, kinds: Iterable[type | str], *, work: bool = False) -> Findings:
        """Returns those of the requested findings that the recording has.

        Args:
            kinds: types of findings, or names of their tables.
            work: whether to compute FLOPs.

        Raises:
            InputError: the file cannot be read any more.
            UsageError: the focus is not a regular expression.
        """
        from perfprobe.analyse.findings import Asked
        from perfprobe.diagnose.diagnose import diagnosed
        from perfprobe.tables.children import Children
        from perfprobe.tables.kept import KeptRun
        from perfprobe.tables.measurements import Measurements
        from perfprobe.tables.ranks import Ranks
        from perfprobe.tables.source_rule import source_rule
        from perfprobe.tables.workers import Feeding

        wanted = tuple(kinds)
        found = self._analysis.find(wanted, Asked(view.group, view.focus, work, view.package))
        is_beside = Measurements in wanted or Children in wanted
        beside = self._files_beside if is_beside else ()
        if Feeding in wanted:
            beside = (*beside, *self._feeding)
        if Ranks in wanted and (view.view == "ranks" or self._others):
            beside = (*beside, self._ranks)
        if KeptRun in wanted and self.is_kept:
            beside = (*beside, self._kept)
        found = found.plus(*beside, source_rule=source_rule(found.trace.recording, view.source))
        return diagnosed(found)

    def text(self, view: View, *, width: int = 200, color: bool = False) -> str:
        """The first screen, or the part of the report that the view requests.

        Args:
            width: columns of text.
            color: whether to add escape sequences for a terminal.
        """
        from perfprobe.report.render import markdown, text
        from perfprobe.report.section.listed import KINDS, chosen, kinds_of, peers

        if view.is_screen and not self._is_profile and self._is_benchmark and not view.brief:
            found = self.findings(view, kinds_of(chosen("benchmark")))
            return text.render(found, width=width, color=color, view="benchmark")
        if view.is_screen and not self._is_profile and self.is_kept:
            found = self.findings(view, kinds_of(chosen("slow-steps")))
            return text.render(found, width=width, top=view.top, color=color, view="slow-steps")
        if view.is_screen and not self._is_profile:
            screen = self._screen(view)
            if view.brief:
                return markdown.brief(screen)
            return text.first_screen(screen, width=width, color=color)
        kinds = kinds_of(peers(view.view)) or KINDS
        found = self.findings(view, kinds, work=view.columns != "short")
        return text.render(
            found,
            width=width,
            top=view.top,
            sort=view.sort,
            columns=view.columns,
            color=color,
            view=view.view,
        )

    def document(self, view: View) -> dict[str, Any]:
        """Returns the report as a document, ready for json.dumps."""
        return self.written(view).plain()

    def written(self, view: View) -> Document:
        """Returns the same document, which is written row by row; with `brief` only a part."""
        from perfprobe.report.render import json
        from perfprobe.report.render.brief_json import brief
        from perfprobe.report.section.listed import PEER_SECTIONS, SECTIONS, kinds_of

        found = self.findings(view, kinds_of((*SECTIONS, *PEER_SECTIONS)), work=True)
        has_screen = (
            not self._is_profile and not self.is_kept
        )  # with --keep slow it would show slow steps only
        screen = self._screen(view) if has_screen else None
        if not view.brief:
            return json.written(found, top=view.top, sort=view.sort, screen=screen)
        whole: Document = json.written(found, sort=view.sort, screen=screen)
        return brief(whole, f"perfprobe report {shlex.quote(self._path)} --json", view.top)

    @property
    def _is_profile(self) -> bool:
        """Whether it is a profile written by cProfile, which has one table."""
        return self._analysis.trace.recording.is_profile

    @property
    def _is_benchmark(self) -> bool:
        """Whether nothing but steps was recorded."""
        return bool(self._analysis.trace.recording.fact("recording", "benchmark"))

    @property
    def is_kept(self) -> bool:
        """Whether it was recorded with `--keep slow`."""
        return self._analysis.trace.recording.text("recording", "keep") == "slow"

    @cached_property
    def _kept(self) -> KeptRun:
        """Steps of the whole run, from this recording and its further files."""
        from perfprobe.analyse.kept.joined import joined, losses_of
        from perfprobe.tables.kept import KeptPart
        from perfprobe.tables.storage import rotated

        files = [self, *(self._others or [Results(path) for path in rotated(self._path)])]
        found = [(file._path, file._analysis.find((KeptPart,))) for file in files]
        parts = [part for _, each in found if (part := each.get(KeptPart)) is not None]
        return joined(parts, [loss for path, each in found for loss in losses_of(path, each)])

    def _screen(self, view: View) -> Findings:
        """The findings for the first screen, independent of the view."""
        from perfprobe.report.section.screen.screen import KINDS, STEP_KINDS, has_steps

        plain = View(source=view.source)
        found = self.findings(plain, KINDS)
        return self.findings(plain, (*KINDS, *STEP_KINDS)) if has_steps(found) else found

    def calls_text(self, asked: str, view: View, *, width: int = 200, color: bool = False) -> str:
        """The call stacks of one operator, as text.

        Args:
            asked: the operator: `aten::div`, `aten::div.Tensor` or `div`.

        Raises:
            InputError: no stacks were recorded.
            UsageError: there is no operator of this name.
        """
        from perfprobe.report.render import text
        from perfprobe.report.rows.choice import Choice
        from perfprobe.report.section.call_stacks import stacks_of
        from perfprobe.tables.python import Calling

        found = self.findings(view, (Calling,))
        return text.page(stacks_of(found, asked, Choice(view.top)), width=width, color=color)

    def calls_document(self, asked: str, view: View) -> dict[str, Any]:
        """Returns the call stacks as a document, ready for json.dumps."""
        from perfprobe.report.rows.choice import Choice
        from perfprobe.report.section.call_stacks import stacks_document
        from perfprobe.tables.python import Calling

        return stacks_document(self.findings(view, (Calling,)), asked, Choice(view.top))

    def draw(self, output: str, view: GraphView) -> None:
        """Draw the call graph.

        Args:
            output: the file to write. Its ending, one of `support.graph_view.PICTURES`, is the format.

        Raises:
            InputError: the recording has nothing with this weight.
            UsageError: a pattern of the view matches nothing, or it leaves nothing to draw.
            EnvironmentLack: the file cannot be written, or `dot` is missing: then its input was written.
        """
        from perfprobe.report.picture.callgraph.drawing import drawing
        from perfprobe.report.picture.callgraph.render import render

        render(drawing(*self.graph(view), view), output)

    def graph(self, view: GraphView) -> tuple[Findings, CallGraph]:
        """The call graph, and the findings it is made of. Raises InputError if nothing has this weight."""
        from perfprobe.analyse.callgraph import call_graph
        from perfprobe.tables.python import Calling

        found = self.findings(View(), (Calling, self._analysis.spent(view.by)))
        return found, call_graph(found, view.by, unfolded=view.unfolded)

    def plot(self, output: str) -> None:
        """Draw steps and their phases; of a run with --keep slow how long steps took over time.

        output: its ending is the format: .png, .svg or .pdf.

        Raises:
            InputError: no steps were found.
            EnvironmentLack: the file cannot be written, or matplotlib is missing.
        """
        from perfprobe.report.picture import course, steps
        from perfprobe.tables.kept import KeptRun
        from perfprobe.tables.steps import StepTimes

        if self.is_kept:
            course.draw(self.findings(View(), (KeptRun,)), output)
            return
        steps.draw(self.findings(View(), (StepTimes,)), output)

    def plot_memory(self, output: str) -> None:
        """Draw held memory over time. output: its ending is the format: .png, .svg or .pdf.

        Raises:
            InputError: no memory was recorded.
            EnvironmentLack: the file cannot be written, or matplotlib is missing.
        """
        from perfprobe.report.picture import memory
        from perfprobe.tables.memory import MemoryUse
        from perfprobe.tables.steps import StepTimes

        memory.draw(self.findings(View(), (StepTimes, MemoryUse)), output)

    def threads_text(self, *, width: int = 200, color: bool = False) -> str:
        """The section about threads, or what must be recorded for it."""
        return self.text(View(view="threads"), width=width, color=color)

    def threads_document(self) -> dict[str, Any]:
        """The tables about threads, for JSON."""
        found = self.document(View())
        names = ("processors", "thread_times", "processor_windows", "thread_problems", "utilisation")
        tables = {
            name: found["tables"][name] for name in (*names, "operator_teams") if name in found["tables"]
        }
        return {**found, "tables": tables}

    def plot_threads(self, output: str) -> None:
        """Draw active threads over time. output: its ending is the format: .png, .svg or .pdf.

        Raises:
            InputError: threads were not read.
            EnvironmentLack: the file cannot be written, or matplotlib is missing.
        """
        from perfprobe.report.picture import threads
        from perfprobe.tables.processors import Processors
        from perfprobe.tables.teams import Teams

        threads.draw(self.findings(View(), (Teams, Processors)), output)

    def export(self, form: str, times: str | None, steps: str | None = None, by: str = "time") -> Exported:
        """A file for other tools.

        Args:
            form: the module of `perfprobe.report.export` that makes it.
            times: the source of Python functions' times: "cprofile", "samples", or None for the best one.
            steps: for a trace, which steps to write, `A:B`; None for the whole recording.
            by: for stacks with times: "time" of the steps, or "run" for the whole run.

        Raises:
            InputError: what the form needs was not recorded.
            UsageError: those times were not recorded, or there are no such steps.
        """
        module = importlib.import_module(f"perfprobe.report.export.{form}")
        spent = (self._analysis.spent(by),) if form in ("collapsed", "speedscope") else ()
        found = self.findings(View(), (*module.KINDS, *spent))
        made: Exported = module.exported(found, steps if form == "chrome" else times)
        if not found.whole:
            made.notes.append("the recording is incomplete: `perfprobe report` says why")
        return made

    @cached_property
    def _files_beside(self) -> tuple[object, ...]:
        """Findings from other files: measurements, children, and losses there."""
        from perfprobe.merge.children import lost_children
        from perfprobe.merge.measured import measurements
        from perfprobe.tables.children import children

        recording = self._analysis.trace.recording
        if recording.is_profile:
            return ()
        found, lost = measurements(recording)
        started = children(recording)
        return found, started, *lost, *lost_children(started)

    @cached_property
    def _ranks(self) -> Ranks:
        """The comparison of the recordings of all ranks."""
        from perfprobe.analyse.ranks.compare import compared
        from perfprobe.support.errors import InputError
        from perfprobe.tables.ranks import RankParts
        from perfprobe.tables.steps import StepTimes

        opened = [self, *self._others]
        for results in opened:
            if results._is_profile:
                remedy = "name recordings, or traces of torch.profiler"
                raise InputError("a profile of cProfile does not have ranks", results._path, remedy)
        return compared([results.findings(View(), (RankParts, StepTimes)) for results in opened])

    @property
    def _rank(self) -> tuple[int | None, int | None]:
        recording = self._analysis.trace.recording
        return recording.rank_fact("rank"), recording.rank_fact("world_size")

    @cached_property
    def _feeding(self) -> tuple[object, ...]:
        """What child processes did and how long this process waited for them, and losses of that."""
        from perfprobe.analyse.feeding import feeding
        from perfprobe.analyse.teams.workers import worker_teams
        from perfprobe.analyse.worker_samples import parts_of
        from perfprobe.merge import link
        from perfprobe.support.errors import InputError
        from perfprobe.tables import children
        from perfprobe.tables.events import Losses
        from perfprobe.tables.workers import LoaderWaits

        trace, parts, of_workers = self._analysis.trace, {}, []
        try:
            workers = children.sums(trace.recording)
            for process, path in children.detailed_workers(trace.recording, workers):
                of_worker = link(self._child_recordings.open(path))
                parts[process] = parts_of(of_worker)
                of_workers.append((process, of_worker, parts[process].lines_ns))
        except InputError as error:
            return (Losses.one("processes", f"{error.what}: {error.where}", 1, error.remedy),)
        waits = self._analysis.find((LoaderWaits,)).get(LoaderWaits) if len(workers) else None
        return feeding(trace, workers, waits, parts), worker_teams(of_workers)


def several(paths: Sequence[str], largest_bytes: int | None = None) -> Iterator[Results]:
    """Opens recordings one by one. If they are ranks of one run, each is compared with the others."""
    opened = [Results(path, (), largest_bytes) for path in paths]
    if not _are_ranks(opened):
        return (Results(path, (), largest_bytes) for path in paths)  # so that one at a time is in memory
    for each in opened:
        each._others = [other for other in opened if other is not each]
    return iter(opened)


def _are_ranks(opened: Sequence[Results]) -> bool:
    """Whether these are different ranks of a run, as far as they can be read."""
    from perfprobe.support.errors import InputError

    ranks, sizes = set(), set()
    for results in opened:
        try:
            rank, size = results._rank
        except InputError:  # said when its report is made
            return False
        if rank is None or size is None:
            return False
        ranks.add(rank)
        sizes.add(size)
    return len(ranks) == len(opened) > 1 == len(sizes)


def _read(path: str, *largest_bytes: int) -> Recording:
    from perfprobe.read import kineto, pstats
    from perfprobe.tables import storage

    file = storage.opened(path)
    if pstats.is_pstats(file):
        return pstats.read(file)
    return kineto.read(file, *largest_bytes) if kineto.is_file(file) else storage.read(file)
