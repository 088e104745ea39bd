"""Recognises batches of images by the inputs of an operator."""

from __future__ import annotations

from perfprobe.models.signature import parse, tensors

_FLOATS = ("f32", "f64", "f16", "bf16")
_CHANNELS = (1, 3, 4)
_SMALLEST = 16  # pixels of a side


def has_float_images(signature: str) -> bool:
    """Whether a tensor among these inputs looks like images of floats: 8 bits a channel would do.

    Images have two sides of many pixels, and one, three or four channels before or behind them.
    """
    for each in tensors(parse(signature) or ()):
        sizes = each.sizes or ()
        if each.dtype in _FLOATS and len(sizes) in (4, 5):
            before = sizes[-3] in _CHANNELS and min(sizes[-2:]) >= _SMALLEST
            behind = sizes[-1] in _CHANNELS and min(sizes[-3:-1]) >= _SMALLEST
            if before or behind:
                return True
    return False
