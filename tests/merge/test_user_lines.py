from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.merge.user_lines import Folders
from perfprobe.tables.python import Origin
from perfprobe.tables.recording import Recording
from tests.build import Program

SITE = "/env/lib/python3.12/site-packages"
ROOTS = {
    "stdlib": ["/usr/lib/python3.12"],
    "site": [SITE, "/usr/lib/python3.12/dist-packages"],
    "torch": f"{SITE}/torch",
    "perfprobe": "/src/perfprobe",
    "script": "/home/me/project",
}
ENGINE = f"{SITE}/torch/autograd/graph.py:841 _engine_run_backward"
CHECKPOINT = f"{SITE}/torch/utils/checkpoint.py:1657 recompute_fn"
MODULE_CALL = f"{SITE}/torch/nn/modules/module.py:1779 Module._wrapped_call_impl"


def recording(folder: Path, roots: dict[str, Any], cwd: str = "/home/me") -> Recording:
    return Program(roots=roots, program={"cwd": cwd}).recording(folder)


@pytest.mark.parametrize(
    ("file", "origin"),
    [
        ("/home/me/project/train.py", Origin.USER),
        ("/elsewhere/models.py", Origin.USER),
        ("train.py", Origin.USER),
        ("project/../project/train.py", Origin.USER),
        ("<stdin>", Origin.USER),
        ("In [3]", Origin.USER),
        ("/tmp/ipykernel_12/345.py", Origin.USER),
        (f"{SITE}/einops/einops.py", Origin.LIBRARY),
        ("/usr/lib/python3.12/dist-packages/yaml/__init__.py", Origin.LIBRARY),
        ("/home/me/project/.venv/lib/python3.12/site-packages/x.py", Origin.LIBRARY),
        ("<string>", Origin.LIBRARY),
        ("/usr/lib/python3.12/threading.py", Origin.STDLIB),
        ("<frozen importlib._bootstrap>", Origin.STDLIB),
        (f"{SITE}/torch/nn/functional.py", Origin.TORCH),
        ("/home/me/project/.venv/lib/python3.12/site-packages/torch/nn/functional.py", Origin.TORCH),
        ("/tmp/torchinductor_me/ab/cabc.py", Origin.TORCH),
        ("<eval_with_key>.3", Origin.TORCH),
        (f"{SITE}/torchvision/models/resnet.py", Origin.LIBRARY),
        ("/src/perfprobe/collect/runner.py", Origin.PERFPROBE),
        ("/src/perfprobe_demo/train.py", Origin.USER),
    ],
)
def test_files_belong_to_the_user_or_a_library(tmp_path: Path, file: str, origin: Origin) -> None:
    assert Folders(recording(tmp_path, ROOTS)).origin(file) is origin


def test_without_known_folders_names_of_folders_decide(tmp_path: Path) -> None:
    folders = Folders(Program().recording(tmp_path))
    assert folders.origin("/a/site-packages/torch/x.py") is Origin.TORCH
    assert folders.origin("/a/site-packages/x.py") is Origin.LIBRARY
    assert folders.origin("/a/x.py") is Origin.USER


@pytest.mark.parametrize(
    ("script", "file", "origin"),
    [
        (f"{SITE}/trainer", f"{SITE}/trainer/loop.py", Origin.USER),
        (f"{SITE}/trainer/__main__.py", f"{SITE}/trainer/loop.py", Origin.USER),
        (f"{SITE}/torch/distributed", f"{SITE}/torch/distributed/run.py", Origin.TORCH),
        ("/env/bin", f"{SITE}/einops/einops.py", Origin.LIBRARY),
        ("/", f"{SITE}/einops/einops.py", Origin.LIBRARY),
    ],
)
def test_files_in_the_programs_folder_are_the_users(
    tmp_path: Path, script: str, file: str, origin: Origin
) -> None:
    assert Folders(recording(tmp_path, {**ROOTS, "script": script})).origin(file) is origin


def test_generated_python_files_belong_to_a_library(tmp_path: Path) -> None:
    roots = {**ROOTS, "script": "/tmp", "written": ["/tmp/gat_propagate_x1.py"]}
    folders = Folders(recording(tmp_path, roots))
    assert folders.origin("/tmp/gat_propagate_x1.py") is Origin.LIBRARY
    assert folders.origin("/tmp/train.py") is Origin.USER


def test_hostile_roots_cause_no_error(tmp_path: Path) -> None:
    odd = recording(tmp_path, {"site": 3, "torch": [None, {}, "/t"], "stdlib": "", "script": [[]]})
    assert Folders(odd).origin("/t/x.py") is Origin.TORCH


def shown(folder: Path, *stacks: list[str]) -> list[str]:
    """The user line of each stack, "-" for none."""
    program = Program(roots=ROOTS)
    ids = [program.stack(*stack) for stack in stacks]
    trace = link(program.recording(folder))
    lines = [trace.line(int(trace.sites.frame[stack])) for stack in ids]
    return [f"{line.file}:{line.line} {line.function}" if line else "-" for line in lines]


def test_the_user_line_is_the_innermost_line_of_the_user(tmp_path: Path) -> None:
    user, library = "/home/me/project/a.py:5 f", f"{SITE}/einops/e.py:6 g"
    stdlib, torch = "/usr/lib/python3.12/functools.py:7 h", f"{SITE}/torch/x.py:8 t"
    ours = "/src/perfprobe/collect/runner.py:9 run"
    assert shown(
        tmp_path,
        [ours, "/home/me/project/a.py:1 main", user, library, torch],
        [stdlib, library, stdlib, torch],
        [ours, stdlib, torch],
        [ours, torch],
        [ours],
        [torch, f"{SITE}/torch/y.py:9 innermost"],
    ) == [user, library, stdlib, torch, ours, f"{SITE}/torch/y.py:9 innermost"]


def test_lines_inside_the_engine_are_below_its_innermost_call(tmp_path: Path) -> None:
    program = Program(roots=ROOTS)
    main, hook, torch = "/p/a.py:1 main", "/p/a.py:2 hook", f"{SITE}/torch/x.py:8 t"
    outside = program.stack(main, ENGINE, torch)
    inside = program.stack(main, ENGINE, hook, torch)
    again = program.stack(main, ENGINE, hook, ENGINE)
    worker = program.stack(hook, torch)
    library = program.stack(main, ENGINE, f"{SITE}/einops/e.py:6 g")
    trace = link(program.recording(tmp_path))
    found = [trace.line(int(trace.sites.inside_frame[s])) for s in (outside, inside, again, worker, library)]
    assert [line and line.line for line in found] == [None, 2, None, 2, None]
    assert [trace.line(int(trace.sites.frame[s])).line for s in (outside, inside)] == [1, 2]  # type: ignore[union-attr]


def test_equal_lines_are_merged(tmp_path: Path) -> None:
    program = Program()
    first = program.stack("a.py:1 f")
    again = program.row(
        "frames", program.string("a.py"), program.string("f"), 99, 1
    )  # a new code object of the same code
    program.row("stacks", -1, again, -1)
    trace = link(program.recording(tmp_path))
    assert trace.sites.frame.tolist() == [first, first]


def test_modules_of_stacks(tmp_path: Path) -> None:
    program = Program(roots=ROOTS)
    net = program.module("", "Net")
    attn = program.module("attn", "Attention", net)
    main, call = "/p/a.py:1 main", MODULE_CALL
    forward = program.stack(main, (call, net), "/p/a.py:2 forward", (call, attn), f"{SITE}/torch/x.py:8 t")
    backward = program.stack(main, (call, net), (ENGINE, net), f"{SITE}/torch/x.py:8 t")
    again = program.stack(main, (call, net), (ENGINE, net), (call, attn), f"{SITE}/torch/x.py:8 t")
    trace = link(program.recording(tmp_path))
    assert [trace.module(int(trace.sites.module[s])) for s in (forward, backward)] == ["attn", "Net"]
    inside = [trace.module(int(trace.sites.inside_module[s])) for s in (forward, backward, again)]
    assert inside == ["attn", None, "attn"]


def test_checkpoints_and_modules_inside_the_engine_are_recomputation(tmp_path: Path) -> None:
    program = Program(roots=ROOTS)
    main, part, torch = "/p/a.py:1 main", "/p/a.py:2 part", f"{SITE}/torch/x.py:8 t"
    net = program.module("", "Net")
    recomputed = {
        program.stack(main, ENGINE, CHECKPOINT, part, torch): True,
        program.stack(main, ENGINE, CHECKPOINT): True,
        program.stack(CHECKPOINT, part): True,  # on a thread of the engine
        program.stack(main, ENGINE, (MODULE_CALL, net), part): True,
        program.stack(main, ENGINE, CHECKPOINT, part, ENGINE): False,  # backward inside the recomputation
        program.stack(main, ENGINE, CHECKPOINT, ENGINE, part): False,
        program.stack(main, CHECKPOINT, (MODULE_CALL, net), (ENGINE, net), part): False,
        program.stack(main, ENGINE, part): False,
        program.stack(main, ENGINE): False,
    }
    trace = link(program.recording(tmp_path))
    assert {stack: bool(trace.sites.is_recompute[stack]) for stack in recomputed} == recomputed


def test_code_called_by_torchs_loader_is_data_loading(tmp_path: Path) -> None:
    program = Program(roots=ROOTS)
    main, item = "/p/a.py:1 main", "/p/a.py:2 item"
    net = program.module("", "Resize")
    fetch = f"{SITE}/torch/utils/data/_utils/fetch.py:52 _MapDatasetFetcher.fetch"
    loaded = {
        program.stack(main, fetch, item): True,
        program.stack(main, fetch, item, (MODULE_CALL, net), item): True,
        program.stack(main, fetch): True,
        program.stack(main, item): False,
        program.stack(main, "/p/torch/utils/data/own.py:3 fetch", item): False,
    }
    recording = program.recording(tmp_path)
    trace = link(recording)
    assert {stack: bool(trace.sites.is_data[stack]) for stack in loaded} == loaded
