"""Programs under the autograd profiler behave as without it, and their recordings are readable."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from perfprobe.merge import link
from perfprobe.support import install
from perfprobe.tables import storage
from perfprobe.tables.recording import Recording
from tests.collect.runs import Outcome, finish, start
from tests.collect.test_torch_programs import losses, operator_names
from tests.snapshots import Snapshot, masked

pytestmark = pytest.mark.slow

PROGRAMS = {
    "profilers": """
        import torch
        from torch.profiler import ProfilerActivity, profile, schedule
        x = torch.ones(8, 8, requires_grad=True)
        def step():
            with torch.profiler.record_function("step"):
                (x @ x).relu().sum().backward()
        def counts(averages):
            # Addresses differ, and a profiler with stacks sees the launcher.
            ours = (" at 0x", "perfprobe/", "runpy")
            kept = [e for e in averages if not any(part in e.key for part in ours)]
            print(sorted((e.key, e.count) for e in kept))
        def between():
            for _ in range(50): step()
        between()
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as p:
            for _ in range(5): step()
        counts(p.key_averages())
        between()
        plan = schedule(wait=1, warmup=1, active=2, repeat=2)
        ready = lambda p: counts(p.key_averages())
        with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready) as p:
            for _ in range(9):
                step()
                p.step()
        between()
        with torch.autograd.profiler.profile(with_stack=True) as p:
            for _ in range(5): step()
        counts(p.key_averages())
        between()
        with torch.profiler.record_function("around"):
            with profile(activities=[ProfilerActivity.CPU]) as p:
                step()
            counts(p.key_averages())
        between()
        left_open = torch.profiler.record_function("left open")
        with profile(activities=[ProfilerActivity.CPU]) as p:
            left_open.__enter__()
            step()
        counts(p.key_averages())
        between()
        left_open.__exit__(None, None, None)
        """,
    "forks": """
        import os, sys, torch
        for _ in range(500): torch.ones(4).add(1)
        child = os.fork()
        for _ in range(500): torch.ones(4).add(1)
        if child == 0:
            print("child", torch.autograd._profiler_enabled(), flush=True)
            os._exit(3)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        for number in range(4):
            child = os.fork()
            if child == 0:
                print("written at exit")
                sys.exit(number)
            print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        sys.exit(7)
        """,
    "ranges, hooks and an exception": """
        import os, signal, torch
        @torch.jit.script
        def f(x):
            with torch.autograd.profiler.record_function("inside"):
                return x + 1
        print(f(torch.ones(2)))
        with torch.profiler.record_function("all of it"):
            for _ in range(20000): torch.ones(4).add(1)
        for _ in range(3000): torch.ones(4).mul(1)
        x = torch.ones(4, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t.clone()):
            for _ in range(400):
                y = x * x
                y.register_hook(lambda g: sum([g * 2, g, g * 3, g]))
                y.sum().backward()
        print(x.grad.sum().item())
        try:
            for step in range(10**9):
                torch.ones(4).add(1)
                if step == 3000: os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            print("interrupted")
        for _ in range(2000): torch.ones(4).mul(1)
        raise ValueError("lost")
        """,
}


@pytest.fixture(scope="module", params=PROGRAMS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def outcomes(name: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Outcome, Recording]:
    folder = tmp_path_factory.mktemp(name)
    (folder / "main.py").write_text(dedent(PROGRAMS[name]))
    quiet = {"KINETO_LOG_LEVEL": "99", "OMP_NUM_THREADS": "1"}
    plain = start(["-W", "ignore", "main.py"], folder, quiet)
    words = ["-m", "perfprobe", "-q", "--operators", "both", "-o", "run.perfprobe", "main.py"]
    recorded = start(["-W", "ignore", *words], folder, quiet)
    found = finish(plain), finish(recorded)
    return *found, storage.read(folder / "run.perfprobe")


def test_same_as_under_plain_python(outcomes: tuple[Outcome, Outcome, Recording]) -> None:
    plain, recorded, _ = outcomes
    assert recorded.status == plain.status
    assert recorded.out == plain.out
    assert recorded.err == plain.err
    assert len(recorded.said) == 1


def test_the_recording_is_complete_and_agrees_with_the_program(
    name: str, outcomes: tuple[Outcome, Outcome, Recording]
) -> None:
    recording = outcomes[2]
    assert recording.complete
    found = link(recording).sources
    assert found is not None
    assert found.both > 1000
    assert found.unexplained == 0
    reported = losses(recording)
    guests = [count for reason, count in reported.items() if "the program's own torch.profiler ran" in reason]
    # Five sessions. Between two of one schedule there is one step, in which a window need not have opened.
    assert guests in ([[4], [5]] if name == "profilers" else [[]])
    assert any("stayed open" in reason for reason in reported) == name.startswith("ranges")
    if name == "forks":
        assert operator_names(recording)["aten::add"] == 1000


def test_a_killed_program_leaves_its_finished_windows(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import os, signal, torch\n"
        "for _ in range(6000): torch.ones(2).add(1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    words = ["-m", "perfprobe", "--operators", "autograd", "-o", "run.perfprobe", "main.py"]
    assert finish(start(words, tmp_path)).status == -9
    recording = storage.read(tmp_path / "run.perfprobe")
    assert not recording.complete
    assert 1000 < operator_names(recording)["aten::add"] <= 6_000


def test_the_profiler_replaces_a_missing_observer(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "main.py").write_text(
        "import sys\n"
        "import perfprobe.native as native\n"
        "from perfprobe.support import install\n"
        "from perfprobe.support.errors import EnvironmentLack\n"
        "def observer(torch):\n"
        "    raise EnvironmentLack('operators cannot be recorded', 'not built', install.rebuild())\n"
        "native.observer = observer\n"
        "import torch\n"
        "torch.ones(2).add(1)\n"
    )
    outcome = finish(start(["-m", "perfprobe", "-q", "-o", "run.perfprobe", "main.py"], tmp_path))
    assert (outcome.status, outcome.err) == (0, b"")
    recording = storage.read(tmp_path / "run.perfprobe")
    assert operator_names(recording)["aten::add"] == 1
    snapshot(
        masked("\n".join(outcome.said), remedy=install.rebuild(), folder=tmp_path),
        losses="\n".join(losses(recording)),
    )


def test_a_program_with_its_own_profile_hook_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import sys, perfprobe, torch\n"
        "seen = []\n"
        "def hook(frame, event, value): seen.append(event)\n"
        "sys.setprofile(hook)\n"
        "with perfprobe.profile('run.perfprobe', operators='autograd'):\n"
        "    torch.ones(2).add(1)\n"
        "print(sys.getprofile() is hook)\n"
        "sys.setprofile(None)\n"
        "with perfprobe.profile('second.perfprobe', operators='autograd'):\n"
        "    torch.ones(2).add(1)\n"
        "    sys.setprofile(hook)\n"
        "print(sys.getprofile() is hook)\n"
    )
    outcome = finish(start(["main.py"], tmp_path))
    assert (outcome.status, outcome.out) == (0, b"True\nTrue\n")
    for name in ("run", "second"):
        recording = storage.read(tmp_path / f"{name}.perfprobe")
        assert operator_names(recording)["aten::add"] == 1
        assert any("without lines" in reason for reason in losses(recording))
