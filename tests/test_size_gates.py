"""Functions have at most 50 lines and files at most 400, in Python and C++."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES = 400
FUNCTION_LINES = 50
PYTHON_FOLDERS = ("perfprobe", "tests", "benchmarks", "csrc")
CPP_FOLDERS = ("csrc", "tests/native", "benchmarks")

# Removed before blocks are recognized: comments, strings, characters, preprocessor lines.
CPP_NOISE = re.compile(
    r"""//[^\n]*                                     # comments
    | /\*.*?\*/
    | R"(\w*)\(.*?\)\1"                              # raw strings
    | "(?:\\.|[^"\\\n])*"
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'             # characters, not the mark between digits
    | ^[ \t]*\#(?:\\\n|[^\n])*                       # preprocessor lines, continued ones too
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
CPP_CONTAINER = re.compile(
    r"""\b(?:namespace|class|struct|union|enum|extern)\b
    (?![^<]*\)\s*(?:const|noexcept|override|\s)*$)   # not a word among a function's parameters
    """,
    re.VERBOSE,
)


def python_files() -> Iterator[Path]:
    for folder in PYTHON_FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def cpp_files() -> Iterator[Path]:
    for folder in CPP_FOLDERS:
        for suffix in ("*.h", "*.cpp", "*.cu"):
            yield from sorted((ROOT / folder).rglob(suffix))


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, lines) of every function, including nested ones and methods."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n") or " "


def cpp_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(head, first line, lines) of every function body in a file, namespace or class."""
    text = CPP_NOISE.sub(blank, text)
    open_blocks: list[
        tuple[bool, str, int]
    ] = []  # whether it is a container, its head, the line where the head starts
    head_start = 0
    for brace in re.finditer(r"[{};]", text):
        head = text[head_start : brace.start()]
        if brace.group() == "{":
            first_line = text.count("\n", 0, head_start + len(head) - len(head.lstrip())) + 1
            open_blocks.append((CPP_CONTAINER.search(head) is not None, head.strip(), first_line))
        elif brace.group() == "}" and open_blocks:
            container, block_head, first_line = open_blocks.pop()
            if not container and "(" in block_head and all(outer for outer, _, _ in open_blocks):
                yield block_head, first_line, text.count("\n", 0, brace.start()) + 1 - first_line + 1
        head_start = brace.end()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def long_files(paths: Iterator[Path]) -> list[str]:
    counts = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert counts, "no file was found to check"
    return [f"{name}: {lines} lines" for name, lines in counts.items() if lines > FILE_LINES]


def test_python_files_are_short() -> None:
    assert long_files(python_files()) == []


def test_cpp_files_are_short() -> None:
    assert long_files(cpp_files()) == []


def test_python_functions_are_short() -> None:
    long = [
        f"{name_of(path)}:{line} {name}: {lines} lines"
        for path in python_files()
        for name, line, lines in python_functions(path.read_text(encoding="utf-8"))
        if lines > FUNCTION_LINES
    ]
    assert long == []


def test_cpp_functions_are_short() -> None:
    long = [
        f"{name_of(path)}:{line} {head.splitlines()[0]}: {lines} lines"
        for path in cpp_files()
        for head, line, lines in cpp_functions(path.read_text(encoding="utf-8"))
        if lines > FUNCTION_LINES
    ]
    assert long == []


def test_lengths_of_cpp_functions_equal_hand_counts() -> None:
    source = """\
#define OPEN {
namespace a {
struct S {
  int f() const noexcept { return '{'; }  // {
  std::vector<int> values{1, 2};
  void g(struct T* t) {
    if (t) {
      h("}");
    }
  }
};
template <class T>
T
k(T x)
{
  auto twice = [](T y) { return y + y; };
  return twice(x);
}
}  // namespace a
PYBIND11_MODULE(m, module) {
}
"""
    measured = [(head.split("(")[0].split()[-1], line, lines) for head, line, lines in cpp_functions(source)]
    assert measured == [("f", 4, 1), ("g", 6, 5), ("k", 12, 7), ("PYBIND11_MODULE", 20, 2)]
