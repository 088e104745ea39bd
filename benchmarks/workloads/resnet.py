"""Train a ResNet-18 for small images, fed by a DataLoader whose items are made and augmented in Python.

A convolution, four stages of two residual blocks, the mean over the image and one linear layer; batch norm
throughout, SGD with momentum. The images are made up: a stripe pattern for each class, in noise.

    python resnet.py --epochs 1 --images 32
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

CLASSES = 10
CHANNELS = 3
MARGIN = 4  # pixels around an image that it is shifted within
STAGES = (1, 2, 4, 8)  # widths, in multiples of the first
BLOCKS = 2  # in a stage

Image = npt.NDArray[np.float32]  # [CHANNELS, size, size]
Batch = tuple[Tensor, Tensor]  # images and classes


class Block(nn.Module):
    """Two convolutions with batch norm, and a residual; [batch, width_in, ...] to [batch, width_out, ...]."""

    def __init__(self, width_in: int, width_out: int, stride: int) -> None:
        super().__init__()
        self.convolution1 = nn.Conv2d(width_in, width_out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width_out)
        self.convolution2 = nn.Conv2d(width_out, width_out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or width_in != width_out:
            projection = nn.Conv2d(width_in, width_out, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(width_out))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm1(self.convolution1(x))
        inner = functional.relu(inner)
        inner = self.norm2(self.convolution2(inner))
        joined = inner + self.shortcut(x)
        return functional.relu(joined)


class ResNet(nn.Module):
    """Images [batch, CHANNELS, size, size] to class scores [batch, CLASSES]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(CHANNELS, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        blocks = []
        width_in = width
        for stage, multiple in enumerate(STAGES):
            for place in range(BLOCKS):
                stride = 2 if stage > 0 and place == 0 else 1
                blocks.append(Block(width_in, width * multiple, stride))
                width_in = width * multiple
        self.blocks = nn.Sequential(*blocks)
        self.classify = nn.Linear(width_in, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        x = self.norm(self.convolution(images))
        x = functional.relu(x)
        x = self.blocks(x)
        x = x.mean(dim=(2, 3))
        scores: Tensor = self.classify(x)
        return scores


class Stripes(Dataset[tuple[Tensor, int]]):
    """Made-up images with their class; each item is drawn and augmented when it is asked for."""

    def __init__(self, images: int, size: int, seed: int) -> None:
        self.images = images
        self.size = size
        self.seed = seed

    def __len__(self) -> int:
        return self.images

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        random = np.random.default_rng([self.seed, index])
        kind = index % CLASSES
        image = draw(kind, self.size + 2 * MARGIN, random)
        image = flip(shift(image, self.size, random), random)
        return torch.from_numpy(normalise(image)), kind


def draw(kind: int, size: int, random: np.random.Generator) -> Image:
    """Stripes at an angle that tells the class, in noise."""
    angle = np.pi * kind / CLASSES
    rows, columns = np.mgrid[:size, :size]
    stripes = np.sin(rows * np.cos(angle) + columns * np.sin(angle))
    return (stripes + random.normal(0, 0.5, (CHANNELS, size, size))).astype(np.float32)


def shift(image: Image, size: int, random: np.random.Generator) -> Image:
    """A part of the image, `size` by `size`, at a random place."""
    top, left = random.integers(0, 2 * MARGIN + 1, 2)
    return image[:, top : top + size, left : left + size]


def flip(image: Image, random: np.random.Generator) -> Image:
    """The image upside down, every other time: stripes keep their class when turned by half."""
    return image[:, ::-1, ::-1] if random.random() < 0.5 else image


def normalise(image: Image) -> Image:
    """Mean 0 and standard deviation 1 in each channel."""
    mean = image.mean(axis=(1, 2), keepdims=True)
    deviation = image.std(axis=(1, 2), keepdims=True)
    return (image - mean) / (deviation + np.float32(1e-6))


@dataclass
class Training:
    """A model with its optimizer and its data; `step` trains on the next batch."""

    model: ResNet
    optimizer: torch.optim.Optimizer
    batches: Iterator[Batch]
    batches_an_epoch: int

    def step(self) -> float:
        """One forward, backward and optimizer step; returns the loss."""
        images, kinds = next(self.batches)
        self.optimizer.zero_grad()
        scores = self.model(images)
        loss = functional.cross_entropy(scores, kinds)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def endless(loader: DataLoader[tuple[Tensor, int]]) -> Iterator[Batch]:
    """All batches, again and again."""
    while True:
        yield from loader


def build(args: argparse.Namespace) -> Training:
    """Model, optimizer and data for `args`, from `args.seed` alone."""
    torch.manual_seed(args.seed)
    images = Stripes(args.images, args.size, args.seed)
    loader = DataLoader(images, args.batch, shuffle=True, num_workers=args.workers)
    model = ResNet(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=0.9, weight_decay=5e-4)
    return Training(model, optimizer, endless(loader), len(loader))


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; `parse([])` gives the defaults."""
    parser = argparse.ArgumentParser(description="train a small ResNet-18 on made-up images")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--images", type=int, default=64, help="images in an epoch")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=32, help="rows and columns of an image")
    parser.add_argument("--width", type=int, default=32, help="channels of the first stage")
    parser.add_argument("--workers", type=int, default=0, help="processes that make the images (0: this one)")
    parser.add_argument("--learning-rate", type=float, default=0.05)
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
        losses = [training.step() for _ in range(training.batches_an_epoch)]
        print(f"epoch {epoch}/{args.epochs}: loss {sum(losses) / len(losses):.4f}", flush=True)


if __name__ == "__main__":
    main()
