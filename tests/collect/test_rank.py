"""The rank that a program gives itself, where no launcher has set RANK."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.tables import storage

PROGRAM = """
import sys
import torch.distributed as dist
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("given", [{}, {"RANK": "3", "WORLD_SIZE": "8"}])
def test_the_rank_of_the_process_group_is_known(tmp_path: Path, given: dict[str, str]) -> None:
    """Also after the group was destroyed. What a launcher says comes first: it knows all groups."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    subprocess.run(
        [sys.executable, "-m", "perfprobe", "-q", "-o", "r.perfprobe", "program.py", str(tmp_path / "store")],
        cwd=tmp_path,
        env={**clean, **given},
        check=True,
    )
    (path,) = tmp_path.glob("r*.perfprobe")  # a launcher's rank is part of the name
    recording = storage.read(str(path))
    found = [recording.rank_fact(name) for name in ("rank", "world_size")]
    assert found == ([3, 8] if given else [0, 1])
