"""A wheel, built and installed elsewhere, works without the source folder."""

import json
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from perfprobe import __version__
from perfprobe.built import source

pytest.importorskip("scikit_build_core", reason="builds a wheel without pip's isolation")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """\
import sys
import torch
import perfprobe
total = torch.ones(2) / 2
print(total.tolist(), perfprobe.__file__.startswith(sys.prefix))
"""


def call(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )


def make_environment(folder: Path, *, visible: Path) -> Path:
    """The interpreter of a new virtual environment that also sees the packages in `visible`."""
    assert call(sys.executable, "-m", "venv", "--without-pip", folder, folder=ROOT).returncode == 0
    site_packages = next((folder / "lib").glob("python3*/site-packages"))
    (site_packages / "visible.pth").write_text(f"{visible}\n")
    return folder / "bin" / "python"


def pip(*arguments: str | Path, folder: Path) -> None:
    result = call(sys.executable, "-m", "pip", "--quiet", *arguments, folder=folder)
    assert result.returncode == 0, result.stderr


def build_wheel(folder: Path, *settings: str) -> Path:
    given = [f"--config-settings={setting}" for setting in settings]
    pip("wheel", "--no-build-isolation", "--no-deps", *given, "--wheel-dir", folder, ROOT, folder=folder)
    return next(folder.glob("perfprobe-*.whl"))


def compiled_already() -> list[str]:
    """Settings that reuse the objects of `make setup` for this Python, if there are any.

    The tests check what is packed and that it works elsewhere; compiling again would take minutes.
    """
    cache = ROOT / "build" / "editable" / "CMakeCache.txt"
    kept = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read_text(), re.MULTILINE)) if cache.exists() else {}
    if kept.get("Python_EXECUTABLE") != sys.executable:
        return []
    options = [f"cmake.define.{name}={kept[name]}" for name in ("PERFPROBE_WERROR", "PERFPROBE_OBSERVER")]
    return [f"build-dir={cache.parent}", *options]


def install(wheel: Path, python: Path) -> None:
    pip("--python", python, "install", "--no-deps", "--no-index", wheel, folder=wheel.parent)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"), *compiled_already())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel, and this environment's torch, numpy and rich."""
    folder = tmp_path_factory.mktemp("installed")
    python = make_environment(folder / "venv", visible=Path(sysconfig.get_path("purelib")))
    install(wheel, python)
    return python


def test_the_wheel_holds_the_package_and_nothing_of_the_source_tree(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"perfprobe", f"perfprobe-{__version__}.dist-info"}
    assert {
        "perfprobe/py.typed",
        "perfprobe/SKILL.md",
        "perfprobe/_core.pyi",
        "perfprobe/_build.json",
        "perfprobe/libperfprobe_inject.so",
    } <= set(names)
    # All that the compiler reads to build the observer for the user's torch.
    sources = source.files(str(ROOT / "csrc"))
    assert {f"perfprobe/csrc/{name}" for name in [*sources, "find_torch.py"]} <= set(names)


def test_both_spellings_of_the_command_work_elsewhere(installed: Path, tmp_path: Path) -> None:
    script = call(installed.parent / "perfprobe", "--version", folder=tmp_path)
    module = call(installed, "-m", "perfprobe", "--version", folder=tmp_path)
    assert (script.returncode, script.stderr) == (0, "")
    assert script.stdout == module.stdout
    assert __version__ in script.stdout


def test_an_installed_perfprobe_profiles_a_script(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "halves.py").write_text(PROGRAM)
    result = call(installed, "-m", "perfprobe", "halves.py", folder=tmp_path)
    assert (result.returncode, result.stdout) == (0, "[0.5, 0.5] True\n"), result.stderr
    assert "div" in result.stderr
    assert "halves.py:4" in result.stderr
    assert len(list(tmp_path.glob(".perfprobe/halves*.perfprobe"))) == 1


def parts(python: Path, folder: Path, status: int) -> dict[str, dict[str, str]]:
    """The result of `perfprobe doctor` in that environment and folder."""
    result = call(python, "-m", "perfprobe", "doctor", "--json", folder=folder)
    assert result.returncode == status, result.stdout + result.stderr
    return {part["part"]: part for part in json.loads(result.stdout)["parts"]}


def test_doctor_reports_that_the_source_folder_hides_an_installed_perfprobe(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without torch it is told sooner.
    (tmp_path / "fakes").mkdir()
    (tmp_path / "fakes" / "torch.py").write_text(
        "raise ModuleNotFoundError('No module named torch', name='torch')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fakes"))
    elsewhere = parts(installed, tmp_path, 4)
    lacking = {name for name, part in elsewhere.items() if part["state"] == "lack"}
    assert lacking == {"torch", "observer", "trial"}
    found = parts(installed, ROOT, 4)
    assert " the installed" in found["perfprobe"]["why"]
    assert found["recorder"]["remedy"].endswith(f" another folder than {ROOT}")


def test_an_installation_without_compiler_and_torch_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "no-compiler"))
    monkeypatch.delenv("PERFPROBE_OBSERVER", raising=False)
    python = make_environment(tmp_path / "venv", visible=tmp_path)
    install(build_wheel(tmp_path), python)
    (tmp_path / "nothing.py").write_text("print('hello')\n")
    assert call(python, "-m", "perfprobe", "--version", folder=tmp_path).returncode == 0
    result = call(python, "-m", "perfprobe", "nothing.py", folder=tmp_path)
    assert result.returncode == 4
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert "no C++ compiler" in result.stderr
    found = parts(python, tmp_path, 4)
    assert "no C++ compiler" in found["recorder"]["found"]
    assert found["compiler"]["state"] == "lack"
    assert "pip install" in found["recorder"]["remedy"]
