"""The parts of a release: version, dated changelog, notes, wheels by zig, and the workflow."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

import perfprobe
from tests.snapshots import Snapshot, masked

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ROOT / ".github/workflows/release.yml"
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Bread.\n\n## [0.1.0] - 2026-01-02\n\n- Salt.\n"


def script(name: str) -> ModuleType:
    """A module of .ci."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return script("release")


def test_the_version_is_in_one_place(release: ModuleType) -> None:
    assert release.version() == perfprobe.__version__
    assert "version =" not in (ROOT / "pyproject.toml").read_text().partition("[tool")[0].replace(
        "requires-python", ""
    )


def test_a_release_needs_a_dated_section_and_its_tag(release: ModuleType) -> None:
    assert release.check(CHANGELOG, "0.1.0", "v0.1.0") == "- Salt."
    for name, tag, reason in (
        ("0.1.0", "v0.1.1", "the tag is v0.1.1"),
        ("0.2.0", None, r"no section \[0.2.0\]"),
    ):
        with pytest.raises(SystemExit, match=reason):
            release.check(CHANGELOG, name, tag)
    for day in ("", " - soon", " - 2026-13-01"):
        with pytest.raises(SystemExit, match="has no date"):
            release.check(CHANGELOG.replace(" - 2026-01-02", day), "0.1.0", None)


def test_the_unreleased_section_gets_a_date(release: ModuleType) -> None:
    made = release.dated(CHANGELOG, "0.2.0", "2026-02-03")
    assert release.check(made, "0.2.0", None) == "### Added\n\n- Bread."
    assert release.section(made, "Unreleased") == (None, "")
    with pytest.raises(SystemExit, match="already"):
        release.dated(made, "0.2.0", "2026-02-04")
    with pytest.raises(SystemExit, match="is empty"):
        release.dated(made, "0.3.0", "2026-02-04")
    with pytest.raises(ValueError, match="day"):
        release.dated(CHANGELOG, "0.2.0", "2026-02-30")


def test_the_repositorys_own_changelog_can_be_released(release: ModuleType) -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    name = perfprobe.__version__
    if f"[{name}]" not in text:
        text = release.dated(text, name, "2026-01-02")
    assert "### Added" in release.check(text, name, f"v{name}")


def test_notes_have_the_changes_and_checksums(
    release: ModuleType, tmp_path: Path, snapshot: Snapshot
) -> None:
    (tmp_path / "perfprobe-0.1.0.tar.gz").write_bytes(b"source")
    (tmp_path / "notes.md").write_text("old")
    text = release.notes("- Salt.", "0.1.0", tmp_path)
    snapshot(masked(text, sum=hashlib.sha256(b"source").hexdigest()))


def test_the_source_distribution_is_complete(release: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("scikit_build_core")
    words = (
        "import runpy, pathlib, sys; runpy.run_path('.ci/release.py')['source'](pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", words, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.tar.gz")
    assert made.name == f"perfprobe-{perfprobe.__version__}.tar.gz"
    with tarfile.open(made) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"CMakeLists.txt", "csrc/observer_unit.cpp", "perfprobe/__init__.py", "LICENSE", "CHANGELOG.md"}
    assert wanted <= names
    assert not [name for name in names if name.endswith((".so", ".whl", ".perfprobe"))]


def test_unusable_interpreters_are_reported(capsys: pytest.CaptureFixture[str], snapshot: Snapshot) -> None:
    wheel = script("wheel")
    (found,) = wheel.usable(["/nowhere/python3.14", sys.executable])
    assert found == (sys.executable, ".".join(map(str, sys.version_info[:2])))
    snapshot(capsys.readouterr().out)


def test_pull_requests_run_the_gates(tmp_path: Path) -> None:
    """Its commands, with stand-ins for Python and for the gates, which need the whole machine."""
    checks = steps((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8"))
    for name in ("python", ".ci/run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('#!/bin/sh\necho "${0##*/}" "$@"\n')
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "BASE": "abc"}
    said = [
        subprocess.run(
            ["bash", "-euc", step], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for step in checks
    ]
    assert [line.split() for line in said] == [["python", ".ci/commits.py", "abc"], ["run"]]
    assert all((ROOT / name).is_file() for name in (".ci/commits.py", ".ci/run"))


def steps(text: str) -> list[str]:
    """The commands of the workflow."""
    return re.findall(r"^ +run: (.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("tag", ["", f"v{perfprobe.__version__}"])
def test_the_steps_of_the_workflow_run(tag: str, tmp_path: Path) -> None:
    """make only prints what it would do, and a stand-in replaces the program that publishes."""
    publisher = tmp_path / "gh"
    publisher.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    publisher.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "MAKEFLAGS": "n",
        "TAG": tag,
        "REHEARSAL": "" if tag else "yes",
    }
    build, publish = (
        subprocess.run(
            ["bash", "-euc", step], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        for step in steps(WORKFLOW.read_text())
    )
    if tag:
        assert f" check --tag {tag}" in build.stdout
        assert publish.stdout.splitlines()[:3] == ["release", "create", tag]
    else:
        assert "release.py check" not in build.stdout
        assert "notes  --rehearsal" in build.stdout
    order = ["wheel.py --out dist", "release.py source", "try_wheel.py dist/", "release.py notes"]
    places = [build.stdout.index(word) for word in order]
    assert places == sorted(places)
    for name in re.findall(r"\.ci/\w+\.py", build.stdout):
        assert (ROOT / name).is_file()
