"""The profilers and callbacks that are compared, each as a context manager around a block of code."""

from __future__ import annotations

import cProfile
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch

import perfprobe
from perfprobe import native

# Called with a folder to write to. The block runs in the context that it returns.
Observer = Callable[[Path], AbstractContextManager[object]]


@contextmanager
def null_callback(needs_inputs: bool) -> Iterator[None]:
    """An empty RecordFunction callback: the cost that torch adds to every observer."""
    observer = native.observer(torch)
    observer.null_callbacks(needs_inputs)
    try:
        yield
    finally:
        observer.remove_null_callbacks()


@contextmanager
def recording(folder: Path, **options: Any) -> Iterator[None]:
    """perfprobe, into a file that is removed afterwards."""
    path = folder / "region.perfprobe"
    with perfprobe.profile(path, **options):
        yield
    path.unlink()


@contextmanager
def c_profile(folder: Path) -> Iterator[None]:
    """cProfile; its result is discarded."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        yield
    finally:
        profiler.disable()


@contextmanager
def viztracer(folder: Path) -> Iterator[None]:
    """viztracer with its ring of a million entries. Nothing is saved."""
    from viztracer import VizTracer  # type: ignore[import-not-found,unused-ignore]

    tracer = VizTracer(verbose=0)
    tracer.start()
    try:
        yield
    finally:
        tracer.stop()
        tracer.clear()


def torch_profiler(**options: bool) -> AbstractContextManager[object]:
    """torch.profiler with CPU events only; its result is discarded."""
    profiler: AbstractContextManager[object] = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], **options
    )
    return profiler


OBSERVERS: dict[str, Observer] = {
    "null callback": lambda folder: null_callback(needs_inputs=False),
    "null callback with inputs": lambda folder: null_callback(needs_inputs=True),
    "perfprobe": recording,
    "perfprobe, operators only": lambda folder: recording(folder, python="off"),
    "perfprobe, both sources": lambda folder: recording(folder, operators="both"),
    "torch.profiler": lambda folder: torch_profiler(),
    "torch.profiler shapes": lambda folder: torch_profiler(record_shapes=True),
    "torch.profiler shapes+stack": lambda folder: torch_profiler(record_shapes=True, with_stack=True),
    "cProfile": c_profile,
    **({"viztracer": viztracer} if importlib.util.find_spec("viztracer") else {}),
}
