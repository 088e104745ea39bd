"""Train an LSTM language model on made-up text, by truncated backpropagation through time.

The text is a walk over a sparse random graph of words, so that the next word can be guessed in part. Each
column of the batch has a text of its own; the LSTM's state goes on from window to window, detached. Gradients
are clipped, the optimizer is Adam.

    python language_model.py --epochs 1 --windows 4
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

FOLLOWERS = 4  # words that may come after a word
LAYERS = 2

State = tuple[Tensor, Tensor]  # hidden and cell, each [LAYERS, batch, width]


class LanguageModel(nn.Module):
    """Words [window, batch] and a state to scores of the next word [window, batch, words] and a state."""

    def __init__(self, words: int, width: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, width, LAYERS)
        self.decoder = nn.Linear(width, words)

    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        x = self.embedding(words)
        x = self.dropout(x)
        x, state = self.lstm(x, state)
        scores = self.decoder(x)
        return scores, state


@dataclass
class Training:
    """A model with its optimizer and its text [length, batch]; `step` trains on the next window of it."""

    model: LanguageModel
    optimizer: torch.optim.Optimizer
    text: Tensor
    window: int
    clip: float
    state: State
    start: int = 0

    def step(self) -> float:
        """One forward, backward and optimizer step; returns the loss, in nats a word."""
        words, following = self.next_window()
        self.optimizer.zero_grad()
        scores, self.state = self.model(words, self.state)
        loss = functional.cross_entropy(scores.flatten(0, 1), following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        return loss.item()

    def next_window(self) -> tuple[Tensor, Tensor]:
        """Words and the next ones. The state's history ends here, and at the end of the text the state."""
        hidden, cell = self.state
        self.state = hidden.detach(), cell.detach()
        if self.start + self.window >= len(self.text):
            self.start = 0
            self.state = torch.zeros_like(hidden), torch.zeros_like(cell)
        words = self.text[self.start : self.start + self.window]
        following = self.text[self.start + 1 : self.start + self.window + 1]
        self.start += self.window
        return words, following


def make_text(length: int, batch: int, words: int) -> Tensor:
    """[length, batch]; each word is one of the FOLLOWERS of the word before it."""
    followers = torch.randint(words, (words, FOLLOWERS))
    choices = torch.randint(FOLLOWERS, (length, batch))
    text = torch.empty(length, batch, dtype=torch.int64)
    word = torch.randint(words, (batch,))
    for place in range(length):
        text[place] = word
        word = followers[word, choices[place]]
    return text


def build(args: argparse.Namespace) -> Training:
    """Model, optimizer and text for `args`, from `args.seed` alone."""
    torch.manual_seed(args.seed)
    text = make_text(args.windows * args.window + 1, args.batch, args.words)
    model = LanguageModel(args.words, args.width, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)
    nothing = torch.zeros(LAYERS, args.batch, args.width)
    return Training(model, optimizer, text, args.window, args.clip, (nothing, nothing))


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; `parse([])` gives the defaults."""
    parser = argparse.ArgumentParser(description="train an LSTM language model on made-up text")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--windows", type=int, default=10, help="windows, of one step each, in an epoch")
    parser.add_argument("--window", type=int, default=32, help="words that gradients go back over")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--words", type=int, default=2000, help="different words")
    parser.add_argument("--width", type=int, default=128, help="features of a word and of the LSTM")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0, help="greatest norm of all gradients together")
    parser.add_argument("--learning-rate", type=float, default=1e-2)
    parser.add_argument(
        "--threads", type=int, default=None, help="threads torch computes with (torch's own choice)"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def main() -> None:
    """Train and print the perplexity of every epoch."""
    args = parse()
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    training = build(args)
    for epoch in range(1, args.epochs + 1):
        losses = [training.step() for _ in range(args.windows)]
        perplexity = math.exp(sum(losses) / len(losses))
        print(f"epoch {epoch}/{args.epochs}: perplexity {perplexity:.1f}", flush=True)


if __name__ == "__main__":
    main()
