"""A recording as a trace for https://ui.perfetto.dev, chrome://tracing and whatever reads torch.profiler's.

The format is Google's "Trace Event Format", the names of categories and arguments are Kineto's. The file is
made while it is written: operators are read block by block.
"""

from perfprobe.report.export.chrome.document import KINDS, exported

__all__ = ["KINDS", "exported"]
