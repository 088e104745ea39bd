"""Finds the code of optimizers by its files."""

from __future__ import annotations

_CLIPS = "/torch/nn/utils/clip_grad.py"
_FOLDERS = (
    *("/torch/optim/", _CLIPS, "/torch/amp/grad_scaler.py"),
    *("/torch/cuda/amp/grad_scaler.py", "/torch/ao/optim/", "/bitsandbytes/optim/"),
)
# Functions of optimizers that are no part of a step.
_APART = ("__init__", "add_param_group", "load_state_dict", "state_dict", "zero_grad")


def is_file(file: str) -> bool:
    """Whether a file is an optimizer's, or clips or scales gradients.

    Of paths that torch.profiler writes the folder before `torch` may be missing.
    """
    return any(part in f"/{file}" for part in _FOLDERS)


def clips(file: str) -> bool:
    """Whether a file clips gradients."""
    return _CLIPS in f"/{file}"


def updates(function: str) -> bool:
    """Whether a function of such a file is part of an optimizer's step. function: the name without class."""
    return function not in _APART
