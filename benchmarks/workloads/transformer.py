"""Train a small transformer with hand-written attention on made-up protein sequences.

The model labels every position of a sequence, as secondary-structure prediction does: a stem (embedding,
profile, convolution, and the mean over a window), a stack of encoder layers (scaled dot-product attention
written out with bmm, division, mask, softmax and dropout, then a position-wise feed-forward net, each with a
residual and a layer norm), and one linear layer. Trained with Adam; the loss of each epoch is printed.

Besides torch's operators it runs numpy code, which masks residues and computes the profile of every batch,
and an operator of its own in C++ (window_mean.cpp: compiled on the first run, kept in the user's cache).

It runs every operator of the table in https://gist.github.com/mingfeima/e08310d7e7bb9ae2a693adecf2d8a916,
which are today `aten::` and the name there, save one: `mkldnn_convolution_backward_weights` and
`mkldnn_convolution_backward_input` have become `aten::convolution_backward`.

    python transformer.py --epochs 2 --steps 5
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

PADDING = 0
UNKNOWN = 21  # the residues proper are 1 to 20
RESIDUES = 22
LABELS = 8
HOMOLOGUES = 256  # sequences a profile is computed from
MUTATED = 0.3  # of a homologue's residues
MASKED = 0.05  # of the residues that the model gets to see
RADIUS = 2  # of the window
OWN_SOURCE = Path(__file__).with_name("window_mean.cpp")

Residues = npt.NDArray[np.int64]


def window_mean(x: Tensor) -> Tensor:
    """The mean of the positions at most RADIUS away; x and result [batch, length, width]."""
    return torch.ops.workloads.window_mean(x, RADIUS)


def composed_window_mean(x: Tensor) -> Tensor:
    """The same from torch's own operators."""
    across = x.transpose(1, 2)
    means = functional.avg_pool1d(across, 2 * RADIUS + 1, 1, RADIUS, count_include_pad=False)
    return means.transpose(1, 2)


def choose_window_mean(compiled: bool) -> Callable[[Tensor], Tensor]:
    """The operator in C++ if it is wanted and can be built."""
    if not compiled:
        return composed_window_mean
    try:
        load_operator()
    except (RuntimeError, OSError, ImportError, subprocess.SubprocessError) as error:
        reason = str(error).strip().split("\n", maxsplit=1)[0]
        print(f"window_mean is composed in Python, its C++ cannot be used: {reason}", flush=True)
        return composed_window_mean
    return window_mean


def load_operator() -> None:
    """Load workloads::window_mean from the user's cache folder, compiled when it is not there.

    Raises:
        RuntimeError, subprocess.SubprocessError: no compiler, no ninja, or they failed.
        OSError: the cache folder is not writable.
        ImportError: torch's build of extensions needs setuptools.
    """
    digest = hashlib.sha256(torch.__version__.encode() + OWN_SOURCE.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfprobe-workloads"
    library = cache / f"window_mean-{digest}.so"
    if library.exists():
        torch.ops.load_library(library)
    else:
        compile_operator(cache, library)


def compile_operator(cache: Path, library: Path) -> None:
    """Compile and load OWN_SOURCE in a folder of this process alone, then keep the library for later runs."""
    beside_python = os.path.dirname(sys.executable)  # where a virtual environment has its ninja
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), beside_python])
    for tool in (os.environ.get("CXX", "c++").split()[0], "ninja"):
        if shutil.which(tool) is None:
            raise RuntimeError(f"{tool} was not found")
    from torch.utils import cpp_extension

    print(f"compiling {OWN_SOURCE.name}, this once", file=sys.stderr, flush=True)
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        cpp_extension.load("window_mean", [str(OWN_SOURCE)], build_directory=folder, is_python_module=False)
        (Path(folder) / "window_mean.so").replace(library)


class Attention(nn.Module):
    """Multi-head attention, written out operator by operator; input and output [batch, length, width]."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.head_width = width // heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = dropout

    def split_heads(self, x: Tensor) -> Tensor:
        """[batch, length, width] to [batch * heads, length, head_width]."""
        batch, length, _ = x.shape
        x = x.view(batch, length, self.heads, self.head_width).transpose(1, 2)
        return x.reshape(batch * self.heads, length, self.head_width)

    def join_heads(self, x: Tensor, batch: int) -> Tensor:
        """[batch * heads, length, head_width] to [batch, length, width]."""
        _, length, _ = x.shape
        x = x.view(batch, self.heads, length, self.head_width).transpose(1, 2)
        return x.reshape(batch, length, self.heads * self.head_width)

    def forward(self, x: Tensor, padded: Tensor) -> Tensor:
        query = self.split_heads(self.query(x))
        key = self.split_heads(self.key(x))
        value = self.split_heads(self.value(x))
        scores = torch.bmm(query, key.transpose(1, 2))
        scores = scores / math.sqrt(self.head_width)
        scores = scores.masked_fill_(padded, -1e9)
        weights = functional.softmax(scores, dim=-1)
        weights = functional.dropout(weights, self.dropout, self.training)
        mixed = self.join_heads(torch.bmm(weights, value), x.shape[0])
        mixed = functional.dropout(self.output(mixed), self.dropout, self.training)
        normed: Tensor = self.norm(mixed + x)
        return normed


class FeedForward(nn.Module):
    """Two linear layers applied at every position, with a residual and a layer norm."""

    def __init__(self, width: int, inner_width: int, dropout: float) -> None:
        super().__init__()
        self.expand = nn.Linear(width, inner_width)
        self.contract = nn.Linear(inner_width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = torch.relu(self.expand(x))
        inner = functional.dropout(self.contract(inner), self.dropout, self.training)
        normed: Tensor = self.norm(inner + x)
        return normed


class EncoderLayer(nn.Module):
    """Attention, then the feed-forward net."""

    def __init__(self, width: int, heads: int, inner_width: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.feed_forward = FeedForward(width, inner_width, dropout)

    def forward(self, x: Tensor, padded: Tensor) -> Tensor:
        encoded: Tensor = self.feed_forward(self.attention(x, padded))
        return encoded


class Stem(nn.Module):
    """Residues [batch, length] and profile [batch, length, RESIDUES] to features [batch, length, width]."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__()
        self.embedding = nn.Embedding(RESIDUES, args.width, padding_idx=PADDING)
        self.positions = nn.Embedding(args.length, args.width)
        self.profile = nn.Linear(RESIDUES, args.width)
        self.convolution = nn.Conv1d(args.width, args.width, 2 * RADIUS + 1, padding=RADIUS)
        self.window_mean = choose_window_mean(args.compiled)
        self.norm = nn.LayerNorm(args.width)

    def forward(self, residues: Tensor, profile: Tensor) -> Tensor:
        x = self.embedding(residues)
        x = x + self.positions(torch.arange(residues.shape[1]))
        x = x + self.profile(profile)
        near = self.convolution(x.transpose(1, 2)).transpose(1, 2)
        x = x + near + self.window_mean(x)
        normed: Tensor = self.norm(x)
        return normed


class Transformer(nn.Module):
    """Residues [batch, length] and their profile to label scores [batch, length, LABELS]."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__()
        self.heads = args.heads
        self.stem = Stem(args)
        layers = [
            EncoderLayer(args.width, args.heads, args.inner_width, args.dropout) for _ in range(args.layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.classify = nn.Linear(args.width, LABELS)

    def forward(self, residues: Tensor, profile: Tensor) -> Tensor:
        batch, length = residues.shape
        padded = residues.eq(PADDING).unsqueeze(1).expand(batch, length, length)
        padded = padded.repeat_interleave(self.heads, dim=0)
        x = self.stem(residues, profile)
        for layer in self.layers:
            x = layer(x, padded)
        scores: Tensor = self.classify(x)
        return scores


def mask(residues: Residues, random: np.random.Generator) -> Residues:
    """Some of the residues made UNKNOWN, at random."""
    hidden = (random.random(residues.shape) < MASKED) & (residues != PADDING)
    return np.where(hidden, UNKNOWN, residues)


def profile_of(residues: Residues, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """The share of each residue at each position of made-up homologues.

    From [batch, length] to [batch, length, RESIDUES].
    """
    shape = (HOMOLOGUES, *residues.shape)
    aligned = np.where(random.random(shape) < MUTATED, random.integers(1, UNKNOWN, shape), residues)
    counts = np.stack([(aligned == residue).sum(axis=0) for residue in range(RESIDUES)], axis=-1)
    return counts.astype(np.float32) / np.float32(HOMOLOGUES)


@dataclass
class Training:
    """A model with its optimizer and its data; `step` trains on the next batch."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    batches: list[Residues]
    random: np.random.Generator
    done: int = 0

    def step(self) -> float:
        """One forward, backward and optimizer step; returns the loss."""
        residues, profile, labels = self.next_batch()
        self.optimizer.zero_grad()
        scores = self.model(residues, profile)
        loss = functional.cross_entropy(scores.reshape(-1, LABELS), labels.reshape(-1))
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def next_batch(self) -> tuple[Tensor, Tensor, Tensor]:
        """Residues, profile and labels; a label depends on its residue, so there is something to learn."""
        residues = self.batches[self.done % len(self.batches)]
        self.done += 1
        seen = torch.from_numpy(mask(residues, self.random))
        profile = torch.from_numpy(profile_of(residues, self.random))
        return seen, profile, torch.from_numpy(residues % LABELS)


def make_batches(args: argparse.Namespace, random: np.random.Generator) -> list[Residues]:
    """Random sequences [batch, length], padded at the end."""
    batches = []
    for _ in range(args.steps):
        residues = random.integers(1, UNKNOWN, (args.batch, args.length))
        lengths = random.integers(args.length // 2, args.length + 1, (args.batch, 1))
        batches.append(np.where(np.arange(args.length) < lengths, residues, PADDING))
    return batches


def build(args: argparse.Namespace) -> Training:
    """Model, optimizer and data for `args`, from `args.seed` alone."""
    torch.manual_seed(args.seed)
    random = np.random.default_rng(args.seed)
    batches = make_batches(args, random)
    model = Transformer(args)
    return Training(model, torch.optim.Adam(model.parameters(), lr=args.learning_rate), batches, random)


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; `parse([])` gives the defaults."""
    parser = argparse.ArgumentParser(description="train a small transformer on made-up sequences")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5, help="steps, of one batch each, in an epoch")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128, help="residues in a sequence")
    parser.add_argument("--width", type=int, default=128, help="features at a position")
    parser.add_argument("--inner-width", type=int, default=512, help="features inside the feed-forward net")
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument(
        "--threads", type=int, default=None, help="threads torch computes with (torch's own choice)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--no-compile", dest="compiled", action="store_false", help="the window mean without C++ of its own"
    )
    return parser.parse_args(argv)


def main() -> None:
    """Train and print the mean loss of every epoch."""
    args = parse()
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    training = build(args)
    for epoch in range(1, args.epochs + 1):
        losses = [training.step() for _ in range(args.steps)]
        print(f"epoch {epoch}/{args.epochs}: loss {sum(losses) / len(losses):.4f}", flush=True)


if __name__ == "__main__":
    main()
