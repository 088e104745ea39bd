"""Whatever is in the recording: every export is made, or one line says why not."""

import contextlib
import random
from pathlib import Path

import pytest

from perfprobe.cli.export import FORMATS
from perfprobe.results import Results
from perfprobe.support.errors import InputError, UsageError
from tests import build
from tests.report.exports import counted, sampled
from tests.report.test_untrusted import mutated


@pytest.mark.parametrize("seed", range(4))
def test_damage_with_a_right_checksum(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    payloads = [block[12:] for block in counted(sampled()).blocks(3)]
    path = tmp_path / "damaged.perfprobe"
    for _ in range(40):
        harmed = list(payloads)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(harmed))
            harmed[at] = mutated(rng, harmed[at])
        path.write_bytes(build.head() + b"".join(build.block(payload) for payload in harmed))
        for form, times in [*((form, None) for form in FORMATS), ("pstats", "samples")]:
            with contextlib.suppress(InputError, UsageError):
                assert Results(str(path)).export(form, times).data is not None
