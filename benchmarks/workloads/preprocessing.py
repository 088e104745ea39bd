"""Prepare made-up text in plain Python, letter by letter, then run a few small tensors over it.

Every batch of documents goes through three phases of many small function calls: `tokenize` splits text into
words and word pieces, `count` counts them and their pairs, `encode` turns them into numbers. The fourth,
`score`, averages embeddings and takes a softmax, in a few operators.

    python preprocessing.py --batches 50 --phases
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

VOWELS = "aeiou"
CONSONANTS = "bcdfghjklmnprstvz"
UNKNOWN = 0
CLASSES = 8


def is_letter(character: str) -> bool:
    """Whether a character is part of a word."""
    return "a" <= character <= "z"


def lower(character: str) -> str:
    """The small form of an ASCII letter."""
    return chr(ord(character) + 32) if "A" <= character <= "Z" else character


def split_words(text: str) -> Iterator[str]:
    """Runs of letters, in small letters."""
    word = ""
    for character in map(lower, text):
        if is_letter(character):
            word += character
        elif word:
            yield word
            word = ""
    if word:
        yield word


def stem(word: str) -> str:
    """The word without a plural's ending."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def split_pieces(word: str, longest: int = 4) -> list[str]:
    """A word in pieces of at most `longest` letters."""
    return [word[start : start + longest] for start in range(0, len(word), longest)]


def tokenize(text: str) -> list[str]:
    """The word pieces of a document."""
    pieces: list[str] = []
    for word in split_words(text):
        pieces.extend(split_pieces(stem(word)))
    return pieces


def add_one(counts: Counter[str], key: str) -> None:
    """One more of `key`."""
    counts[key] = counts.get(key, 0) + 1


def count(pieces: list[str], counts: Counter[str]) -> None:
    """Adds the pieces and the pairs of neighbours to the counts."""
    previous = ""
    for piece in pieces:
        add_one(counts, piece)
        add_one(counts, f"{previous} {piece}")
        previous = piece


def number_of(piece: str, numbers: dict[str, int], size: int) -> int:
    """The piece's number, given at first sight; UNKNOWN when all are taken."""
    number = numbers.get(piece, UNKNOWN)
    if number == UNKNOWN and len(numbers) + 1 < size:
        number = numbers[piece] = len(numbers) + 1
    return number


def encode(pieces: list[str], numbers: dict[str, int], size: int) -> list[int]:
    """The numbers of a document's pieces."""
    return [number_of(piece, numbers, size) for piece in pieces]


@dataclass
class Preparation:
    """Documents and what is learnt from them; `step` prepares and scores the next batch."""

    documents: list[str]
    batch: int
    embedding: Tensor
    classes: Tensor
    counts: Counter[str] = field(default_factory=Counter)
    numbers: dict[str, int] = field(default_factory=dict)
    phases_s: dict[str, float] = field(default_factory=dict)
    done: int = 0

    def step(self) -> Tensor:
        """One batch through all phases; the class shares [batch, CLASSES]."""
        begin = time.perf_counter()
        tokenized = [tokenize(text) for text in self.next_documents()]
        begin = self.note("tokenize", begin)
        for pieces in tokenized:
            count(pieces, self.counts)
        begin = self.note("count", begin)
        encoded = [encode(pieces, self.numbers, len(self.embedding)) for pieces in tokenized]
        begin = self.note("encode", begin)
        shares = self.score(encoded)
        self.note("score", begin)
        return shares

    def next_documents(self) -> list[str]:
        """The next batch, from the first document again after the last."""
        start = self.done % len(self.documents)
        self.done += self.batch
        return self.documents[start : start + self.batch]

    def note(self, phase: str, begin: float) -> float:
        """Adds the time since `begin` to the phase; returns the time now."""
        now = time.perf_counter()
        self.phases_s[phase] = self.phases_s.get(phase, 0.0) + now - begin
        return now

    def score(self, encoded: list[list[int]]) -> Tensor:
        """Class shares from the mean of each document's embeddings."""
        means = [self.embedding[torch.tensor(numbers)].mean(dim=0) for numbers in encoded]
        return torch.softmax(torch.stack(means) @ self.classes, dim=-1)


def make_document(words: list[str], length: int, source: random.Random) -> str:
    """Words, some of them capital or plural, with blanks and full stops between."""
    drawn = source.choices(words, k=length)
    drawn = [word.capitalize() if source.random() < 0.2 else word for word in drawn]
    drawn = [word + "s" if source.random() < 0.2 else word for word in drawn]
    return "".join(word + source.choice((" ", " ", " ", ". ")) for word in drawn)


def make_word(source: random.Random) -> str:
    """Two to five syllables."""
    syllables = source.randint(2, 5)
    return "".join(source.choice(CONSONANTS) + source.choice(VOWELS) for _ in range(syllables))


def build(args: argparse.Namespace) -> Preparation:
    """Documents and tensors for `args`, from `args.seed` alone."""
    torch.manual_seed(args.seed)
    source = random.Random(args.seed)
    words = [make_word(source) for _ in range(args.words)]
    documents = [make_document(words, args.length, source) for _ in range(args.batch * 10)]
    return Preparation(
        documents, args.batch, torch.rand(args.vocabulary, args.width), torch.rand(args.width, CLASSES)
    )


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; `parse([])` gives the defaults."""
    parser = argparse.ArgumentParser(description="prepare made-up text in plain Python")
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16, help="documents in a batch")
    parser.add_argument("--length", type=int, default=100, help="words in a document")
    parser.add_argument("--words", type=int, default=2000, help="different words")
    parser.add_argument("--vocabulary", type=int, default=1000, help="word pieces that get a number")
    parser.add_argument("--width", type=int, default=64, help="features of a word piece")
    parser.add_argument("--phases", action="store_true", help="print each phase's share of the time")
    parser.add_argument("--threads", type=int, default=1, help="threads torch computes with")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def main() -> None:
    """Prepare all batches and print what was counted."""
    args = parse()
    torch.set_num_threads(args.threads)
    preparation = build(args)
    shares = [preparation.step() for _ in range(args.batches)]
    common = ", ".join(f"{key!r} {times}" for key, times in preparation.counts.most_common(3))
    print(f"{args.batches} batches: {len(preparation.numbers)} word pieces, most often {common}")
    print(f"share of the first class {torch.cat(shares)[:, 0].mean().item():.4f}")
    if args.phases:
        whole_s = sum(preparation.phases_s.values())
        for phase, seconds in preparation.phases_s.items():
            print(f"{phase} {100 * seconds / whole_s:.1f} % of {whole_s:.2f} s")


if __name__ == "__main__":
    main()
