"""NVIDIA's own iterator steps through records as our decoder expects, with every libcupti that is found.

PERFPROBE_CUPTI_LIBRARIES: paths of more libraries, separated by colons.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NEEDED = "no libcupti is installed here; name some in PERFPROBE_CUPTI_LIBRARIES"

# Lengths of the records that have grown since 12.1, by version of CUPTI's interface.
GROWN = {
    18: {"10": 208, "1": 88, "17": 40, "38": 40},
    22: {"10": 208, "1": 88, "17": 56, "38": 40},
    28: {"10": 208, "1": 96, "17": 56, "38": 56},
    130001: {"10": 216, "1": 96, "17": 56, "38": 56},
    130101: {"10": 224, "1": 96, "17": 56, "38": 56},
}


def libraries() -> list[Path]:
    named = [Path(path) for path in os.environ.get("PERFPROBE_CUPTI_LIBRARIES", "").split(":") if path]
    packages = Path(sysconfig.get_path("purelib"))
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    found = [
        *packages.glob("nvidia/*/lib/libcupti.so.[0-9][0-9]"),
        *toolkit.glob("lib*/libcupti.so.[0-9][0-9]"),
        *toolkit.glob("extras/CUPTI/lib*/libcupti.so.[0-9][0-9]"),
    ]
    return named + sorted({path.resolve() for path in found})


@pytest.mark.parametrize(
    "library", libraries() or [pytest.param(None, marks=pytest.mark.skip(NEEDED))], ids=str
)
def test_the_library_steps_as_the_decoder_expects(library: Path) -> None:
    command = [sys.executable, "-m", "tests.collect.walk_cupti", str(library)]
    walked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if walked.returncode < 0:
        pytest.skip(f"it dies of signal {-walked.returncode} without a driver")
    assert walked.returncode == 0, walked.stderr
    seen = json.loads(walked.stdout)
    if not all(seen["strides"].values()):
        pytest.skip(f"its iterator refuses without a driver: cuptiGetVersion returns {seen['result']}")
    strides = seen["strides"]
    grown = GROWN.get(seen["version"], {})
    assert {kind: strides[kind] for kind in grown} == grown
    assert [strides[kind] for kind in ("4", "5", "22", "39")] == [40, 40, 96, 24]
    assert seen["kernel"] == ["void axpy<float>(float const*, float*, int)", 5000, 5250]
    assert seen["call"] == ["cudaLaunchKernel", 46]
    assert seen["rows"] == [7, 1]
    assert seen["figures"]["records"] == 8
    assert seen["figures"]["malformed"] == seen["figures"]["unknown_kinds"] == 0
    assert seen["figures"]["copies"][1] == [1, 5_000_000_000, 300]
    # Cut after every byte: all complete records before the cut are seen, and the cut itself is noticed.
    ends = seen["ends"]
    assert seen["cut"]["records"] == sum(size >= end for size in range(ends[-1] + 1) for end in ends)
    # If one to three bytes of a kind are left, the library reads on and may find a false kind.
    noticed = seen["cut"]["malformed"] + seen["cut"]["unknown_kinds"]
    assert noticed == ends[-1] - len(ends)
