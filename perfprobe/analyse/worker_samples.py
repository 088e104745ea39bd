"""A DataLoader's work by samples: decoding and transforms in a worker, pinning in the main process.

Time in the dataset counts as decoding and transforms if a function on the stack is of a library for that, or
if its name or file says so: `Flip.transform`, `decode_image`, `Augmentation.__call__` in augment.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Mask, distinct
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Trace

_FETCH = "torch/utils/data/_utils/fetch.py"
_PIN = "torch/utils/data/_utils/pin_memory.py"
_DATASET = ("__getitem__", "__getitems__", "__next__", "__iter__")
_LIBRARIES = (
    *("torchvision", "PIL", "cv2", "albumentations", "kornia", "skimage", "imageio", "torchaudio"),
    *("torchcodec", "av", "librosa", "soundfile", "transformers", "tokenizers"),
)
_WORDS = ("transform", "augment", "decode", "preprocess", "tokenize", "normalize", "resize")
FEWEST_LOOKS = 20


class Parts(NamedTuple):
    """The work of one worker, by samples.

    looks: samples in the dataset; with fewer than FEWEST_LOOKS nothing is reported. lines_ns: time in the
    dataset by user line.
    """

    dataset_ns: int
    transform_ns: int
    looks: int
    lines_ns: Mapping[Line, int]


def parts_of(trace: Trace) -> Parts:
    """Returns where the time in the dataset is spent. trace: that of the worker's own recording."""
    recording = trace.recording
    samples, stacks = recording[Samples], recording[Stacks]
    if len(samples) == 0 or len(stacks) == 0:
        return Parts(0, 0, 0, {})
    dataset = _dataset_of(recording)
    transform = nearest(stacks.parent, _marked(recording, _is_transform))
    known = samples.stack >= 0
    stack = samples.stack[known]
    time_ns = np.maximum(samples.end_ns - samples.start_ns, 0)[known]
    in_dataset = dataset[stack] >= 0
    # Only inside the dataset's own function, which may be a library's too. Inner stacks have larger ids.
    in_transform = in_dataset & (transform[stack] > dataset[stack])
    return Parts(
        int(time_ns[in_dataset].sum()),
        int(time_ns[in_transform].sum()),
        int(samples.looks[known][in_dataset].sum()),
        _by_line(trace, trace.sites.frame[stack[in_dataset]], time_ns[in_dataset]),
    )


def _by_line(trace: Trace, frame: Int32, time_ns: Int64) -> dict[Line, int]:
    found: dict[Line, int] = {}
    for each in distinct(frame).tolist():
        line = trace.line(each)
        if line is not None:
            found[line] = found.get(line, 0) + int(time_ns[frame == each].sum())
    return found


def pinned_ns(trace: Trace, start_ns: Int64, end_ns: Int64) -> int:
    """Returns how long the main process pinned memory in these intervals, in ns; -1 if it never did."""
    recording = trace.recording
    samples, stacks = recording[Samples], recording[Stacks]
    if len(samples) == 0 or len(stacks) == 0:
        return -1
    loop, pin = (_under(recording, name) for name in ("_pin_memory_loop", "pin_memory"))
    stack = np.maximum(samples.stack, 0)
    seen = samples.stack >= 0
    if not bool((loop[stack] & seen).any()):
        return -1
    rows = pin[stack] & loop[stack] & seen
    total_ns = 0
    for begin_ns, until_ns in zip(start_ns.tolist(), end_ns.tolist(), strict=True):
        inside = np.minimum(samples.end_ns[rows], until_ns) - np.maximum(samples.start_ns[rows], begin_ns)
        total_ns += int(np.maximum(inside, 0).sum())
    return total_ns


def _under(recording: Recording, function: str) -> Mask:
    """Returns which stacks contain this function of torch's file for pinning."""
    marked = _marked(recording, lambda file, name: file.endswith(_PIN) and name == function)
    return nearest(recording[Stacks].parent, marked) >= 0


def _dataset_of(recording: Recording) -> Int32:
    """For each stack the ancestor that is the dataset's function, called by the fetcher; -1 if none is."""
    stacks = recording[Stacks]
    in_fetch = _marked(recording, lambda file, name: file.endswith(_FETCH))
    is_own = _marked(recording, lambda file, name: name.rpartition(".")[2] in _DATASET)
    called = np.append(in_fetch, False)[stacks.parent]
    return nearest(stacks.parent, is_own & called & ~in_fetch)


def _is_transform(file: str, function: str) -> bool:
    parts = file.split("/")
    if any(library in parts for library in _LIBRARIES) and "datasets" not in parts:
        return True
    name = f"{function} {parts[-1]}".lower()
    return any(word in name for word in _WORDS)


def _marked(recording: Recording, rule: Callable[[str, str], bool]) -> Mask:
    """For each stack whether the rule is true for its innermost frame's file and qualified name."""
    frames, strings, stacks = recording[Frames], recording[Strings], recording[Stacks]
    pairs = zip(frames.file.tolist(), frames.function.tolist(), strict=True)
    of_frame = [bool(rule(strings[file], strings[function])) for file, function in pairs]
    marks: Mask = np.array([*of_frame, False], np.bool_)[stacks.frame]
    return marks
