"""From stacks to the user's lines and modules: once for each stack, then looked up for operators."""

from __future__ import annotations

import posixpath

import numpy as np

from perfprobe.tables.columns import Int8, Int32, Mask
from perfprobe.tables.python import Origin
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Modules, Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Sites

# Every call of autograd's engine from Python goes through this function.
ENGINE_FILE = "torch/autograd/graph.py"
ENGINE_FUNCTION = "_engine_run_backward"

CHECKPOINT_FILE = "torch/utils/checkpoint.py"

# They stand between every call and its operator; the caller's line tells more.
_HANDLERS = ("__torch_function__", "__torch_dispatch__")

LONGEST_PATH = 200  # of a module: real ones are far shorter
MOST_MODELS = 8  # of one type that are told apart: a program that makes more makes them anew all the time


# What a file that is none (its name is in angle brackets) is part of; all others are generated: a library's.
_ANGLE_ORIGINS = (
    ("<frozen ", Origin.STDLIB),
    ("<eval_with_key>", Origin.TORCH),
    ("<torch", Origin.TORCH),
    ("<stdin>", Origin.USER),
    ("<ipython-input", Origin.USER),
)
_ROOTS = (
    ("torch", Origin.TORCH),
    ("inductor", Origin.TORCH),  # what it generated
    ("perfprobe", Origin.PERFPROBE),
    ("site", Origin.LIBRARY),
    ("stdlib", Origin.STDLIB),
)
# For recordings that do not name their folders, and for links that lead around them.
_PARTS = (
    ("/torchinductor_", Origin.TORCH),
    ("/site-packages/", Origin.LIBRARY),
    ("/dist-packages/", Origin.LIBRARY),
    ("/site-packages/torch/", Origin.TORCH),
    ("/dist-packages/torch/", Origin.TORCH),
    ("/site-packages/perfprobe/", Origin.PERFPROBE),
    ("/dist-packages/perfprobe/", Origin.PERFPROBE),
)


def sites(recording: Recording, modules: Int32) -> Sites:
    """The line and module of every stack; `modules` gives each module the id that stands for its name."""
    stacks = recording[Stacks]
    origin = _frame_origins(recording)[stacks.frame]  # a stack without a frame takes the last entry
    engine = np.append(_is_in(recording, ENGINE_FILE, ENGINE_FUNCTION), False)[stacks.frame]
    checkpoint = np.append(_is_in(recording, CHECKPOINT_FILE), False)[stacks.frame]
    line = np.append(_same_lines(recording), np.int32(-1))
    shown = np.full(len(stacks), -1, np.int32)
    for kind in Origin:
        shown = np.where(shown < 0, nearest(stacks.parent, origin == kind), shown)
    inside = _inside(stacks, origin == Origin.USER, engine)
    inside_module = _inside_module(stacks, engine)
    module = np.append(modules, np.int32(-1))
    frame = np.append(stacks.frame, np.int32(-1))
    return Sites(
        frame=line[frame[shown]].astype(np.int32),
        inside_frame=line[frame[inside]].astype(np.int32),
        module=module[stacks.module].astype(np.int32),
        inside_module=module[inside_module].astype(np.int32),
        is_recompute=(inside_module >= 0) | (_inside(stacks, checkpoint, engine) >= 0),
    )


def _inside(stacks: Stacks, marked: Mask, engine: Mask) -> Int32:
    """The innermost marked row of each stack within the innermost call of the engine, -1 for none."""
    found = nearest(stacks.parent, marked | engine)
    return np.where(np.append(engine, True)[found], np.int32(-1), found)


def _inside_module(stacks: Stacks, engine: Mask) -> Int32:
    """The module whose call lies within the innermost call of the engine: entered after it, not before."""
    module = np.append(stacks.module, np.int32(-1))
    entered = stacks.module != module[stacks.parent]
    return module[_inside(stacks, entered, engine)]


def _is_in(recording: Recording, file_end: str, function: str | None = None) -> Mask:
    """Which frames are in a file whose path ends so, and in this function."""
    strings, frames = recording[Strings], recording[Frames]
    files = [int(file) for file in np.unique(frames.file) if strings[file].endswith(file_end)]
    names = [int(name) for name in np.unique(frames.function) if function in (None, strings[name])]
    return np.isin(frames.file, files) & np.isin(frames.function, names)


def _same_lines(recording: Recording) -> Int32:
    """For every frame the first one of the same file, line and function: code made anew is the same line."""
    frames = recording[Frames]
    if len(frames) == 0:
        return np.empty(0, np.int32)
    keys = np.stack([frames.file, frames.line, frames.function])
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return first[group.reshape(-1)].astype(np.int32)


def _frame_origins(recording: Recording) -> Int8:
    """The origin of every frame, with one more entry, -1, for "no frame"."""
    files, group = np.unique(recording[Frames].file, return_inverse=True)
    rules = Folders(recording)
    origins = [rules.origin(recording[Strings][file]) for file in files.tolist()] + [-1]
    of_frame: Int8 = np.array(origins, np.int8)[np.append(group.reshape(-1), len(files))]
    is_handler = np.append(_is_handler(recording), False)
    of_frame[is_handler & (of_frame == Origin.USER)] = Origin.LIBRARY
    return of_frame


def _is_handler(recording: Recording) -> Mask:
    strings, functions = recording[Strings], recording[Frames].function
    handlers = [int(name) for name in np.unique(functions) if strings[name].rsplit(".", 1)[-1] in _HANDLERS]
    return np.isin(functions, handlers)


class Folders:
    """Decides whose code a file is: by the known folder that reaches deepest into its path."""

    def __init__(self, recording: Recording) -> None:
        self._cwd = recording.text("program", "cwd") or ""
        self._folders: list[tuple[str, Origin]] = []
        for key, origin in _ROOTS:
            self._folders += [(self._absolute(path), origin) for path in recording.texts("roots", key)]
        for path in recording.texts("roots", "script"):
            folder = self._absolute(posixpath.dirname(path) if path.endswith(".py") else path)
            # A program that is part of torch (torch.distributed.run) makes nothing there the user's.
            if self._of_path(folder) not in (Origin.TORCH, Origin.PERFPROBE):
                self._folders.append((folder, Origin.USER))
        # Files, not folders: what a library wrote while it ran, beside which the program's own may lie.
        written = recording.texts("roots", "written")
        self._folders += [(self._absolute(path), Origin.LIBRARY) for path in written]

    def origin(self, file: str) -> Origin:
        """Whose code this file is."""
        if file.startswith("<"):
            return next((kind for start, kind in _ANGLE_ORIGINS if file.startswith(start)), Origin.LIBRARY)
        return self._of_path(self._absolute(file))

    def _of_path(self, path: str) -> Origin:
        inside = path + "/"
        known = [(len(root) + 1, kind) for root, kind in self._folders if inside.startswith(root + "/")]
        known += [(inside.rfind(part) + len(part), kind) for part, kind in _PARTS if part in inside]
        return max(known, key=lambda entry: entry[0], default=(0, Origin.USER))[1]

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._cwd, path)).rstrip("/")


def module_texts(recording: Recording) -> tuple[list[str], Int32]:
    """The path of every module, and for each the first one that has the same text.

    A path is `encoder.layers.3.attn`; a root shows its type, the second one with parts `Net#2`. Where several
    roots have parts of equal path, the root stands in front.
    """
    roots, paths = _module_paths(recording)
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
    return texts, same


def _module_paths(recording: Recording) -> tuple[list[str], list[str]]:
    """For every module the name of its root, and its path within it (a root's own: its name)."""
    strings, modules = recording[Strings], recording[Modules]
    names = _root_names(recording)
    roots: list[str] = []
    paths: list[str] = []
    for module, (parent, name, kind) in enumerate(
        zip(modules.parent.tolist(), modules.name.tolist(), modules.type.tolist(), strict=True)
    ):
        if parent < 0:
            roots.append(names.get(module, strings[kind]))
            paths.append(roots[-1])
        else:
            below_root = modules.parent[parent] >= 0
            own = strings[name] or strings[kind]  # one outside its caller's tree has no name
            path = f"{paths[parent]}.{own}" if below_root else own
            roots.append(roots[parent])
            paths.append(path if len(path) <= LONGEST_PATH else f"...{path[-LONGEST_PATH:]}")
    return roots, paths


def _root_names(recording: Recording) -> dict[int, str]:
    """The names of the second and later models of a type: roots with parts of which some were called."""
    modules, stacks = recording[Modules], recording[Stacks]
    called = np.unique(stacks.module[stacks.module >= 0])
    root = nearest(modules.parent, modules.parent < 0)
    models: dict[int, list[int]] = {}
    for module in np.unique(root[called[modules.parent[called] >= 0]]).tolist():
        models.setdefault(int(modules.type[module]), []).append(module)
    return {
        module: f"{recording[Strings][kind]}#{number}"
        for kind, alike in models.items()
        if len(alike) <= MOST_MODELS
        for number, module in enumerate(alike[1:], 2)
    }
