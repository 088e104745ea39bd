"""An environment for a version: the user's packages, with the version's own code first.

It is a venv that has no packages of its own. A file that Python reads at start-up adds the user's folders of
packages, and moves everything that leads into the user's working tree into the version: entries of sys.path,
and the files that packages installed with `pip install -e` are found by.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

from perfprobe.experiment.git import clean_environment
from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable

_NAME = "_perfprobe_side"
# Run at start-up, in the version's environment, by every Python process there.
_START_UP = """\
import os, site, sys

def moved(path):
    if not path.startswith(TOP + os.sep) and path != TOP:
        return path
    if any(path == kept or path.startswith(kept + os.sep) for kept in KEPT):
        return path
    there = SIDE + path[len(TOP):]
    return there if os.path.exists(there) else path

def moved_within(value):
    if isinstance(value, str):
        return moved(value)
    if isinstance(value, list):
        return [moved_within(each) for each in value]
    return value

for folder in SITES:
    site.addsitedir(folder)
paths = [moved(path) for path in sys.path]
own = [path for path in paths if path == SIDE or path.startswith(SIDE + os.sep)]
own = [path for path in own if not path.startswith(sys.prefix + os.sep)]
sys.path[:] = list(dict.fromkeys([*own, *paths]))
for finder in sys.meta_path:
    kind = finder if isinstance(finder, type) else type(finder)
    for holder in (finder, sys.modules.get(kind.__module__)):
        for found in list(vars(holder).values()) if hasattr(holder, "__dict__") else []:
            if type(found) is dict and found and all(type(key) is str for key in found):
                found.update({key: moved_within(value) for key, value in found.items()})
"""
# The folders of packages of the interpreter that runs perfprobe, asked in a process that nothing has changed.
_ASK = """
import json, os, site, sys
found = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
print(json.dumps([os.path.realpath(path) for path in found if os.path.isdir(path)]))
"""


@frozen
class SideEnvironment:
    """python: its interpreter. variables: what its processes need."""

    python: str
    variables: Mapping[str, str]


def side_environment(top: str, side: str, folder: str) -> SideEnvironment:
    """Makes the environment of a version.

    Args:
        top: the root of the user's working tree.
        side: that of the version.
        folder: a new one, for the environment.

    Raises:
        EnvironmentLack: it cannot be made.
    """
    sites = _sites(os.path.dirname(folder))
    try:
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        raise EnvironmentLack("no environment can be made for a version", str(error)) from error
    packages = next(Path(folder).glob("lib/python*/site-packages"))
    values = {"TOP": top, "SIDE": side, "SITES": sites, "KEPT": [*sites, os.path.realpath(sys.prefix)]}
    given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    (packages / f"{_NAME}.py").write_text(given + _START_UP)
    (packages / f"{_NAME}.pth").write_text(f"import {_NAME}\n")
    python = os.path.join(folder, "bin", "python")
    pip = Path(folder, "bin", "pip")
    pip.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} -m pip "$@"\n')
    pip.chmod(0o700)
    return SideEnvironment(python, _variables(top, side, folder))


def _sites(folder: str) -> list[str]:
    done = subprocess.run([sys.executable, "-B", "-c", _ASK], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise EnvironmentLack("the interpreter does not say where its packages are", sys.executable)
    found: list[str] = json.loads(done.stdout)
    return found


def _variables(top: str, side: str, folder: str) -> dict[str, str]:
    """Nothing is written beside the user's packages, and commands find the version's environment first."""
    path = os.pathsep.join([os.path.join(folder, "bin"), os.environ.get("PATH", os.defpath)])
    found = {"PYTHONDONTWRITEBYTECODE": "1", "VIRTUAL_ENV": folder, "PATH": path}
    given = os.environ.get("PYTHONPATH")
    if given:
        entries = [os.path.realpath(entry) for entry in given.split(os.pathsep) if entry]
        found["PYTHONPATH"] = os.pathsep.join(_moved(entry, top, side) for entry in entries)
    return found


def _moved(path: str, top: str, side: str) -> str:
    return side + path[len(top) :] if path == top or path.startswith(top + os.sep) else path


def set_up(command: str, side: str, environment: SideEnvironment, name: str) -> None:
    """Runs the user's set-up in a version's folder.

    Raises:
        InputError: it failed.
    """
    done = subprocess.run(
        command,
        shell=True,
        cwd=side,
        env=clean_environment() | dict(environment.variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        what = f"{name}: the set-up ended with exit code {done.returncode}"
        raise InputError(what, command, printable(said[-1][:300]) if said else "")
