"""Records in this process: starts and stops the collectors of one recording."""

from __future__ import annotations

import atexit
import os
import sys
from os import getpid
from time import thread_time_ns

from perfprobe import __version__, native
from perfprobe.collect import host
from perfprobe.collect.base import Facts, Stderr
from perfprobe.collect.cells import CellCollector
from perfprobe.collect.children import Children, follow_children
from perfprobe.collect.compilations import CompilationCollector
from perfprobe.collect.counters import CounterCollector
from perfprobe.collect.cprofile import CallCounter
from perfprobe.collect.destination import create
from perfprobe.collect.device_memory import DeviceMemoryCollector
from perfprobe.collect.emit import folders
from perfprobe.collect.family import Family
from perfprobe.collect.garbage import GarbageCollections
from perfprobe.collect.git import head
from perfprobe.collect.gpu import GpuCollector
from perfprobe.collect.held_signals import undisturbed
from perfprobe.collect.instructions import InstructionCollector
from perfprobe.collect.live_steps import StepFinder
from perfprobe.collect.modes import ModeCollector
from perfprobe.collect.operators import OperatorCollector
from perfprobe.collect.options import Options
from perfprobe.collect.processors import ProcessorWaits
from perfprobe.collect.ranges import RangeCollector
from perfprobe.collect.rank import RankCollector
from perfprobe.collect.sampling import SamplerCollector
from perfprobe.collect.shadowed import give_back
from perfprobe.support.errors import UsageError
from perfprobe.support.masking.words import masked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from perfprobe.collect.base import Collector

_SHARED = ("host", "environment", "versions", "git", "rank", "nvidia", "roots")  # the same in forked children

# Runs in a spawned child before anything else, and leaves nothing behind except the started recording.
_CHILD = """
import sys
before = sys.path[:]
loaded = list(sys.modules)
sys.path[:] = [entry for entry in before if isinstance(entry, str) and entry[:1] == "/"] + [{home!r}]
try:
    from perfprobe.session import record_child
    record_child({settings!r}, loaded)
except Exception as error:
    why = "".join(letter if letter.isprintable() else " " for letter in str(error))
    sys.stderr.write("perfprobe: this child process is not recorded: %s\\n" % why)
except BaseException as error:
    raise error.with_traceback(None)
finally:
    sys.path[:] = before
"""


class Session:
    """One recording being made in this process; there is never more than one at a time.

    Args:
        program: the meta value `program`, without entries about the process.
        folder: the program's folder, None if it was removed.
        tell: prints a line that cannot wait for the report.
        follow: whether child processes of `multiprocessing` are recorded too.
        begun_cpu_ns: CPU time of this thread when perfprobe began, if that was before `start`.
        family: for a child that `multiprocessing` started, the family it belongs to.
    """

    # By process, so that a forked child has no session. `setdefault` is atomic and takes no lock that a fork
    # could leave held.
    _active: dict[int, Session] = {}  # noqa: RUF012 (shared on purpose)

    def __init__(
        self,
        program: dict[str, Any],
        folder: str | None,
        options: Options,
        *,
        tell: Callable[[str], None],
        follow: bool = False,
        begun_cpu_ns: int | None = None,
        family: Family | None = None,
    ) -> None:
        self._program = program
        self._folder = folder
        self._options = options
        self._tell = tell
        self._follow = follow
        self._begun_cpu_ns = begun_cpu_ns
        self._family = family
        self._unstarted = iter((True,))
        self._stopping = False
        self.path = ""  # until it is started
        self._collectors: list[Collector] = []

    @undisturbed
    def start(self, path: str, *, named: bool) -> None:
        """Create the recording and start the collectors.

        Args:
            path: absolute path of the recording.
            named: whether the user chose the path. Otherwise, if it exists, another name is used.

        Raises:
            UsageError: a session runs already, or the named file exists.
            EnvironmentLack: the recorder is not built, or the file cannot be written.
        """
        if not next(self._unstarted, False):  # atomic, like `setdefault` below
            raise UsageError("this recording was started before", self.path, "make a new one")
        begun_cpu_ns = thread_time_ns() if self._begun_cpu_ns is None else self._begun_cpu_ns
        running = Session._active.setdefault(getpid(), self)
        if running is not self:
            self._unstarted = iter((True,))
            what = "this process is being recorded already"
            raise UsageError(what, running.path, "end that recording first")
        try:
            recorder, self.path = create(
                native.core().Recorder,
                path,
                self._options.buffer_bytes,
                named=named,
                in_ns=self._options.gpu_links == "exact",
            )
        except BaseException:
            self._unstarted = iter((True,))
            del Session._active[getpid()]
            raise
        if self._options.rotate:
            recorder.rotate_at(self._options.rotate)
        self._facts = Facts(recorder, self._tell)
        self._parents = None if self._family is None else self._family.facts
        self._write_meta()
        self._have_children_follow()
        self._children = Children(self._facts, self._family, _child_setup, self._how_to_follow())
        self._facts.guarded("processes", self._children.start)
        for collector in self._chosen():
            self._start(collector)
        self._facts.extend("cost", start_cpu_ns=thread_time_ns() - begun_cpu_ns)
        # Our own start is not part of the program's time.
        self._facts.guarded("start", lambda: self._facts.extend("start", **host.moment()))

    @undisturbed
    def begin(self) -> None:
        """The program begins now. From here on its calls are counted."""
        for collector in self._collectors:
            self._facts.guarded(collector.name, collector.begin)

    @undisturbed
    def end(self) -> None:
        """The program has ended. Code that runs while its frames are released is still recorded."""
        if active() is self:
            for collector in self._collectors:
                self._facts.guarded(collector.name, collector.pause)

    @undisturbed
    def go_on(self) -> None:
        """Continue to record after `end`."""
        if active() is self:
            for collector in self._collectors:
                self._facts.guarded(collector.name, collector.go_on)

    @undisturbed
    def stop(self, ending: str | None) -> None:
        """End the recording. Has no effect if called again, or in a forked child, which does not record."""
        if active() is not self or self._stopping:
            return
        self._stopping = True
        stopped, begun_cpu_ns = {**host.moment(), "exit": ending}, thread_time_ns()
        try:
            for collector in self._collectors:
                self._facts.guarded(collector.name, collector.stop)
            self._facts.guarded("processes", self._children.stop)
            self._facts.guarded("versions", lambda: self._facts.extend("versions", **host.package_versions()))
            if self._parents is None:
                self._facts.guarded("roots", self._write_roots)
            self._facts.extend("stop", **stopped)
            self._facts.extend("cost", stop_cpu_ns=thread_time_ns() - begun_cpu_ns)
            self._facts.recorder.close()
        finally:
            Session._active.pop(getpid())

    def _chosen(self) -> list[Collector]:
        chosen: list[Collector] = [*self._changing(), ProcessorWaits(self._facts)]
        if self._options.benchmark:
            return [*chosen, StepFinder(self._facts, self._options)]
        chosen += [CompilationCollector(self._facts), ModeCollector(self._facts), RankCollector(self._facts)]
        chosen.append(CellCollector(self._facts))
        chosen += self._for_ranges()
        operators = OperatorCollector(
            self._facts,
            self._options,
            is_forked=self._parents is not None,
            is_worker=self._parents is not None and self._family is not None and self._family.is_worker,
        )
        if self._options.operators == "off":
            self._facts.loss("operators", "switched off with --operators off", 1, "leave that option out")
        else:
            chosen.append(operators)
        if self._options.memory:
            chosen.append(DeviceMemoryCollector(self._facts))
        # Options that need steps exclude other sources of operators, which have no observer to find them.
        if self._options.operators in ("observer", "both") and self._parents is None:
            # Last, so that it is notified of torch last: it switches an observer that must have started.
            chosen.append(StepFinder(self._facts, self._options))
        if self._options.gpu == "off":
            self._facts.meta("gpu", {"lack": "switched off with --gpu off"})
        else:
            of_observer = (operators.hand_on_ids, operators.watch_gpu, operators.profiler_reads_gpu)
            chosen.append(GpuCollector(self._facts, self._options, *of_observer))
        chosen += self._sampler()
        if self._options.python in ("both", "cprofile"):
            chosen += self._call_counter()
        return [*chosen, *self._of_kernel()]

    def _changing(self) -> list[Collector]:
        """What changes the program, and what records the results of that. Forked children inherit both."""
        found: list[Collector] = []
        if self._options.tries and self._parents is None:
            from perfprobe.collect.tries.collector import TryCollector

            found.append(TryCollector(self._facts, self._options.tries))
        if self._options.results and self._parents is None:
            from perfprobe.collect.results import ResultCollector

            found.append(ResultCollector(self._facts))
        return found

    def _sampler(self) -> list[Collector]:
        """The sampler. Leaving it out is a loss: only samples show how many threads work in operators."""
        if self._options.python in ("both", "sample"):
            return [SamplerCollector(self._facts, is_forked=self._parents is not None)]
        if self._options.operators != "off" and not self._options.has_windows:
            reason = f"switched off with --python {self._options.python}: threads in operators are not known"
            self._facts.loss("samples", reason, 1, "--python both or sample")
        return []

    def _of_kernel(self) -> list[Collector]:
        """Collectors that use the kernel's perf."""
        native_code = [InstructionCollector(self._facts)] if self._options.native else []
        return [*native_code, *([CounterCollector(self._facts)] if self._options.counters else [])]

    def _for_ranges(self) -> list[Collector]:
        if self._options.ranges:
            return [RangeCollector(self._facts, is_found=self._parents is not None), GarbageCollections()]
        if self._options.keep == "slow" or self._options.rotate:
            flag = "--keep slow" if self._options.keep == "slow" else "--rotate"
            self._facts.loss("ranges", f"not recorded with {flag}", 1, f"record again without {flag}")
            return [GarbageCollections()]  # their time in each step is summed
        self._facts.loss("ranges", "switched off with --ranges off", 1, "leave that option out")
        return []

    def _call_counter(self) -> list[Collector]:
        if self._options.operators in ("autograd", "both"):
            reason = "calls are not counted: the autograd profiler needs the interpreter's profile hook"
            self._facts.loss("cprofile", reason, 1, "--operators observer leaves it to cProfile")
            return []
        return [CallCounter(self._facts, governed=self._options.python == "both")]

    def _start(self, collector: Collector) -> None:
        missing = collector.available()
        if missing is not None:
            self._facts.loss(collector.name, f"{missing.what}: {missing.where}", 1, missing.remedy)
        elif self._facts.guarded(collector.name, collector.start):
            self._collectors.append(collector)

    def _write_meta(self) -> None:
        facts: dict[str, Callable[[], Any]] = {
            "clock": host.clock,
            "start": host.moment,
            "program": lambda: {**self._shown_program(), "pid": getpid()},
            "recording": self._options.recorded,
            **self._shared_facts(),
        }
        for key, fact in facts.items():
            self._facts.guarded(key, lambda: self._facts.meta(key, fact()))  # noqa: B023 (called at once)
        self._facts.guarded("roots", self._hash_lines)

    def _hash_lines(self) -> None:
        self._facts.recorder.hash_lines(folders(self._facts.known("roots")))

    def _shared_facts(self) -> dict[str, Callable[[], Any]]:
        """Functions for facts that forked children share, so that these need not look them up."""
        parents = self._parents
        if parents is not None:
            return {key: lambda key=key: parents.known(key) or None for key in _SHARED}  # type: ignore[misc]
        return {
            "host": host.host,
            "environment": host.environment,
            "versions": lambda: host.versions(__version__),
            "git": lambda: None if self._folder is None else head(self._folder),
            "rank": host.rank,
            "gpus": host.gpus,
            "nvidia": host.nvidia,
            "roots": lambda: host.code_folders(self._folder),
        }

    def _write_roots(self) -> None:
        begun_ns = self._facts.known("clock").get("realtime_ns")
        temporary = self._facts.known("roots").get("temporary")
        if isinstance(begun_ns, int) and isinstance(temporary, str):
            self._facts.extend("roots", written=host.written_modules(temporary, begun_ns))

    def _shown_program(self) -> dict[str, Any]:
        if not self._options.keep_argv:
            # Kept, so that what children are given holds no secrets either.
            self._program = {**self._program, "argv": masked(self._program["argv"])}
        return self._program

    def _have_children_follow(self) -> None:
        if self._family is None and self._follow and self._options.children:
            settings = {"program": self._program, "folder": self._folder}
            options = self._options.of_child(forked=False)
            self._family = Family({**settings, "options": options}, self._tell)
        if self._family is not None:
            self._family.attach(self._facts, self.path, self._record_forked)

    def _how_to_follow(self) -> str:
        """How to have children recorded that are not: only those of a program run by perfprobe are."""
        left_out = self._options.leaves_out_children
        if self._follow and left_out:
            return f"record again without {left_out}"
        return "run the program under perfprobe: python -m perfprobe script.py"

    def _record_forked(self, path: str, parent: int) -> Callable[[], None]:
        """Begin the recording of a forked child, and return the function that ends it."""
        program = {**self._program, "parent_pid": parent}
        options = Options(**self._options.of_child(forked=True))
        child = Session(program, self._folder, options, tell=self._tell, family=self._family)
        child.start(path, named=False)
        child.begin()
        return lambda: child.stop(None)


def active() -> Session | None:
    """The recording being made in this process."""
    return Session._active.get(getpid())


def gpu_counters() -> dict[str, Any] | None:
    """Returns what GPUs have done so far in the recording that is being made in this process.

    `{"kernels": {"calls", "ns"}, "copies": {"host_to_device": {"calls", "bytes", "ns"}, ...}, "fills": ...}`.
    Work is counted about 0.25 s after it ended. At the end each number is the sum over the rows of the
    recording; ns leaves out rows without times. None if no GPU is recorded, or if nothing is, so that a
    program that calls this runs under plain python too.
    """
    session = active()
    if session is None:
        return None
    counted = (collector.counters() for collector in session._collectors)
    return next((found for found in counted if found is not None), None)


@undisturbed
def record_child(settings: dict[str, Any], loaded: Sequence[str]) -> None:
    """Record this process, a spawned child of a recorded one, into a file of its own, until it ends.

    If there are more children than a limit, only the sums of `collect.family` are recorded.

    Args:
        settings: those of the parent, as `_child_setup` writes them.
        loaded: names of the modules that were loaded before perfprobe.
    """
    tell = Stderr().tell
    family = Family(settings, tell)
    family.enter_spawned()
    atexit.register(family.leave)
    path = family.path_of_detail()
    if path is None:
        follow_children(family, _child_setup, tell)
    else:
        program = {**settings["program"], "parent_pid": family.parent}
        options = Options(**settings["options"])
        session = Session(program, settings["folder"], options, tell=tell, family=family)
        session.start(path, named=False)
        family.end_with(lambda: session.stop(None))
    if settings["folder"] is not None:
        give_back([name for name in sys.modules if name not in loaded], settings["folder"])
    family.begin()
    if path is not None:
        session.begin()


def _child_setup(settings: dict[str, Any]) -> str:
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return _CHILD.format(home=home, settings=settings)
