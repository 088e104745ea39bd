"""What the columns about operators, lines, modules and ranges mean, by section and by title."""

from __future__ import annotations

_SHARE = "The row's share of all operators' self time."
_SELF = "CPU-side time in the operator itself, on its own thread, without the operators that it called."
_MODULE = (
    "Path of the `nn.Module` that called the operator, as in the model's own `named_modules()`. Wrappers "
    "(`torch.compile`, DataParallel, sharding, checkpoints) are left out. A row for several layers says how "
    "many: `layers.*.attention (4)`. If there are two models of one class, the second is `Net#2`."
)
_PHASES = {
    "forward": "Share of the self time that passed in forward.",
    "backward": "Share of the self time that passed in backward, at the line of the forward call.",
    "recompute": "Share of the self time in which backward ran forward code again (checkpoint).",
    "other": "Share of the self time in all other phases: optimizer, data, inference without modules.",
}


MEMORY: dict[str, str] = {
    "category": "**parameters**: with buffers of modules. **gradients**: allocated in backward, alive at its "
    "end. **optimizer state**: allocated in an optimizer's step, alive at its end. **activations**: "
    "allocated in forward, alive when the step's backward begins. **inputs**: allocated outside of modules, "
    "backward and optimizers, such as batches. **kept from earlier steps**: activations and temporaries that "
    "outlive their step, and inputs that also outlive the next one. **temporaries**: everything else.",
    "of peak": "**at peak** divided by all memory held at the peak.",
    "storages": "Number of storages alive at the peak. Several tensors may share a storage.",
    "at peak": "Bytes that it had allocated and that were still alive at the peak.",
    "for backward": "Bytes that it allocated in forward and that were still alive when backward began: mean "
    "over the steps that count.",
    "growth/step": "Growth of the memory it holds, from the end of one step to the next: median slope over "
    "all pairs of steps. Empty if it does not grow in every quarter of the run. Memory that keeps growing is "
    "a leak.",
    "held": "Bytes that it allocated and that were still alive at the end of the recording.",
    "allocated": "Sum of all its allocations.",
    "freed": "Bytes freed in it, wherever they were allocated. Memory that Python frees between operators "
    "has no line.",
    "allocations": "Number of storages that it allocated.",
    "line": "Line of the program that allocated it, in backward the line of the forward call.",
    "module": "Innermost module that allocated it, in backward the module of the forward call.",
    "phase": "Phase in which it was allocated.",
    "operator": "Operator that allocated it. For `aten::empty` this is the operator around it.",
}
