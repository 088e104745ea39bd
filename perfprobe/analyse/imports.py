"""Imports of libraries, by the code that imported them and the module that ran."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import sums_by
from perfprobe.tables.python import Imports, ImportStacks, Look, SampledStacks


def imports(sampled: SampledStacks, stacks: ImportStacks) -> Imports:
    """Time in ns of imports, by the importing stack and the module's stack, most first, with operators."""
    rows = sampled.take((sampled.look == Look.READ) & (stacks.importer[sampled.stack] >= 0))
    keys = np.stack([stacks.importer[rows.stack], stacks.body[rows.stack]])
    (importer, body), number = np.unique(keys, axis=1, return_inverse=True)
    times_ns = (rows.time_ns, np.maximum(rows.cpu_ns, 0), rows.own_ns)
    found = Imports(importer, body, *(sums_by(number.reshape(-1), each, len(importer)) for each in times_ns))
    return found.take(np.argsort(-found.time_ns, kind="stable"))
