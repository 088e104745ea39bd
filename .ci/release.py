"""The steps of a release: source, wheels, tests of both in clean environments, and the notes.

    python .ci/release.py date [YYYY-MM-DD]      begin the version's section in CHANGELOG.md
    python .ci/release.py check [--tag vX.Y.Z]   the version, its dated section, and the tag agree
    python .ci/release.py source                 dist/perfprobe-X.Y.Z.tar.gz
    python .ci/release.py notes [--rehearsal]    dist/notes.md, from that section and the files in dist

The version is `__version__` in perfprobe/__init__.py, and nowhere else. A rehearsal uses the section
Unreleased. `make release` runs all steps in order.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNRELEASED = "## [Unreleased]"
_HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\S+))?$", re.MULTILINE)
_NEXT = re.compile(r"^## ", re.MULTILINE)


def version(root: Path = ROOT) -> str:
    """The version to release."""
    text = (root / "perfprobe" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("perfprobe/__init__.py has no __version__")
    return found[1]


def section(changelog: str, name: str) -> tuple[str | None, str]:
    """Date and text of a version's section. Raises SystemExit if there is none."""
    for heading in _HEADING.finditer(changelog):
        if heading[1] == name:
            end = _NEXT.search(changelog, heading.end())
            return heading[2], changelog[heading.end() : end.start() if end else None].strip()
    raise SystemExit(f"CHANGELOG.md has no section [{name}]: `python .ci/release.py date` adds it")


def dated(changelog: str, name: str, day: str) -> str:
    """The changelog with the entries of Unreleased moved to a section for this version."""
    datetime.date.fromisoformat(day)
    if any(heading[1] == name for heading in _HEADING.finditer(changelog)):
        raise SystemExit(f"CHANGELOG.md has a section [{name}] already: raise __version__ first")
    if not section(changelog, "Unreleased")[1]:
        raise SystemExit("the section Unreleased of CHANGELOG.md is empty")
    return changelog.replace(UNRELEASED, f"{UNRELEASED}\n\n## [{name}] - {day}", 1)


def check(changelog: str, name: str, tag: str | None) -> str:
    """The text of the version's section. Raises SystemExit if anything disagrees."""
    if tag is not None and tag != f"v{name}":
        raise SystemExit(f"the tag is {tag}, but perfprobe/__init__.py has version {name}")
    day, text = section(changelog, name)
    try:
        datetime.date.fromisoformat(day or "")
    except ValueError:
        raise SystemExit(f"the section [{name}] of CHANGELOG.md has no date: [{name}] - YYYY-MM-DD") from None
    if not text:
        raise SystemExit(f"the section [{name}] of CHANGELOG.md is empty")
    return text


def notes(text: str, name: str, folder: Path) -> str:
    """Markdown: what is new, how to install it, and the checksums of the files in the folder."""
    files = [path for path in sorted(folder.glob("perfprobe-*")) if path.is_file()]
    if not files:
        raise SystemExit(f"nothing was built in {folder}")
    sums = "\n".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files)
    install = (
        "    pip install './FILE[all]'   # FILE is one from below: the wheel for your Python, or the source"
    )
    return f"# perfprobe {name}\n\n{install}\n\n{text}\n\n## SHA-256\n\n```\n{sums}\n```\n"


def source(folder: Path) -> Path:
    """Builds the source distribution."""
    from scikit_build_core.build import build_sdist

    folder.mkdir(exist_ok=True)
    return folder / build_sdist(str(folder))


def main() -> int:
    """Run one of the four steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("date", "check", "source", "notes"))
    parser.add_argument("day", nargs="?", default=datetime.date.today().isoformat())
    parser.add_argument("--tag", help="the tag that the release is made from")
    parser.add_argument("--rehearsal", action="store_true", help="use the section Unreleased")
    given = parser.parse_args()
    name, changelog, dist = version(), ROOT / "CHANGELOG.md", ROOT / "dist"
    text = changelog.read_text(encoding="utf-8")
    if given.step == "date":
        changelog.write_text(dated(text, name, given.day), encoding="utf-8")
    elif given.step == "source":
        print(f"built {source(dist)}")
    else:
        said = section(text, "Unreleased")[1] if given.rehearsal else check(text, name, given.tag)
        if given.step == "notes":
            (dist / "notes.md").write_text(notes(said, name, dist), encoding="utf-8")
            print(f"wrote {dist / 'notes.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
