"""Python functions, operators and which of them call each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfprobe.analyse.functions import FunctionTimes
from perfprobe.analyse.grouping import sums_by
from perfprobe.analyse.sampled import SampledOperators
from perfprobe.analyse.sites import SitesOfOperators
from perfprobe.analyse.thread_sums import counts_end_ns, thread_sums
from perfprobe.tables.columns import Mask
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.python import CallStructure, Imports, ImportStacks, Look, SampledStacks
from perfprobe.tables.trace import Trace


class CallStructureWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sampled = SampledOperators(trace.recording)
        self._sites = SitesOfOperators(trace)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it; equal signature texts have one id."""
        if self._trace.python is not None:
            self._sampled.add(batch)
            self._sites.add(batch)

    def result(self) -> CallStructure | None:
        """The call structure; None if no Python functions were recorded."""
        trace = self._trace
        if trace.python is None:
            return None
        python = replace(trace.python, samples=self._sampled.samples)
        sampled, sites = self._sampled.result(), self._sites.result()
        times = FunctionTimes(trace, python, sampled, sites)
        return CallStructure(
            python=python,
            functions=times.functions(),
            calls=times.calls(),
            sampled=sampled,
            sites=sites,
            threads=thread_sums(trace, python, sampled),
            by_samples=len(python.samples) > 0,
            counts_end_ns=counts_end_ns(trace),
            imports=imports(sampled, python.imports),
        )


def leave_out(trace: Trace, structure: CallStructure, functions: Mask) -> CallStructure:
    """Returns the calls without some functions.

    What they called then counts as called by their callers, if stacks show it. Their own time counts as
    their caller's. cProfile's counts of calls to and from them are left out.

    Args:
        functions: a mask over the rows of `Code`: the functions to leave out.
    """
    times = FunctionTimes(trace, structure.python, structure.sampled, structure.sites, functions)
    return replace(structure, functions=times.functions(), calls=times.calls())


def imports(sampled: SampledStacks, stacks: ImportStacks) -> Imports:
    """Time in ns of imports, by the importing stack and the module's stack, most first, with operators."""
    rows = sampled.take((sampled.look == Look.READ) & (stacks.importer[sampled.stack] >= 0))
    keys = np.stack([stacks.importer[rows.stack], stacks.body[rows.stack]])
    (importer, body), number = np.unique(keys, axis=1, return_inverse=True)
    times_ns = (rows.time_ns, np.maximum(rows.cpu_ns, 0), rows.own_ns)
    found = Imports(importer, body, *(sums_by(number.reshape(-1), each, len(importer)) for each in times_ns))
    return found.take(np.argsort(-found.time_ns, kind="stable"))
