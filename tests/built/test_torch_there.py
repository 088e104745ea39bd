"""The torch that a program will import is found without importing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.built import torch_there


def package(entry: Path, version: str | None) -> Path:
    """Makes a torch in this entry of sys.path. None: one without a version."""
    folder = entry / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('imported')\n")
    if version is not None:
        (folder / "version.py").write_text(f"import os\n__version__ = '{version}'\ndebug = False\n")
    return folder


def test_the_first_entry_with_a_torch_is_taken(tmp_path: Path) -> None:
    first, second = package(tmp_path / "first", "2.12.1"), package(tmp_path / "second", "2.13.0+cpu")
    found = torch_there.find([str(tmp_path), str(tmp_path / "second"), str(tmp_path / "first")])
    assert found is not None
    assert (found.folder, found.version) == (str(second), "2.13.0+cpu")
    given = torch_there.at(str(first))
    assert given is not None
    assert given.version == "2.12.1"
    assert torch_there.find([str(tmp_path)]) is None
    assert torch_there.at(str(tmp_path)) is None


@pytest.mark.parametrize("hidden_by", ["torch.py", "a package without a version"])
def test_other_modules_named_torch_are_not_taken(tmp_path: Path, hidden_by: str) -> None:
    own = tmp_path / "own"
    if hidden_by == "torch.py":
        own.mkdir()
        (own / "torch.py").write_text("ones = 1\n")
    else:
        package(own, None)
    package(tmp_path / "site", "2.13.0")
    assert torch_there.find([str(own), str(tmp_path / "site")]) is None


def test_the_abi_is_read_from_its_library(tmp_path: Path) -> None:
    folder = package(tmp_path, "2.13.0")
    found = torch_there.at(str(folder))
    assert found is not None
    assert found.cxx11_abi() == 1
    (folder / "lib").mkdir()
    for symbol, abi in (
        (b"_ZN3c105ErrorC2ENSt7__cxx1112basic_stringIcE", 1),
        (b"_ZN3c105ErrorC2ESsS1_", 0),
    ):
        (folder / "lib" / "libc10.so").write_bytes(b"\x7fELF\0" + symbol)
        assert found.cxx11_abi() == abi
