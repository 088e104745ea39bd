from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfprobe import native
from perfprobe.support import install
from perfprobe.support.errors import EnvironmentLack

TORCH = SimpleNamespace(__version__="9.9.9+cpu")
FROM_SOURCE = ["FOLDER"]  # the text says which


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder with damaged files as extension modules, found in place of the real ones."""

    def find(name: str) -> ModuleSpec | None:
        file = tmp_path / f"{name.rpartition('.')[2]}.so"
        if name == "perfprobe":
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(tmp_path)]
            return spec
        return ModuleSpec(name, None, origin=str(file)) if file.exists() else None

    def load(name: str) -> None:
        if find(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        raise ImportError("undefined symbol: _ZN3c10\nand more")

    monkeypatch.setattr(importlib.util, "find_spec", find)
    monkeypatch.setattr(importlib, "import_module", load)
    return tmp_path


def test_a_missing_recorder_has_a_reason_and_a_remedy(installed: Path) -> None:
    (installed / "_build.json").write_text(
        json.dumps({"_core": "no C++ compiler was found", "_observer": None})
    )
    with pytest.raises(EnvironmentLack) as caught:
        native.core()
    assert caught.value.where == "perfprobe._core was not built: no C++ compiler was found"
    assert sys.executable in caught.value.remedy


def test_a_recorder_that_does_not_load_is_reported(installed: Path) -> None:
    (installed / "_core.so").touch()
    with pytest.raises(
        EnvironmentLack, match=r"_core cannot be loaded \(undefined symbol: _ZN3c10 and more\)"
    ):
        native.core()


def test_a_missing_observer_is_reported(installed: Path) -> None:
    with pytest.raises(
        EnvironmentLack, match=r"perfprobe\._observer was not built; build it with `perfprobe build`"
    ):
        native.observer(TORCH)


@pytest.mark.parametrize("stamp", ["", "[]", "{}", '{"torch": 3}', None])
def test_an_observer_without_a_readable_stamp_is_not_loaded(stamp: str | None, installed: Path) -> None:
    (installed / "_observer.so").touch()
    if stamp is not None:
        (installed / "_observer_stamp.json").write_text(stamp)
    with pytest.raises(
        EnvironmentLack, match=r"_observer_stamp.json, which .*; build it with `perfprobe build`"
    ):
        native.observer(TORCH)


def test_an_observer_for_another_torch_is_not_loaded(installed: Path) -> None:
    (installed / "_observer.so").touch()
    (installed / "_observer_stamp.json").write_text('{"torch": "9.9.8+cpu", "cxx11_abi": 1}')
    with pytest.raises(EnvironmentLack, match=r"built for torch 9.9.8\+cpu, this is torch 9.9.9\+cpu"):
        native.observer(TORCH)


def test_an_observer_that_does_not_load_is_reported(installed: Path) -> None:
    (installed / "_observer.so").touch()
    (installed / "_observer_stamp.json").write_text('{"torch": "9.9.9+cpu", "cxx11_abi": 1}')
    with pytest.raises(EnvironmentLack, match="undefined symbol"):
        native.observer(TORCH)


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (None, FROM_SOURCE),
        ("not json", FROM_SOURCE),
        ('{"url": "file:///wheels/perfprobe-0.1.0-py3-none-any.whl"}', FROM_SOURCE),
        ('{"url": "file:///src/with%20space"}', ["/src/with space"]),
        (
            '{"url": "file:///src", "dir_info": {"editable": true}}',
            ["--no-build-isolation", "-e", "/src"],
        ),
    ],
)
def test_the_rebuild_command(
    recorded: str | None, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "perfprobe-0.1.0.dist-info"
    about.mkdir()
    if recorded is not None:
        (about / "direct_url.json").write_text(recorded)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    command = shlex.split(install.rebuild().split("`")[1])
    assert command == [sys.executable, "-m", "pip", "install", "--force-reinstall", "--no-deps", *words]


def test_the_command_that_installs_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about, wheel = tmp_path / "perfprobe-0.1.0.dist-info", tmp_path / "perfprobe-0.1.0-py3-none-any.whl"
    about.mkdir()
    (about / "direct_url.json").write_text(json.dumps({"url": f"file://{wheel}"}))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    begin = [sys.executable, "-m", "pip", "install", "--force-reinstall", "--no-deps"]
    assert shlex.split(install.again().split("`")[1]) == [*begin, "FILE"]
    wheel.touch()
    assert shlex.split(install.again().split("`")[1]) == [*begin, str(wheel)]


def test_no_text_asks_an_index_for_perfprobe() -> None:
    """Nothing of that name is published by us; what others publish under it must not be installed."""
    root = Path(__file__).parents[2]
    folders = [root / name for name in ("perfprobe", "csrc", "docs", ".ci", ".github")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    asked = re.compile(r"""pip3? install[^\n`]*[ '"]perfprobe(?![-/\w])""")
    found = []
    for path in [*files, root / "README.md", root / "CHANGELOG.md", root / "Makefile"]:
        if path.suffix in (".py", ".md", ".yml", ".cpp", ".h", "") and "__pycache__" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [f"{path.name}: {match[0]}" for match in asked.finditer(text)]
    assert found == []
