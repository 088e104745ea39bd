"""Generated pages are up to date, and texts about the code name everything that exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import architecture, pages
from perfprobe.words import COLUMNS

ROOT = Path(__file__).resolve().parent.parent
FOR_DEVELOPERS = ("AGENTS.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
# Tables with the columns of another one that is in a guide.
ALIKE = ["paddle.userdefined"]
STALE = f"run `{pages.COMMAND}` and commit what it writes"

# How an environment variable or a build setting is read.
_READ = re.compile(
    r"""(?:environ(?:\.get\(|\[)|getenv\(|environment\(|number_of\()\s*"(PERFPROBE_\w+)"
    | (?:option|set|find_path)\((PERFPROBE_\w+)(?=\s+["A-Z]|[ ]AUTO|[ ]cupti)
    | ^(?:export[ ])?(PERFPROBE_\w+)[ ]\?=
    | \$\{(PERFPROBE_\w+):-
    """,
    re.VERBOSE | re.MULTILINE,
)


@pytest.mark.parametrize("name", sorted(pages.pages()))
def test_generated_pages_are_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == pages.pages()[name], STALE


def test_each_made_part_of_a_page_has_both_marks() -> None:
    for path in [ROOT / "README.md", ROOT / "perfprobe/SKILL.md", *(ROOT / "docs").glob("*.md")]:
        marks = re.findall(r"^<!-- (made|end)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert marks == ["made", "end"] * (len(marks) // 2), path.name


def test_the_columns_of_each_section_are_in_a_guide() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    shown = re.findall("<!-- made: words column: (.*) -->", text)
    assert sorted(set(COLUMNS) - set(shown)) == ALIKE


def test_the_picture_shows_the_present_imports() -> None:
    text = architecture.dot_text()
    assert (ROOT / "docs/architecture.dot").read_text(encoding="utf-8") == text, STALE
    assert architecture.svg_mark(text) in (ROOT / "docs/architecture.svg").read_text(encoding="utf-8"), STALE


def test_the_picture_shows_exactly_the_direct_and_late_imports(tmp_path: Path) -> None:
    sources = {
        "perfprobe/top.py": "import perfprobe.low\ndef f():\n    from perfprobe.mid import x\n",
        "perfprobe/mid/one.py": "from perfprobe import low\nfrom perfprobe.mid.two import y\n",
        "perfprobe/typed.py": "if TYPE_CHECKING:\n    from perfprobe.top import z\n",
        "csrc/b/one.cpp": '#include "a/one.h"\n#include <b/c.h>\n',
        "csrc/a/one.h": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = set(re.findall(r"^  (\".*->.*);$", architecture.dot_text(tmp_path), re.MULTILINE))
    assert found == {
        '"top" -> "mid" [style=dashed]',
        '"mid" -> "low"',  # the arrow from top to low follows from others
        '"csrc/b" -> "csrc/a"',
        '"native" -> "csrc/bindings"',
    }


def read_variables() -> Iterator[str]:
    for folder in ("perfprobe", "csrc", "tests", "benchmarks", ".ci", "Makefile", "CMakeLists.txt"):
        place = ROOT / folder
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and path.suffix in (".py", ".cpp", ".h", ".cu", ".txt", ""):
                for groups in _READ.findall(path.read_text(encoding="utf-8", errors="replace")):
                    yield next(filter(None, groups))


def test_every_environment_variable_is_explained() -> None:
    found = set(read_variables())
    assert {"PERFPROBE_CUPTI", "PERFPROBE_OBSERVER", "PERFPROBE_SANITIZE", "PERFPROBE_TRACES"} <= found
    reported = set(re.findall(r"`(PERFPROBE_\w+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert sorted(found - reported) == [], "to be explained in CONTRIBUTING.md"
    assert sorted(reported - found) == [], "explained in CONTRIBUTING.md, and read nowhere"


@pytest.mark.parametrize("name", FOR_DEVELOPERS)
def test_every_named_file_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    there = {str(path.relative_to(ROOT)) for folder in ("perfprobe", "csrc", "tests", "docs", "benchmarks")
             for path in (ROOT / folder).rglob("*")}  # fmt: skip
    named = [
        word
        for word in re.findall(r"[`(]([\w/]+\.(?:py|cpp|h|md|svg))[`)]", text)
        if "NAME" not in word and word != "cupti_activity.h"
    ]
    missing = [
        word
        for word in named
        if not (ROOT / word).exists() and not any(path.endswith(f"/{word}") for path in there)
    ]
    assert missing == []
    folders = re.findall(r"`((?:\w+/)+)`", text)
    assert named or folders
    assert [name for name in folders if not any(path.is_dir() for path in _places(name))] == []


def _places(name: str) -> Iterator[Path]:
    """Where a folder may be: texts leave out `perfprobe/` and `perfprobe/report/`."""
    for above in ("", "perfprobe", "perfprobe/report", "perfprobe/models"):
        yield ROOT / above / name


def test_every_named_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in (*FOR_DEVELOPERS, "README.md", "Makefile")]
    named = {
        word
        for text in texts
        for word in re.findall(r"(?:`|^# |^ {4})make ([a-z][\w-]*)", text, re.MULTILINE)
    }
    assert {"quick", "lint", "docs"} <= named
    assert sorted(named - targets) == []


def test_the_page_for_agents_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_names_quoted_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    ((said, file),) = re.findall(r'\*"([^"]+)"\* \(`([^`]+)`\)', text)
    assert said in (ROOT / "perfprobe" / file).read_text(encoding="utf-8")
    named = re.findall(r"`([A-Z][A-Z_]{4,})`[^`]{0,12}\(?`([a-z_/]+\.py)`", text)
    assert {"SECTION_VIEWS", "PASSES", "FORMAT_VERSION", "IN_MEMORY"} <= {name for name, _ in named}
    for name, file in named:
        found = [ROOT / folder / file for folder in ("", "perfprobe", "perfprobe/models/work")]
        assert any(f"{name}" in path.read_text() for path in found if path.exists()), (name, file)
