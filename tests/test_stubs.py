"""The stubs of the extension modules declare exactly what the modules contain."""

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

import perfprobe

STUBS = Path(perfprobe.__file__).parent
MODULES = ("_core", "_observer")


def load(name: str) -> ModuleType:
    if name == "_observer":
        pytest.importorskip("torch", reason="_observer is built against torch")
    try:
        return importlib.import_module(f"perfprobe.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"perfprobe.{name}":
            raise
        pytest.skip(f"perfprobe.{name} is not built here")


def is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def defined(body: list[ast.stmt]) -> set[str]:
    """Public names that a stub's module or class body defines; `Name.member` for those in a class."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {node.name} | {f"{node.name}.{member}" for member in defined(node.body)}
    return {name for name in names if is_public(name.rpartition(".")[2])}


def offered(module: ModuleType) -> set[str]:
    """The same names in the built module."""
    names = {name for name in vars(module) if is_public(name)}
    for name, value in vars(module).items():
        if isinstance(value, type) and name in names:
            names |= {f"{name}.{member}" for member in vars(value) if is_public(member)}
    return names


@pytest.mark.parametrize("name", MODULES)
def test_the_stub_and_the_module_agree(name: str) -> None:
    module = load(name)
    stub = ast.parse((STUBS / f"{name}.pyi").read_text(encoding="utf-8"))
    assert defined(stub.body) == offered(module)


@pytest.mark.parametrize("name", MODULES)
def test_functions_take_the_arguments_the_stub_names(name: str) -> None:
    """pybind11 writes each signature as the first line of the docstring."""
    module = load(name)
    stub = ast.parse((STUBS / f"{name}.pyi").read_text(encoding="utf-8"))
    functions = [node for node in stub.body if isinstance(node, ast.FunctionDef)]
    for function in functions:
        stubbed = [argument.arg for argument in function.args.args]
        signature = str(getattr(module, function.name).__doc__).splitlines()[0]
        inside = signature[signature.index("(") + 1 : signature.rindex(")")]
        built = [part.split(":")[0].strip() for part in inside.split(", ") if ":" in part]
        assert built == stubbed, f"{name}.{function.name}: {signature}"
