"""The build's search for torch: what it accepts, and what it says if a torch cannot be used."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.snapshots import Snapshot, masked

FIND_TORCH = Path(__file__).resolve().parent.parent / "csrc" / "find_torch.py"
NEW_ABI_SYMBOL = b"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD_ABI_SYMBOL = b"_ZN3c105ErrorC1ENS_14SourceLocationESs"


def make_torch(folder: Path, version: str = "2.13.0+cpu", symbol: bytes = NEW_ABI_SYMBOL) -> Path:
    """A folder that looks like an installed torch."""
    torch = folder / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "include" / "ATen").mkdir(parents=True)
    (torch / "version.py").write_text(
        f"__all__ = ['__version__']\n__version__ = '{version}'\ndebug = False\n"
    )
    (torch / "lib" / "libtorch_cpu.so").write_bytes(b"")
    (torch / "lib" / "libc10.so").write_bytes(b"\0junk\0" + symbol + b"\0")
    (torch / "include" / "ATen" / "record_function.h").write_text("")
    return torch


def search(python: str | Path = sys.executable, **environment: str) -> subprocess.CompletedProcess[str]:
    removed = ("PERFPROBE_TORCH_DIR", "VIRTUAL_ENV", "PYTHONPATH")
    inherited = {name: value for name, value in os.environ.items() if name not in removed}
    return subprocess.run(
        [python, FIND_TORCH], capture_output=True, text=True, check=False, env={**inherited, **environment}
    )


@pytest.fixture
def empty_environment(tmp_path: Path) -> Path:
    """The interpreter of a virtual environment without packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    return tmp_path / "venv" / "bin" / "python"


def site_packages(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python3*/site-packages"))


def test_the_installed_torch_is_found_with_its_version_and_abi() -> None:
    torch = pytest.importorskip("torch")
    found = json.loads(search().stdout)
    assert found == {
        "directory": str(Path(torch.__file__).parent),
        "version": str(torch.__version__),
        "cxx11_abi": int(torch.compiled_with_cxx11_abi()),
    }


@pytest.mark.parametrize(("symbol", "abi"), [(NEW_ABI_SYMBOL, 1), (OLD_ABI_SYMBOL, 0)])
def test_the_abi_is_read_from_the_librarys_symbols(tmp_path: Path, symbol: bytes, abi: int) -> None:
    torch = make_torch(tmp_path, symbol=symbol)
    assert json.loads(search(PERFPROBE_TORCH_DIR=str(torch)).stdout)["cxx11_abi"] == abi


def test_torch_is_found_in_an_isolated_build(empty_environment: Path) -> None:
    torch = make_torch(site_packages(empty_environment))
    program = "import runpy, sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; "
    program += f"sys.argv = [{str(FIND_TORCH)!r}]; runpy.run_path({str(FIND_TORCH)!r}, run_name='__main__')"
    hidden = subprocess.run([empty_environment, "-c", program], capture_output=True, text=True, check=False)
    assert json.loads(hidden.stdout)["directory"] == str(torch)


def test_a_build_environment_finds_torch_of_the_active_environment(
    tmp_path: Path, empty_environment: Path
) -> None:
    activated = tmp_path / "activated"
    folder = activated / site_packages(empty_environment).relative_to(empty_environment.parent.parent)
    torch = make_torch(folder)
    found = search(empty_environment, VIRTUAL_ENV=str(activated))
    assert json.loads(found.stdout)["directory"] == str(torch)


def test_missing_torch_gives_a_reason_and_no_error(empty_environment: Path, snapshot: Snapshot) -> None:
    result = search(empty_environment)
    assert result.returncode == 1
    snapshot(result.stderr)


@pytest.mark.parametrize(
    "missing", ["lib/libtorch_cpu.so", "lib/libc10.so", "include/ATen/record_function.h"]
)
def test_an_incomplete_torch_names_what_is_missing(empty_environment: Path, missing: str) -> None:
    (make_torch(site_packages(empty_environment)) / missing).unlink()
    result = search(empty_environment)
    assert result.returncode == 1
    assert result.stderr.endswith(f" has no {missing}\n")


@pytest.mark.parametrize("version", ["2.10.1", "2.16.0a0+git1234567", "3.0.0"])
def test_an_unsupported_torch_is_used_only_if_named(empty_environment: Path, version: str) -> None:
    torch = make_torch(site_packages(empty_environment), version)
    result = search(empty_environment)
    assert result.returncode == 1
    assert f"torch {version} is outside" in result.stderr
    named = search(empty_environment, PERFPROBE_TORCH_DIR=str(torch))
    assert json.loads(named.stdout)["version"] == version


def test_a_named_folder_without_torch_is_an_error(tmp_path: Path, snapshot: Snapshot) -> None:
    result = search(PERFPROBE_TORCH_DIR=str(tmp_path))
    assert result.returncode == 2
    snapshot(masked(result.stderr, folder=tmp_path))
