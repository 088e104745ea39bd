"""Programs whose memory is counted by hand: a transformer, accumulation, checkpointing, and a leak."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, LAYERS, BATCH, LENGTH, LABELS = 64, 4, 3, 8, 64, 10
STEPS = 5
KINDS = ("transformer", "accumulation", "checkpointing", "leak")
LEAKED_BYTES = BATCH * LENGTH * LABELS * 4  # a step


class Block(nn.Module):
    """Attention without a fused kernel, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.heads_in = nn.Linear(WIDTH, 3 * WIDTH)
        self.heads_out = nn.Linear(WIDTH, WIDTH)
        self.expand = nn.Linear(WIDTH, 4 * WIDTH)
        self.contract = nn.Linear(4 * WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        heads = self.heads_in(self.norm(x)).view(batch, length, 3, HEADS, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(query @ key.transpose(-1, -2) / 4, -1)
        x = x + self.heads_out((weights @ value).transpose(1, 2).reshape(batch, length, width))
        done: Tensor = x + self.contract(torch.relu(self.expand(x)))
        return done


class Model(nn.Module):
    def __init__(self, checkpoints: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.classify = nn.Linear(WIDTH, LABELS)
        self.checkpoints = checkpoints

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
        labels: Tensor = self.classify(x)
        return labels


def loss_of(model: Model) -> tuple[Tensor, Tensor]:
    """Returns the loss of a random batch, and the model's output."""
    x, labels = torch.randn(BATCH, LENGTH, WIDTH), torch.randint(0, LABELS, (BATCH, LENGTH))
    found = model(x)
    return functional.cross_entropy(found.flatten(0, 1), labels.flatten()), found


def train(kind: str) -> list[Any]:
    """Trains a few steps; returns everything that stays alive."""
    model, kept = Model(kind == "checkpointing"), []
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        for _ in range(3 if kind == "accumulation" else 1):
            loss, found = loss_of(model)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if kind == "leak":
            kept.append(found.detach().exp())  # the leak
    return [model, optimizer, kept]


class Counter(TorchDispatchMode):
    """Counts the bytes of all storages that operators return, each until Python frees it."""

    def __init__(self) -> None:
        super().__init__()
        self.held_bytes = self.peak_bytes = 0
        self._alive: dict[int, tuple[int, Any]] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        results = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(results):
            if isinstance(tensor, Tensor):
                self._note(tensor.untyped_storage())
        return results

    def _note(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self._alive:
            return
        self._alive[key] = (storage.nbytes(), weakref.ref(storage, lambda _: self._forget(key)))
        self.held_bytes += storage.nbytes()
        self.peak_bytes = max(self.peak_bytes, self.held_bytes)

    def _forget(self, key: int) -> None:
        self.held_bytes -= self._alive.pop(key)[0]


def counted(kind: str) -> tuple[int, int]:
    """Returns peak and held bytes."""
    with Counter() as counter:
        kept = train(kind)
        held_bytes = counter.held_bytes
    del kept
    return counter.peak_bytes, held_bytes


def saved_bytes() -> int:
    """Bytes that forward saves for backward: each storage once, including parameters, without inputs."""
    model = Model(checkpoints=False)
    storages = {each.data_ptr(): each.nbytes for each in model.parameters()}
    inputs: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages.setdefault(storage.data_ptr(), storage.nbytes())
        return tensor

    x, labels = torch.randn(BATCH, LENGTH, WIDTH), torch.randint(0, LABELS, (BATCH, LENGTH))
    inputs = [x.data_ptr(), labels.data_ptr()]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = functional.cross_entropy(model(x).flatten(0, 1), labels.flatten())
    loss.backward()
    return sum(size for address, size in storages.items() if address not in inputs)


def malloc_counted(kind: str) -> tuple[int, int]:
    """Returns peak and held bytes by a preloaded counter of malloc, after a first run as warm-up."""
    import ctypes
    import gc

    library = ctypes.CDLL(None)
    for name in ("counter_held", "counter_peak"):
        getattr(library, name).restype = ctypes.c_long
    train(kind)
    gc.collect()
    library.counter_reset()
    before = library.counter_held()
    kept = train(kind)
    found = library.counter_peak() - before, library.counter_held() - before
    del kept
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in sys.argv[1:]:
        print(*malloc_counted(each))
