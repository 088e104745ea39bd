"""A loop of operators of one or two microseconds: the worst case for anything that watches single operators.

Eight operators called from Python make fifteen dispatched ones a step (`addmm` and `relu` call others).

    python small_operators.py --steps 200000
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

EVENTS_A_STEP = 15


@dataclass
class Loop:
    """Small tensors and one `step` over them; the state stays bounded whatever the number of steps."""

    state: Tensor
    weight: Tensor
    bias: Tensor
    scale: Tensor

    def step(self) -> Tensor:
        """Eight small operators; returns the new state [rows, rows]."""
        x = torch.addmm(self.bias, self.state, self.weight)
        x = torch.tanh(x)
        x = torch.maximum(x, self.scale)
        x = x + self.state
        x = x * self.scale
        x = torch.addcmul(x, self.state, self.scale)
        x = torch.relu(x)
        self.state = torch.sigmoid(x)
        return self.state


def build(args: argparse.Namespace) -> Loop:
    """The loop's tensors for `args`, from `args.seed` alone."""
    torch.manual_seed(args.seed)
    rows = args.rows
    return Loop(
        torch.rand(rows, rows), torch.rand(rows, rows) / rows, torch.rand(rows), torch.rand(rows, rows)
    )


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; `parse([])` gives the defaults."""
    parser = argparse.ArgumentParser(description="run a loop of small operators")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--rows", type=int, default=8, help="rows and columns of every tensor")
    parser.add_argument("--threads", type=int, default=1, help="threads torch computes with")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def main() -> None:
    """Run the loop and print a checksum of the state."""
    args = parse()
    torch.set_num_threads(args.threads)
    with torch.no_grad():
        loop = build(args)
        for _ in range(args.steps):
            loop.step()
    print(f"{args.steps} steps: mean of the state {loop.state.mean().item():.6f}")


if __name__ == "__main__":
    main()
