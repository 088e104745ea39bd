"""Find the NVTX headers that perfprobe emits ranges by: those of the wheel nvidia-nvtx, or of CUDA.

Prints the folder that holds nvtx3/; where there is none, one line on stderr saying so and exit code 1.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

HEADER = Path("nvtx3", "nvToolsExt.h")


def include_folders() -> Iterator[Path]:
    """Where the wheel puts them (nvidia/cu13/include), then the toolkit's own."""
    sites = [Path(entry) for entry in sys.path if entry] + [Path(sysconfig.get_path("purelib"))]
    for site in sites:
        yield from sorted(site.glob("nvidia/*/include"), reverse=True)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable], "include")
    yield Path("/usr/local/cuda/include")


def main() -> int:
    """Say which folder was found first."""
    for folder in include_folders():
        if (folder / HEADER).is_file():
            print(folder)
            return 0
    print("the NVTX headers were not found (pip install nvidia-nvtx)", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
