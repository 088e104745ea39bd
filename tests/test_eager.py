"""Programs that tests start import less of torch, unless they ask for all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.runs import finish, start
from tests.eager import WHOLE_TORCH

pytest.importorskip("torch")

PROGRAM = """
import sys, torch
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.Adam([weight])
weight.sum().backward()
optimizer.step()
print(torch.Generator().initial_seed() > 0, *{"torch._decomp", "torch._dynamo.config"} & set(sys.modules))
"""


def test_a_program_that_does_not_compile_imports_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    less, whole = (start(["main.py"], tmp_path, given) for given in ({}, WHOLE_TORCH))
    assert finish(less).out == b"True\n"
    assert len(finish(whole).out.split()) == 3
