"""Measures and judges the whole suite, or some of its families.

python -m benchmarks.operators [--only bmm,pointwise] [--quick]
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import benchmarks.operators
from benchmarks import harness
from benchmarks.operators import alone
from benchmarks.operators.case import Case


def families() -> dict[str, tuple[Case, ...]]:
    """The cases of each family, by the name of its file."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.operators.__path__)]
    modules = {
        name: importlib.import_module(f"benchmarks.operators.{name}") for name in names if name[0] != "_"
    }
    return {name: module.CASES for name, module in modules.items() if hasattr(module, "CASES")}


def main() -> None:
    """Measure the families that the command line names."""
    found = families()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.operators", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--only", metavar="FAMILIES", help=f"separated by commas, of {', '.join(found)}")
    alone.add_threads(parser)
    harness.add_options(parser)
    args = parser.parse_args()
    names = args.only.split(",") if args.only else list(found)
    if unknown := set(names) - set(found):
        parser.error(f"there is no family {', '.join(sorted(unknown))}")
    alone.measure_all({name: found[name] for name in names}, args)


if __name__ == "__main__":
    main()
