"""Finds the user's line and module of each stack. They are computed once, then looked up for operators."""

from __future__ import annotations

import posixpath

import numpy as np

from perfprobe.merge.compiled import compiling
from perfprobe.models import optimizers
from perfprobe.support.first_line import bare
from perfprobe.tables.cells import CELL
from perfprobe.tables.columns import Int8, Int32, Mask, among, distinct
from perfprobe.tables.python import Origin
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Sites

# Every call of autograd's engine from Python uses this function.
ENGINE_FILE = "torch/autograd/graph.py"
ENGINE_FUNCTION = "_engine_run_backward"

CHECKPOINT_FILE = "torch/utils/checkpoint.py"

# DataLoader, its workers, samplers and datasets. What these call makes batches.
DATA_FOLDER = "torch/utils/data/"

# These are between every call and its operator; the caller's line is more useful.
_HANDLERS = ("__torch_function__", "__torch_dispatch__")


# Origins of names in angle brackets, which are no files. Other such names are generated code of libraries.
_ANGLE_ORIGINS = (
    ("<frozen ", Origin.STDLIB),
    ("<eval_with_key>", Origin.TORCH),
    ("<torch", Origin.TORCH),
    ("<stdin>", Origin.USER),
    ("<ipython-input", Origin.USER),
)
_ROOTS = (
    ("torch", Origin.TORCH),
    ("inductor", Origin.TORCH),  # generated code
    ("perfprobe", Origin.PERFPROBE),
    ("site", Origin.LIBRARY),
    ("stdlib", Origin.STDLIB),
)
# For recordings that do not have their folders, and for symbolic links.
_PARTS = (
    ("/torchinductor_", Origin.TORCH),
    ("/site-packages/", Origin.LIBRARY),
    ("/dist-packages/", Origin.LIBRARY),
    ("/site-packages/torch/", Origin.TORCH),
    ("/dist-packages/torch/", Origin.TORCH),
    ("/site-packages/perfprobe/", Origin.PERFPROBE),
    ("/dist-packages/perfprobe/", Origin.PERFPROBE),
)
_PACKAGES = ("/site-packages/", "/dist-packages/")


def sites(recording: Recording, modules: Int32) -> Sites:
    """Returns line and module of every stack. modules: for each module the first one with its name."""
    stacks = recording[Stacks]
    origin = _frame_origins(recording)[stacks.frame]  # a stack without a frame gets the last entry
    engine = np.append(frames_in(recording, ENGINE_FILE, ENGINE_FUNCTION), False)[stacks.frame]
    checkpoint = np.append(frames_in(recording, CHECKPOINT_FILE), False)[stacks.frame]
    data = np.append(_is_data(recording), False)[stacks.frame]
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
        is_compile=compiling(recording)[:-1],
        is_data=nearest(stacks.parent, data) >= 0,
        is_optimizer=nearest(stacks.parent, np.append(_is_optimizer(recording), False)[stacks.frame]) >= 0,
        engine=nearest(stacks.parent, engine),
    )


def _inside(stacks: Stacks, marked: Mask, engine: Mask) -> Int32:
    """Returns the innermost marked row of each stack within the innermost call of the engine; -1 if none."""
    found = nearest(stacks.parent, marked | engine)
    return np.where(np.append(engine, True)[found], np.int32(-1), found)


def _inside_module(stacks: Stacks, engine: Mask) -> Int32:
    """Returns the innermost module that was called within the innermost call of the engine; -1 if none."""
    module = np.append(stacks.module, np.int32(-1))
    entered = stacks.module != module[stacks.parent]
    return module[_inside(stacks, entered, engine)]


def frames_in(recording: Recording, file_end: str | tuple[str, ...], function: str | None = None) -> Mask:
    """A mask of the frames in this function, in a file whose path has this ending or one of these."""
    strings, frames = recording[Strings], recording[Frames]
    files = [int(file) for file in distinct(frames.file) if strings[file].endswith(file_end)]
    names = [int(name) for name in distinct(frames.function) if function in (None, bare(strings[name]))]
    return among(frames.file, files) & among(frames.function, names)


def _is_data(recording: Recording) -> Mask:
    """A mask of the frames of torch's data loading."""
    strings, files, rules = recording[Strings], recording[Frames].file, Folders(recording)
    below = [file for file in distinct(files).tolist() if DATA_FOLDER in strings[file]]
    return among(files, [file for file in below if rules.origin(strings[file]) is Origin.TORCH])


def _is_optimizer(recording: Recording) -> Mask:
    """A mask of the frames of an optimizer's step."""
    strings, frames = recording[Strings], recording[Frames]
    files = [file for file in distinct(frames.file).tolist() if optimizers.is_file(strings[file])]
    in_file = among(frames.file, files)
    names = distinct(frames.function[in_file]).tolist()
    updating = [name for name in names if optimizers.updates(bare(strings[name]).rpartition(".")[2])]
    return in_file & among(frames.function, updating)


def _same_lines(recording: Recording) -> Int32:
    """Returns for every frame the first one with the same file, line and function."""
    frames = recording[Frames]
    if len(frames) == 0:
        return np.empty(0, np.int32)
    keys = np.stack([frames.file, frames.line, frames.function])
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return first[group.reshape(-1)].astype(np.int32)


def _frame_origins(recording: Recording) -> Int8:
    """Returns the origin of every frame, with one more entry, -1, for no frame."""
    files, group = np.unique(recording[Frames].file, return_inverse=True)
    rules = Folders(recording)
    origins = [rules.origin(recording[Strings][file]) for file in files.tolist()] + [-1]
    of_frame: Int8 = np.array(origins, np.int8)[np.append(group.reshape(-1), len(files))]
    is_handler = np.append(_is_handler(recording), False)
    of_frame[is_handler & (of_frame == Origin.USER)] = Origin.LIBRARY
    return of_frame


def _is_handler(recording: Recording) -> Mask:
    strings, functions = recording[Strings], recording[Frames].function
    handlers = [int(name) for name in distinct(functions) if strings[name].rsplit(".", 1)[-1] in _HANDLERS]
    return among(functions, handlers)


class Folders:
    """Decides whose code a file is, by the deepest known folder that contains it."""

    def __init__(self, recording: Recording) -> None:
        self._cwd = recording.text("program", "cwd") or ""
        self._folders: list[tuple[str, Origin]] = []
        for key, origin in _ROOTS:
            self._folders += [(self._absolute(path), origin) for path in recording.texts("roots", key)]
        for path in recording.texts("roots", "script"):
            folder = self._absolute(posixpath.dirname(path) if path.endswith(".py") else path)
            # A program that is part of torch (torch.distributed.run) does not make torch's files the user's.
            if self._of_path(folder) not in (Origin.TORCH, Origin.PERFPROBE):
                self._folders.append((folder, Origin.USER))
        # These are files, not folders: libraries wrote them at run time, perhaps beside the program's files.
        written = recording.texts("roots", "written")
        self._folders += [(self._absolute(path), Origin.LIBRARY) for path in written]

    def origin(self, file: str) -> Origin:
        """Returns whose code this file is."""
        if file.startswith(CELL):
            return Origin.USER
        if file.startswith("<"):
            return next((kind for start, kind in _ANGLE_ORIGINS if file.startswith(start)), Origin.LIBRARY)
        return self._of_path(self._absolute(file))

    def package(self, file: str) -> str:
        """Returns the installed package of a file (the first word below the folder of packages); "": none."""
        if self.origin(file) not in (Origin.LIBRARY, Origin.TORCH):
            return ""
        path = self._absolute(file)
        roots = [root + "/" for root, kind in self._folders if kind is Origin.LIBRARY]
        ends = [len(root) for root in roots if path.startswith(root)]
        ends += [path.rfind(part) + len(part) for part in _PACKAGES if part in path]
        return path[max(ends) :].partition("/")[0].removesuffix(".py") if ends else ""

    def _of_path(self, path: str) -> Origin:
        inside = path + "/"
        known = [(len(root) + 1, kind) for root, kind in self._folders if inside.startswith(root + "/")]
        known += [(inside.rfind(part) + len(part), kind) for part, kind in _PARTS if part in inside]
        return max(known, key=lambda entry: entry[0], default=(0, Origin.USER))[1]

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._cwd, path)).rstrip("/")
