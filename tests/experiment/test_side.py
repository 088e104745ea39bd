"""A version's environment: the user's packages, but the version's own of what is installed from the tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.experiment.repositories import commit, files, git, new, seen

HERE = str(Path(__file__).parents[2])
# As setuptools writes it for `pip install -e .`, shortened; it is asked after sys.path.
FINDER = """
import sys
from importlib.util import spec_from_file_location
MAPPING = {mapping!r}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            folder = MAPPING[name]
            return spec_from_file_location(
                name, folder + "/__init__.py", submodule_search_locations=[folder])
sys.meta_path.append(Finder)
"""
# As other build tools do: asked before sys.path, and it knows single files.
FIRST = """
import sys
from importlib.util import spec_from_file_location
class Redirecting:
    def __init__(self, known):
        self.known_source_files = known
    def find_spec(self, name, path=None, target=None):
        if name in self.known_source_files:
            return spec_from_file_location(name, self.known_source_files[name])
sys.meta_path.insert(0, Redirecting({known!r}))
"""
PROGRAM = """
import json, sys
import mapped, known, plain, other
print(json.dumps([mapped.__file__, known.__file__, plain.__file__, other.__file__, sys.prefix]))
"""
MAKE = """
import json, os, sys
sys.path.insert(0, {here!r})
from perfprobe.experiment.checkout import repository
from perfprobe.experiment.versions import version
os.chdir({folder!r})
made = version(repository("."), *json.loads({given!r}))
of = made.variant
print(json.dumps([of.python, dict(of.variables), of.folder, of.words]))
"""


class User:
    """A user with a virtual environment inside the working tree, and packages installed from the tree."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.top = folder, folder / "project"
        sources = {
            "src/mapped/__init__.py": "",
            "flat/known.py": "",
            "lib/plain.py": "",
            "sub/run.py": PROGRAM,
        }
        new(self.top, {**sources, ".gitignore": ".venv/\n"})
        self.first = git(self.top, "rev-parse", "HEAD")
        commit(self.top, {"src/mapped/__init__.py": "# second\n"})
        venv.EnvBuilder(symlinks=True, with_pip=False).create(self.top / ".venv")
        self.packages = next((self.top / ".venv").glob("lib/python*/site-packages"))
        mapping = {"mapped": str(self.top / "src/mapped")}
        known = {"known": str(self.top / "flat/known.py")}
        (self.packages / "other.py").write_text("")
        (self.packages / "finder.py").write_text(FINDER.format(mapping=mapping))
        (self.packages / "first.py").write_text(FIRST.format(known=known))
        (self.packages / "editable.pth").write_text(f"import finder\nimport first\n{self.top}/lib\n")
        self.python = str(self.top / ".venv/bin/python")

    def made(self, ref: str, *words: str, **given: object) -> list[str]:
        """Where the packages of a version are, if it runs in a subfolder."""
        arguments = [ref, list(words) or ["run.py"], str(self.folder / ref)]
        text = json.dumps(arguments)
        source = MAKE.format(here=HERE, folder=str(self.top / "sub"), given=text)
        source = source.replace("*json.loads", f"setup={given.get('setup')!r}, links=(), *json.loads")
        out = self.run([self.python, "-B", "-c", source], {})
        python, variables, folder, program = json.loads(out)
        found: list[str] = json.loads(self.run([python, *program], variables, folder))
        return found

    def run(self, command: list[str], variables: dict[str, str], folder: str | None = None) -> str:
        """The output of a process without this test's environment."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **variables}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_packages_of_the_tree_are_those_of_the_version(user: User) -> None:
    plainly = user.run([user.python, "-B", "run.py"], {}, str(user.top / "sub"))
    mapped, known, plain, other, _ = json.loads(plainly)
    assert all(path.startswith(str(user.top)) for path in (mapped, known, plain, other))
    before = seen(user.top)
    for ref in (user.first, "WORK"):
        side = str(user.folder / ref / "project")
        found = user.made(ref)
        assert found[:3] == [path.replace(str(user.top), side) for path in (mapped, known, plain)]
        assert found[3] == other
        assert found[4] == str(user.folder / ref / "environment")
    assert seen(user.top) == before
    assert files(user.folder / user.first / "project")["src/mapped/__init__.py"] == ""


def test_a_script_named_by_its_whole_path_is_that_of_the_version(user: User) -> None:
    assert user.made("main", str(user.top / "sub/run.py"))[0].startswith(str(user.folder / "main"))


def test_the_set_up_runs_in_the_version_and_its_environment(user: User) -> None:
    command = 'python -c \'import sys; open("made", "w").write(sys.prefix)\' && echo plain > ../lib.py'
    before = seen(user.top)
    user.made("main", setup=command)
    made = user.folder / "main/project/made"
    assert made.read_text() == str(user.folder / "main/environment")
    assert seen(user.top) == before


def test_a_set_up_that_fails_is_one_line(user: User) -> None:
    with pytest.raises(
        AssertionError, match=r"InputError: main: the set-up ended with exit code 3: .*no wheel"
    ):
        user.made("main", setup="echo no wheel >&2; exit 3")


def test_the_interpreter_of_these_tests_has_torch_in_a_version(tmp_path: Path) -> None:
    """The packages that are installed here, found from a version."""
    from perfprobe.experiment.side import side_environment

    made = side_environment(str(tmp_path / "top"), str(tmp_path / "side"), str(tmp_path / "environment"))
    ask = (
        "from importlib.util import find_spec as find; print(find('torch').origin, find('perfprobe').origin)"
    )
    environment = {**os.environ, **made.variables}
    here, there = (
        subprocess.run(
            [python, "-c", ask], env=environment, cwd=tmp_path, capture_output=True, check=True
        ).stdout
        for python in (sys.executable, made.python)
    )
    assert here == there
