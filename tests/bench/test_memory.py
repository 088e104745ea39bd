"""How much memory is free."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.bench import memory


def test_free_memory_is_at_most_the_machines_memory() -> None:
    fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    assert 0 < memory.free_bytes() <= int(fields["MemTotal"].split()[0]) * 1024


@pytest.mark.parametrize(("limit", "free"), [("5000", 3000), ("1000", 0)])
def test_a_containers_limit_is_respected(
    limit: str, free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limit").write_text(f"{limit}\n")
    (tmp_path / "used").write_text("2000\n")
    monkeypatch.setattr(memory, "_LIMITS", ((str(tmp_path / "limit"), str(tmp_path / "used")),))
    assert memory.free_bytes() == free


def test_a_container_without_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "limit").write_text("max\n")
    monkeypatch.setattr(memory, "_LIMITS", ((str(tmp_path / "limit"), str(tmp_path / "absent")),))
    assert memory.free_bytes() > 0
