"""Finds the paths of modules, as `named_modules` of the program's own model names them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.tables.columns import Int32, Mask, among, distinct
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Modules, Stacks, nearest
from perfprobe.tables.strings import Strings

LONGEST_PATH = 200  # of a module; actual ones are far shorter
MOST_MODELS = 8  # roots of one type that are distinguished; a program with more makes new ones all the time

# Names by which torch's wrappers hold a compiled, sharded or checkpointed module.
_WRAPPED = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
# Wrappers that hold it by a name that others use too.
_PARALLEL = ("DistributedDataParallel", "DataParallel")


class ModulePaths(NamedTuple):
    """Facts about every module.

    Attributes:
        texts: its path.
        types: its class; for a wrapper the class of the wrapped module.
        same: the first module with the same path.
    """

    texts: list[str]
    types: list[str]
    same: Int32


def module_paths(recording: Recording) -> ModulePaths:
    """Returns the paths of modules.

    A path is `encoder.layers.3.attn`. The path of a root is its type; of the second root with parts `Net#2`.
    If several roots have parts with the same path, their paths begin with the root.
    """
    inside = _inside(recording)
    types = _types(recording, inside)
    roots, paths = _within_roots(recording, inside, _root_names(recording, inside, types))
    roots_of: dict[str, set[str]] = {}
    for root, path in zip(roots, paths, strict=True):
        roots_of.setdefault(path, set()).add(root)
    texts = []
    first: dict[str, int] = {}
    same = np.empty(len(paths), np.int32)
    for module, (root, path) in enumerate(zip(roots, paths, strict=True)):
        text = f"{root}.{path}" if len(roots_of[path]) > 1 and path != root else path
        texts.append(text)
        same[module] = first.setdefault(text, module)
    return ModulePaths(texts, types, same)


def _inside(recording: Recording) -> Mask:
    """A mask of the modules that are wrapped by another one, and represent it."""
    strings, modules = recording[Strings], recording[Modules]
    has_parent = modules.parent >= 0
    parallel = _named(strings, np.append(modules.type, np.int32(-1))[modules.parent], _PARALLEL)
    of_parallel = parallel & _named(strings, modules.name, ("module",))
    return np.asarray(has_parent & (of_parallel | _named(strings, modules.name, _WRAPPED)))


def _named(strings: Strings, ids: Int32, names: tuple[str, ...]) -> Mask:
    return among(ids, [text for text in distinct(ids).tolist() if strings[text] in names])


def _types(recording: Recording, inside: Mask) -> list[str]:
    modules = recording[Modules]
    kinds = modules.type.copy()
    for module in np.flatnonzero(inside)[::-1].tolist():  # the innermost first
        kinds[modules.parent[module]] = kinds[module]
    return [recording[Strings][kind] for kind in kinds.tolist()]


def _within_roots(recording: Recording, inside: Mask, names: dict[int, str]) -> tuple[list[str], list[str]]:
    """Returns for every module the name of its root, and its path within it (for a root its name).

    Args:
        names: names of the roots.
    """
    strings, modules = recording[Strings], recording[Modules]
    roots: list[str] = []
    paths: list[str] = []
    is_root: list[bool] = []
    for module, (parent, name, kind) in enumerate(
        zip(modules.parent.tolist(), modules.name.tolist(), modules.type.tolist(), strict=True)
    ):
        if parent < 0:
            roots.append(names[module])
            paths.append(names[module])
            is_root.append(True)
            continue
        roots.append(roots[parent])
        is_root.append(is_root[parent] and bool(inside[module]))
        own = strings[name] or strings[kind]  # a module outside its caller's tree has no name
        path = own if is_root[parent] else f"{paths[parent]}.{own}"
        path = paths[parent] if inside[module] else path
        paths.append(path if len(path) <= LONGEST_PATH else f"...{path[-LONGEST_PATH:]}")
    return roots, paths


def _root_names(recording: Recording, inside: Mask, types: list[str]) -> dict[int, str]:
    """Returns the name of each root: its type, with a number from the second model of that type on.

    A model is a root of which some parts were called.
    """
    modules, stacks = recording[Modules], recording[Stacks]
    called = distinct(stacks.module[stacks.module >= 0])
    root = nearest(modules.parent, modules.parent < 0)
    models: dict[str, list[int]] = {}
    for module in distinct(root[called[modules.parent[called] >= 0]]).tolist():
        models.setdefault(types[module], []).append(module)
    numbered = {
        module: f"{kind}#{number}"
        for kind, alike in models.items()
        if len(alike) <= MOST_MODELS
        for number, module in enumerate(alike[1:], 2)
    }
    roots = np.flatnonzero(modules.parent < 0).tolist()
    return {module: numbered.get(module, types[module]) for module in roots}
