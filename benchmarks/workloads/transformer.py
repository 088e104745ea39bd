"""Train a small transformer with hand-written attention on made-up protein sequences.

The model labels every position of a sequence, as secondary-structure prediction does: embedding, a stack of
encoder layers (scaled dot-product attention written out with bmm, division, softmax and dropout, then a
position-wise feed-forward net, each with a residual and a layer norm), and one linear layer. Trained with
Adam; the loss of each epoch is printed.

    python transformer.py --epochs 2 --steps 5
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

PADDING = 0
RESIDUES = 21
LABELS = 8


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
        scores = scores.masked_fill(padded, -1e9)
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


class Transformer(nn.Module):
    """Residues [batch, length] to label scores [batch, length, LABELS]."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__()
        self.heads = args.heads
        self.embedding = nn.Embedding(RESIDUES, args.width, padding_idx=PADDING)
        self.positions = nn.Embedding(args.length, args.width)
        layers = [
            EncoderLayer(args.width, args.heads, args.inner_width, args.dropout) for _ in range(args.layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.classify = nn.Linear(args.width, LABELS)

    def forward(self, residues: Tensor) -> Tensor:
        batch, length = residues.shape
        padded = residues.eq(PADDING).unsqueeze(1).expand(batch, length, length)
        padded = padded.repeat_interleave(self.heads, dim=0)
        x = self.embedding(residues) + self.positions(torch.arange(length))
        for layer in self.layers:
            x = layer(x, padded)
        scores: Tensor = self.classify(x)
        return scores


@dataclass
class Training:
    """A model with its optimizer and its data; `step` trains on the next batch."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    batches: list[tuple[Tensor, Tensor]]
    done: int = 0

    def step(self) -> float:
        """One forward, backward and optimizer step; returns the loss."""
        residues, labels = self.batches[self.done % len(self.batches)]
        self.done += 1
        self.optimizer.zero_grad()
        scores = self.model(residues)
        loss = functional.cross_entropy(scores.reshape(-1, LABELS), labels.reshape(-1))
        loss.backward()
        self.optimizer.step()
        return loss.item()


def make_batches(args: argparse.Namespace) -> list[tuple[Tensor, Tensor]]:
    """Random sequences, padded at the end; a label depends on its residue, so there is something to learn."""
    batches = []
    for _ in range(args.steps):
        residues = torch.randint(1, RESIDUES, (args.batch, args.length))
        lengths = torch.randint(args.length // 2, args.length + 1, (args.batch, 1))
        residues[torch.arange(args.length) >= lengths] = PADDING
        batches.append((residues, residues % LABELS))
    return batches


def build(args: argparse.Namespace) -> Training:
    """Model, optimizer and data for `args`, from `args.seed` alone."""
    torch.manual_seed(args.seed)
    batches = make_batches(args)
    model = Transformer(args)
    return Training(model, torch.optim.Adam(model.parameters(), lr=args.learning_rate), batches)


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
