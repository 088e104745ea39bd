"""Reads traces of torch.profiler (Kineto), of any version, as recordings."""

from perfprobe.read.kineto.chunks import is_trace
from perfprobe.read.kineto.folder import traces_in
from perfprobe.read.kineto.reader import is_file, read

__all__ = ["is_file", "is_trace", "read", "traces_in"]
