"""Programs that tests start import less of torch, unless they ask for all of it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from perfprobe.support import starter
from tests.collect.runs import finish, start
from tests.eager import WHOLE_TORCH

pytest.importorskip("torch")

PROGRAM = """
import gc, sys, torch
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.Adam([weight])
weight.sum().backward()
optimizer.step()
print(torch.Generator().initial_seed() > 0, *{"torch._decomp", "torch._dynamo.config"} & set(sys.modules))
# To print a tensor asks for parts that are left out.
print(torch.ones(2), gc.isenabled(), gc.get_freeze_count() > 100_000)
for use in (
    lambda: torch.cond(True, lambda: 1, lambda: 2, ()),
    lambda: torch.distributions.Normal(0, 1),
):
    try:
        use()
    except NotImplementedError as refused:
        print(refused)
"""


def test_a_program_that_does_not_compile_imports_no_compiler_and_parts_refuse_to_be_used(
    tmp_path: Path,
) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    less, whole = (start(["main.py"], tmp_path, given) for given in ({}, WHOLE_TORCH))
    assert finish(less).out.decode().splitlines() == [
        "True",
        "tensor([1., 1.]) True True",
        "this program has no torch._higher_order_ops.cond: tests/eager.py",
        "this program has no torch.distributions.Normal: tests/eager.py",
    ]
    imported, *others = finish(whole).out.decode().splitlines()
    assert len(imported.split()) == 3
    assert others == ["tensor([1., 1.]) True True"]


def test_perfprobes_own_processes_import_less_of_torch_too() -> None:
    if not Path(sysconfig.get_path("purelib"), "own_processes.pth").exists():
        pytest.skip("`make setup` has not put own_processes.pth into this environment")
    words = [sys.executable, "-c", "import sys, torch; print('torch._decomp' in sys.modules)"]
    environment = starter.environment()
    assert "PYTHONPATH" not in environment
    assert subprocess.check_output(words, env=environment, text=True) == "False\n"
