"""What the phases of a step are called in sentences."""

from __future__ import annotations

from perfprobe.report.section.screen.steps import is_inference
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepPhase, StepTimes

LONG_TEXTS = {
    StepPhase.OTHER: "Python outside of model and loader",
    StepPhase.DATA: "data loading",
    StepPhase.COPY: "copies to the device",
    StepPhase.FORWARD: "forward",
    StepPhase.BACKWARD: "backward",
    StepPhase.RECOMPUTE: "recomputation in backward",
    StepPhase.OPTIMIZER: "optimizer",
    StepPhase.CLIPPING: "gradient clipping",
    StepPhase.ZERO_GRAD: "zero_grad",
    StepPhase.COMPILE: "torch.compile's own work",
    StepPhase.SAVING: "saving",
    StepPhase.LOGGING: "logging",
    StepPhase.COLLECTION: "Python's garbage collection",
    StepPhase.RESULTS: "reading values",
    StepPhase.IMPORT: "imports of libraries",
}


def phase_text(findings: Findings, phase: StepPhase) -> str:
    """The name of a phase; of inference without words of training."""
    if is_inference(findings[StepTimes]):
        return {StepPhase.DATA: "input", StepPhase.FORWARD: "model"}.get(phase, LONG_TEXTS[phase])
    return LONG_TEXTS[phase]
