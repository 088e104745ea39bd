"""A recording as a trace for https://ui.perfetto.dev, chrome://tracing and tools for torch.profiler's traces.

The format is Google's "Trace Event Format". The names of categories and arguments are Kineto's. The file is
written piece by piece: operators are read block by block, so memory is bounded.
"""

from perfprobe.report.export.chrome.document import KINDS, exported

__all__ = ["KINDS", "exported"]
