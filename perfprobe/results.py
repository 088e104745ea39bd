"""Findings, reports, pictures and exports of a run."""

from __future__ import annotations

import importlib

from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from perfprobe.report.export.exported import Exported
    from perfprobe.report.render.json import Document
    from perfprobe.runs import Run
    from perfprobe.support.graph_view import GraphView
    from perfprobe.tables.callgraph import CallGraph
    from perfprobe.tables.findings import Findings


class Results:
    """A recording, or a profile of cProfile. It is opened when first needed; findings are kept.

    Args: those of `runs.Run`.

    Every method raises InputError if the file cannot be read.
    """

    def __init__(self, path: str, others: Sequence[str] = (), largest_bytes: int | None = None) -> None:
        from perfprobe.runs import Run

        self._run = Run(path, [Run(other, (), largest_bytes) for other in others], largest_bytes)

    @classmethod
    def of(cls, run: Run) -> Results:
        """The results of a run."""
        results = cls(run.path)
        results._run = run
        return results

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
        from perfprobe.tables.source_rule import source_rule

        asked = Asked(view.group, view.focus, work, view.package, view.is_together)
        found = self._run.find(kinds, asked)
        return diagnosed(found.plus(source_rule=source_rule(found.trace.recording, view.source)))

    def text(self, view: View, *, width: int = 200, color: bool = False) -> str:
        """The first screen, or the part of the report that the view requests.

        Args:
            width: columns of text.
            color: whether to add escape sequences for a terminal.
        """
        from perfprobe.report.render import shown

        return shown.text(self.findings, self._run.recording, view, width=width, color=color)

    def document(self, view: View) -> dict[str, Any]:
        """Returns the report as a document, ready for json.dumps."""
        return self.written(view).plain()

    def written(self, view: View) -> Document:
        """Returns the same document, which is written row by row; with `brief` only a part."""
        from perfprobe.report.render import document

        return document.written(self.findings, self._run.recording, view, self._run.path)

    def page(self, view: View) -> Iterator[bytes]:
        """The report as one HTML page, in pieces; `view` chooses the tables and their rows."""
        from perfprobe.report.page.document import pieces

        recording = self._run.recording
        spent = () if recording.is_profile else (self._run.spent(None),)
        return pieces(self.findings, recording, view, spent, self._call_graph)

    def _call_graph(self) -> bytes:
        """The call graph as SVG. Raises what `draw` does."""
        from perfprobe.report.picture.callgraph.render import drawn, require_packages

        require_packages()
        from perfprobe.report.picture.callgraph.drawing import drawing
        from perfprobe.support.graph_view import GraphView

        view = GraphView()
        return drawn(drawing(*self.graph(view), view))

    @property
    def is_kept(self) -> bool:
        """Whether it was recorded with `--keep slow`."""
        return self._run.recording.is_kept

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
        from perfprobe.tables.python import CallStructure

        found = self.findings(view, (CallStructure,))
        return text.page(stacks_of(found, asked, Choice(view.top)), width=width, color=color)

    def calls_document(self, asked: str, view: View) -> dict[str, Any]:
        """Returns the call stacks as a document, ready for json.dumps."""
        from perfprobe.report.rows.choice import Choice
        from perfprobe.report.section.call_stacks import stacks_document
        from perfprobe.tables.python import CallStructure

        return stacks_document(self.findings(view, (CallStructure,)), asked, Choice(view.top))

    def draw(self, output: str, view: GraphView) -> None:
        """Draw the call graph.

        Args:
            output: the file to write. Its ending, one of `support.graph_view.PICTURES`, is the format.

        Raises:
            InputError: the recording has nothing with this weight.
            UsageError: a pattern of the view matches nothing, or it leaves nothing to draw.
            EnvironmentLack: a package is missing, the file cannot be written, or `dot` is missing: then its
                input was written.
        """
        from perfprobe.report.picture.callgraph.render import render, require_packages

        require_packages()
        from perfprobe.report.picture.callgraph.drawing import drawing

        render(drawing(*self.graph(view), view), output)

    def graph(self, view: GraphView) -> tuple[Findings, CallGraph]:
        """The call graph, and the findings it is made of. Raises InputError if nothing has this weight."""
        from perfprobe.analyse.callgraph import call_graph
        from perfprobe.tables.measurements import Measurements
        from perfprobe.tables.python import CallStructure

        found = self.findings(View(), (CallStructure, self._run.spent(view.by), Measurements))
        return found, call_graph(found, view.by, unfolded=view.unfolded, root=view.patterns.get("root"))

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
        from perfprobe.report.export.exported import BY_TIME

        module = importlib.import_module(f"perfprobe.report.export.{form}")
        spent = (self._run.spent(by),) if form in BY_TIME else ()
        found = self.findings(View(), (*module.KINDS, *spent))
        made: Exported = module.exported(found, steps if form == "chrome" else times)
        if not found.whole:
            made.notes.append("the recording is incomplete: `perfprobe report` says why")
        return made


def several(paths: Sequence[str], largest_bytes: int | None = None) -> Iterator[Results]:
    """Opens recordings one by one. If they are ranks of one job, each is compared with the others."""
    from perfprobe import runs

    return map(Results.of, runs.several(paths, largest_bytes))
