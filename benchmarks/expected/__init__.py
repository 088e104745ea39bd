"""Operators whose verdict was predicted: the predictions were committed before anything was measured here.

They come from reasoning about the kernels, and from fractions measured on another processor ("0.98
elsewhere"). Nothing is changed after measuring: a wrong prediction counts as an error, and a comment may say
why. `NOT_REGISTERED` names calls whose verdict could not be predicted with confidence.

    python -m benchmarks.judgements    judges them
"""

from __future__ import annotations

from benchmarks.expected.bad import BAD
from benchmarks.expected.good import GOOD
from benchmarks.expected.others import ALLOCATIONS, HONEST, OVERHEADS, PARALLELS, SERIALS

LISTS = {
    "good": GOOD,
    "bad": BAD,
    "overhead": OVERHEADS,
    "allocation": ALLOCATIONS,
    "serial": SERIALS,
    "parallel": PARALLELS,
    "honest": HONEST,
}

# Calls that were considered and left out, with the reason.
NOT_REGISTERED = (
    ("mm 4096x4096 by 4096x13", "0.48 elsewhere; with another cache it may be at the limit of memory"),
    ("bmm 64x512x13x512", "its output of 64 MB makes it allocation-bound or memory-bound, not K=13"),
    ("bmm 64x128x64x128, attention", "0.77 elsewhere, with either limit near"),
    ("native_layer_norm 4096x1024", "0.50 elsewhere: at the edge"),
    ("native_layer_norm_backward 4096x1024, 1 thread", "0.27-0.60 elsewhere: at the edge"),
    ("_softmax 64x256x256, 1 thread", "0.37 of memory; of exp's rate it may be more"),
    ("sum of columns", "0.54-0.71 elsewhere: at the edge"),
    ("embedding 32000x512", "0.58-0.71 elsewhere: at the edge"),
    ("gelu, tanh, pow, log", "near 1 or 0.1, depending on the source of their element rate"),
    ("uniform_ and normal_, 1 thread", "whether they are judged by bernoulli_'s rate"),
    ("div [256,256]", "L2-resident: 0.59 elsewhere, at the edge"),
    ("nll_loss_backward", "its zero fill against its scatter"),
    ("bf16 mm on 2 threads", "stayed on one thread elsewhere; the library may choose otherwise here"),
    ("f32 and bf16 13³ padded to 16", "1.08x and 1.22x elsewhere: too near to 1.15"),
    ("topk, sort, masked_select", "only they themselves could be their limit"),
    ("copy_ of every sixteenth float", "by bytes it is bad, by lines it is good"),
)
