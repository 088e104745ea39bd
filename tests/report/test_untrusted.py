"""For any file there is a report or one line that says what is wrong: no traceback, no hang."""

import json
import random
import tracemalloc
from pathlib import Path

import pytest

from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.support.errors import InputError
from perfprobe.tables import storage
from tests import encoding
from tests.report.test_text import findings, training
from tests.snapshots import Snapshot

MOST_BYTES = 64 << 20


def outcome(path: Path, data: bytes) -> str:
    encoding.replace(path, data)
    try:
        found = findings(storage.read(path))
        json.dumps(document(found), allow_nan=False)
        return render(found, width=80)
    except InputError as error:
        return f"error: {error}"


def payloads() -> list[bytes]:
    program = training()
    program.losses.append(("gpu", "no driver", 1, "install one"))
    program.progress.append((1_000, 500))
    main = program.counted("/p/train.py:8 main", 3, 700_000, 900_000, primitive_calls=1)
    program.call(main, program.counted("<built-in method len>", 5, 200_000, 200_000), 5, 200_000, 200_000)
    for at in range(0, 1_000_000, 100_000):
        program.sample(at, at + 100_000, "/p/train.py:20 main", "/p/model.py:88 attention", cpu_ns=at // 10)
    program.sample(1_000_000, 1_100_000, look=1, stack=-1)
    return [block[12:] for block in program.blocks(3)]


def test_a_file_cut_at_every_byte(tmp_path: Path, snapshot: Snapshot) -> None:
    data = training().encode(2)
    path = tmp_path / "cut.perfprobe"
    refused = {}
    for size in range(len(data)):
        if size < 12:
            refused[outcome(path, data[:size]).replace(str(path), "<path>")] = size
        elif size % 128 == 0:  # only read at the others: a report takes 20 ms
            assert "Incomplete: " in outcome(path, data[:size])
        else:
            encoding.replace(path, data[:size])
            assert not storage.read(path).complete
    snapshot("\n".join(f"up to {size} bytes: {said}" for said, size in refused.items()))


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    data = training().encode(2)
    whole = outcome(tmp_path / "whole.perfprobe", data)
    for at in range(0, len(data), 29):
        harmed = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        assert outcome(tmp_path / "flipped.perfprobe", harmed) != whole, at


def gpu_payloads() -> list[bytes]:
    """Kernels, copies, calls, waits and ranges in addition to operators."""
    program = training(gpu={"devices": [{"name": "A"}, 7, None]})
    launch = program.row("launches", 16, 1, 1, 128, 1, 1, 32, 0, 0, 0)
    for at in range(6):
        start_ns = at * 100_000
        program.api_call("cudaLaunchKernel", start_ns, start_ns + 5_000, at)
        program.kernel(
            "void at::k<int>(int)", start_ns + 9_000, start_ns + 50_000, at, launch=launch, graph=at % 2
        )
        program.copy(at % 11, start_ns + 60_000, start_ns + 70_000, at, is_async=at % 3 - 1)
        program.gpu_wait(at % 5, start_ns, start_ns + 30_000, at)
        program.named_range(
            "step", start_ns, -1 if at == 5 else start_ns + 99_000, domain="mine", kind=at % 3
        )
    program.row("gpu_overheads", 5, 10, 1)
    program.row("external_ids", 3, 0)
    return [block[12:] for block in program.blocks(3)]


def test_gpus_and_ranges_are_reported(tmp_path: Path) -> None:
    data = encoding.head() + b"".join(encoding.block(item) for item in gpu_payloads())
    text = outcome(tmp_path / "whole.perfprobe", data)
    for title in ("GPUs", "GPU kernels", "GPU copies", "GPU waits", "CUDA calls", "Ranges"):
        assert any(line.split("  ")[0] == title for line in text.splitlines())


@pytest.mark.parametrize(("seed", "of_gpus"), [(0, False), (1, False), (4, True), (5, True)])
def test_damaged_data_with_a_correct_checksum(tmp_path: Path, seed: int, of_gpus: bool) -> None:
    rng = random.Random(seed)
    good = gpu_payloads() if of_gpus else payloads()
    tracemalloc.start()
    try:
        for _ in range(14):
            harmed = list(good)
            for _ in range(rng.choice([1, 1, 2, 5])):
                at = rng.randrange(len(harmed))
                harmed[at] = mutated(rng, harmed[at])
            outcome(
                tmp_path / "harmed.perfprobe",
                encoding.head() + b"".join(encoding.block(item) for item in harmed),
            )
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def mutated(rng: random.Random, payload: bytes) -> bytes:
    at = rng.randrange(len(payload))
    kind = rng.randrange(4)
    if kind == 0:
        return payload[:at] + bytes([rng.randrange(256)]) + payload[at + 1 :]
    if kind == 1:
        return (
            payload[:at]
            + rng.choice([b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", b"\x00"])
            + payload[at:]
        )
    if kind == 2:
        return payload[:at] + payload[at + rng.randrange(1, 4) :]
    return payload[:at] + payload[at : at + 8] * 2 + payload[at + 8 :]
