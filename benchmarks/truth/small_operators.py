"""What small_operators.py runs, read from its source: no modules, no gradients."""

from __future__ import annotations

from argparse import Namespace

from benchmarks.truth.entries import Entry

LINES = (
    ("x = torch.addmm(self.bias, self.state, self.weight)", "addmm"),
    ("x = torch.tanh(x)", "tanh"),
    ("x = torch.maximum(x, self.scale)", "maximum"),
    ("x = x + self.state", "add"),
    ("x = x * self.scale", "mul"),
    ("x = torch.addcmul(x, self.state, self.scale)", "addcmul"),
    ("x = torch.relu(x)", "relu"),
    ("self.state = torch.sigmoid(x)", "sigmoid"),
)


def entries(args: Namespace) -> list[Entry]:
    """The table for these arguments."""
    return [Entry(text, None, args.steps, operator, phase="other") for text, operator in LINES]
