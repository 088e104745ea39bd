"""The phase of a step that each operator is part of."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.loop.regions import Regions
from perfprobe.tables.columns import Int8, Int32, Mask
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.scopes import BACKWARD_FUNCTION
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace

_COPIES = ("aten::to", "aten::_to_copy", "aten::copy_", "aten::pin_memory", "aten::_pin_memory")
_READS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::resolve_conj")
_BY_PHASE = {
    Phase.BACKWARD: StepPhase.BACKWARD,
    Phase.RECOMPUTE: StepPhase.RECOMPUTE,
    Phase.COMPILE: StepPhase.COMPILE,
    Phase.DATA: StepPhase.DATA,
}


class Labels:
    """Knows the phase and the region of every stack, and operators that say their phase by their name."""

    def __init__(self, trace: Trace, regions: Regions) -> None:
        self._regions = regions
        strings = trace.recording[Strings]
        self._is_copy = strings.marks(lambda text: text in _COPIES)
        self._is_zero = strings.marks(lambda text: text == "aten::zero_")
        self._is_zero_all = strings.marks(lambda text: text == "aten::_foreach_zero_")
        self._is_read = strings.marks(lambda text: text in _READS)

    def of(self, rows: LinkedOperators) -> tuple[Int8, Int32]:
        """The phase and the region of each operator."""
        phase, anchor = self._regions.phase[rows.stack].copy(), self._regions.anchor[rows.stack].copy()
        plain = phase == StepPhase.OTHER
        phase[plain & (rows.phase == Phase.FORWARD)] = StepPhase.FORWARD
        plain &= rows.phase == Phase.OTHER
        phase[plain & (rows.scope == BACKWARD_FUNCTION)] = StepPhase.BACKWARD
        phase[plain & self._is_copy[rows.name]] = StepPhase.COPY
        phase[plain & self._is_read[rows.name]] = StepPhase.RESULTS
        phase[plain & self._zeroes(rows)] = StepPhase.ZERO_GRAD
        for recorded, own in _BY_PHASE.items():
            other = (rows.phase == recorded) & (phase != own)
            phase[other] = own
            anchor[other] = 0
        return phase, anchor

    def _zeroes(self, rows: LinkedOperators) -> Mask:
        """Returns which operators are zero_grad, in traces without Python: two `zero_` in a row, or a foreach
        one.
        """
        alone = (rows.stack < 0) & self._is_zero[rows.name]
        beside = np.append(alone[1:], False) | np.append(False, alone[:-1])
        return np.asarray((alone & beside) | ((rows.stack < 0) & self._is_zero_all[rows.name]))
