"""The file of ceilings is untrusted. Any content gives either a machine or a plain error."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from perfprobe.bench import ceilings
from perfprobe.bench.ceilings import cache
from perfprobe.support.errors import EnvironmentLack, InputError
from tests.bench.machines import machine


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(cache.path_of("key"))


def test_the_file_is_read_back_and_is_private(path: Path) -> None:
    assert cache.read(str(path), "key") is None
    cache.write(machine(), str(path))
    assert cache.read(str(path), "key") == machine()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == [path.name]


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache.path_of("key").startswith("/home/somebody/.cache/perfprobe/machine-")


def plain() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps({"version": 2, **asdict(machine())}))
    return made


def changed(*place: str | int, value: object) -> str:
    made = plain()
    inner: Any = made
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return json.dumps(made)


HOSTILE = {
    "empty": "",
    "no JSON": "{",
    "deep": "[" * 100_000,
    "not an object": "[1]",
    "another version": changed("version", value=1),
    "no name": changed("name", value=None),
    "long name": changed("name", value="x" * 10_000),
    "bool for number": changed("noise", value=True),
    "nan": changed("noise", value=float("nan")),
    "infinite": changed("ceilings", 0, "rate", "value", value=float("inf")),
    "negative": changed("ceilings", 0, "rate", "value", value=-1.0),
    "no rate": changed("ceilings", 0, "rate", value=3.0),
    "huge threads": changed("ceilings", 0, "threads", value=1 << 80),
    "huge number": changed("seconds", value=10**400),
    "text for rows": changed("ceilings", value="many"),
    "too many rows": changed("missing", value=[["a", "b"]] * 6000),
    "odd pair": changed("levels", value=[["L2"]]),
    "too large": " " * (1 << 20) + "{}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_damaged_file_is_reported_and_not_used(
    text: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(InputError, match="damaged"):
        cache.read(str(path), "key")
    said: list[str] = []
    monkeypatch.setattr(cache, "key", lambda _: "key")
    assert ceilings.cached(tell=said.append) is None
    (line,) = said
    assert "damaged" in line


def test_not_utf_8(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="damaged"):
        cache.read(str(path), "key")


def test_another_machine(path: Path) -> None:
    cache.write(machine(key="other"), str(path))
    with pytest.raises(InputError, match="another machine"):
        cache.read(str(path), "key")


def test_a_pipe_or_a_link_is_refused(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(InputError):
        cache.read(str(path), "key")
    path.unlink()
    (tmp_path / "elsewhere").write_text(json.dumps(plain()))
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError):
        cache.read(str(path), "key")


def test_a_folder_that_cannot_be_created(path: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EnvironmentLack, match="cannot be cached"):
        cache.write(machine(), str(path))


def test_threads_that_were_not_measured(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "key", lambda _: "key")
    cache.write(machine(), str(path))
    assert ceilings.cached(threads=(1, 2)) == machine()
    assert ceilings.cached(threads=(1, 64)) is None


def test_ceilings_of_other_thread_counts_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "key", lambda _: "key")
    monkeypatch.setattr(ceilings, "rows", lambda _: [{"cases": 1, "name": "", "torch": "2"}, of_one_thread()])
    cache.write(machine(), str(path))
    assert {one.threads for one in ceilings.measured(threads=(1,)).ceilings} == {1}
    kept = ceilings.cached(threads=(1, 2))
    assert kept is not None
    assert [one.rate.value for one in kept.ceilings if one.threads == 1] == [7.0]
    assert [one for one in kept.ceilings if one.threads == 2] == [
        one for one in machine().ceilings if one.threads == 2
    ]


def of_one_thread() -> dict[str, Any]:
    key = {"kind": "gemm", "dtype": "f32", "threads": 1, "what": "mm", "mix": "", "footprint_bytes": 0}
    return {**key, "rate": 7.0}


def test_the_key_has_torchs_version_without_importing_it() -> None:
    torch = pytest.importorskip("torch")
    assert cache.torch_version() == torch.__version__
    assert f"torch {torch.__version__}" in cache.key("cpu")
    assert f"{len(os.sched_getaffinity(0))} processors" in cache.key("cpu")
