"""What preprocessing.py runs, read from its source: no modules, no gradients."""

from __future__ import annotations

from argparse import Namespace

from benchmarks.truth.entries import Entry

MEANS = "means = [self.embedding[torch.tensor(numbers)].mean(dim=0) for numbers in encoded]"
SHARES = "return torch.softmax(torch.stack(means) @ self.classes, dim=-1)"


def entries(args: Namespace) -> list[Entry]:
    """The table for these arguments."""
    documents = args.batches * args.batch
    return [
        Entry(MEANS, None, documents, "index", phase="other"),
        Entry(SHARES, None, args.batches, "stack matmul mm softmax _softmax", phase="other"),
    ]
