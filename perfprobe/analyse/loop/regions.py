"""Decides which phase of a step a Python stack is part of, by its functions.

Some calls begin a phase: those of a module, of `backward`, of an optimizer's `step`. A region is one such
call, or consecutive ones from the same line; also the iterator of a `for` loop, without a phase. Everything
inside the loader, inside torch.compile or in the import of a library has their phase. Elsewhere the innermost
call that begins a phase decides. Modules that run in backward are recomputation.
"""

from __future__ import annotations

import numpy as np

from perfprobe.models import optimizers
from perfprobe.support.first_line import bare
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int32, Mask
from perfprobe.tables.python import Origin
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

# A part of the file's path, and the names of the functions that begin the phase.
_BACKWARD = (("/torch/_tensor.py", ("backward",)), ("/torch/autograd/__init__.py", ("backward", "grad")))
_SAVING = (
    ("/torch/serialization.py", ("save", "_save", "_legacy_save")),
    ("/torch/distributed/checkpoint/", ("save", "async_save", "save_state_dict")),
    ("/safetensors/", ("save", "save_file", "save_model")),
    ("", ("save_pretrained", "save_checkpoint", "_save_checkpoint")),
)
_LOGGING = (
    *("/torch/utils/tensorboard/", "/torch/_tensor_str.py", "/tqdm/", "/tensorboard/", "/tensorboardX/"),
    *("/wandb/", "/mlflow/", "/comet_ml/", "/neptune/", "/loguru/", "/rich/", "/progressbar/", "/aim/"),
    *("/clearml/", "/logging/__init__.py", "/logging/handlers.py"),
)
_MODULE = ("/torch/nn/modules/module.py", ("_wrapped_call_impl", "_call_impl"))
_CALLING = ("/transformers/pipelines/",)  # iterators that call the model
_NONE = -1
_IS_CODE = -2  # a function of the program or a library: called from a progress bar, it is not logging


@frozen
class Regions:
    """The phase and the region of every stack, with one more entry for no stack.

    anchor: a number for each region, 0 for none. caller: the stack that called the region; without a region,
    the stack itself.
    """

    phase: Int8
    anchor: Int32
    caller: Int32


def regions(trace: Trace) -> Regions:
    """Find phase and region of every stack."""
    stacks, sites = trace.recording[Stacks], trace.sites
    marks = np.append(_marks(trace.recording), np.int8(_NONE))[stacks.frame]
    marks = np.where((marks == _NONE) & _is_code(trace), np.int8(_IS_CODE), marks).tolist()
    phase, anchor = [int(StepPhase.OTHER)] * (len(stacks) + 1), [0] * (len(stacks) + 1)
    caller = [*range(len(stacks)), -1]
    outside = list(range(len(stacks) + 1))  # for stacks in logging: the stack that called logging
    is_import = _is_import(trace)
    columns = (
        *(stacks.parent, stacks.module, sites.is_data, sites.is_compile, is_import, sites.is_recompute),
        stacks.asks_next == 1,
    )
    modules = np.append(stacks.module, np.int32(-1))
    callers = _callers_of_modules(trace.recording) if trace.recording.is_trace else {}
    for stack, (parent, module, is_data, is_compile, is_imported, is_recompute, asks) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        above, mark = phase[parent], marks[stack]
        if above == StepPhase.LOGGING and mark == _IS_CODE:
            parent = outside[parent]  # noqa: PLW2901
            above = phase[parent]
        own = _own_phase(above, mark, entered=module >= 0 and module != modules[parent])
        if is_data or is_compile:
            own = StepPhase.DATA if is_data else StepPhase.COMPILE
        elif is_imported:
            own = StepPhase.IMPORT
        elif above in (StepPhase.BACKWARD, StepPhase.RECOMPUTE):
            own = StepPhase.RECOMPUTE if is_recompute else StepPhase.BACKWARD
        phase[stack] = own
        if own == StepPhase.OTHER:
            anchor[stack] = stack + 2 if asks else anchor[parent] * (above == own)
            continue
        inherits = own == above
        begin = stack if own == StepPhase.FORWARD else parent  # modules called from one line are regions each
        anchor[stack] = anchor[parent] if inherits else begin + 2
        caller[stack] = caller[parent] if inherits else callers.get(stack, parent)
        if own == StepPhase.LOGGING:
            outside[stack] = outside[parent] if above == own else parent
    return Regions(np.array(phase, np.int8), np.array(anchor, np.int32), np.array(caller, np.int32))


def _callers_of_modules(recording: Recording) -> dict[int, int]:
    """Returns the caller of each stack that entered a module, in a trace, where such a call has no frame.

    Such a stack has the frame of its caller: they differ by the module.
    """
    stacks, modules = recording[Stacks], recording[Modules]
    outer = np.append(modules.parent, np.int32(-1))[stacks.module]
    keys = zip(stacks.parent.tolist(), stacks.frame.tolist(), stacks.module.tolist(), strict=True)
    known = {key: stack for stack, key in enumerate(keys)}
    entered = zip(stacks.parent.tolist(), stacks.frame.tolist(), outer.tolist(), strict=True)
    found = ((stack, known.get(key, stack)) for stack, key in enumerate(entered))
    return {stack: caller for stack, caller in found if caller != stack}


def _own_phase(above: int, mark: int, *, entered: bool) -> int:
    """The phase of a stack. above: that of its caller. mark: what its innermost frame begins.

    entered: whether the innermost frame entered another module.
    """
    if above in (StepPhase.DATA, StepPhase.COMPILE, StepPhase.ZERO_GRAD, StepPhase.SAVING):
        return above
    if mark == StepPhase.FORWARD or entered:  # stacks of samples have no modules, only frames of their calls
        return above if above == StepPhase.LOGGING else int(StepPhase.FORWARD)
    return mark if mark >= 0 and (mark != StepPhase.DATA or above == StepPhase.OTHER) else above


def _is_import(trace: Trace) -> Mask:
    """Returns which stacks are part of the import of a library."""
    if trace.python is None:
        return np.zeros(len(trace.recording[Stacks]), np.bool_)
    return np.asarray(trace.python.imports.importer[:-1] >= 0)


def _is_code(trace: Trace) -> Mask:
    """Returns which stacks end in code of the program or of a library."""
    if trace.python is None:
        return np.zeros(len(trace.recording[Stacks]), np.bool_)
    origin = np.append(trace.python.code.origin, np.int8(Origin.STDLIB))[trace.python.of_stack[:-1]]
    return np.asarray((origin == Origin.USER) | (origin == Origin.LIBRARY))


def _marks(recording: Recording) -> Int8:
    """For every frame the phase it begins, or `_NONE`."""
    strings, frames = recording[Strings], recording[Frames]
    known: dict[tuple[int, int], int] = {}
    found = np.full(len(frames), _NONE, np.int8)
    for at, key in enumerate(zip(frames.file.tolist(), frames.function.tolist(), strict=True)):
        if key not in known:
            function = bare(strings[key[1]]).rpartition(".")[2]
            known[key] = _mark(f"/{strings[key[0]]}", function)  # traces leave out the folder before torch
        found[at] = known[key]
    return found


def _mark(file: str, function: str) -> int:
    if function == "zero_grad":
        return int(StepPhase.ZERO_GRAD)
    if optimizers.clips(file):
        return int(StepPhase.CLIPPING)
    if optimizers.is_file(file):
        return int(StepPhase.OPTIMIZER) if optimizers.updates(function) else _NONE
    rules_of = ((StepPhase.BACKWARD, _BACKWARD), (StepPhase.SAVING, _SAVING), (StepPhase.FORWARD, (_MODULE,)))
    for phase, rules in rules_of:
        if any(part in file and function in names for part, names in rules):
            return int(phase)
    if any(part in file for part in _LOGGING):
        return int(StepPhase.LOGGING)
    is_next = function == "__next__" and not any(part in file for part in _CALLING)
    return int(StepPhase.DATA) if is_next else _NONE
