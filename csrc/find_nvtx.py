"""Find the NVTX headers that emitting ranges needs: from the wheel nvidia-nvtx, or from CUDA.

Prints the folder that contains nvtx3/. If there is none, prints one line on stderr and exits with code 1.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

HEADER = Path("nvtx3", "nvToolsExt.h")


def include_folders() -> Iterator[Path]:
    """The folder of the wheel (nvidia/cu13/include), then those of the CUDA toolkit."""
    sites = [Path(entry) for entry in sys.path if entry] + [Path(sysconfig.get_path("purelib"))]
    for site in sites:
        yield from sorted(site.glob("nvidia/*/include"), reverse=True)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable], "include")
    yield Path("/usr/local/cuda/include")


def main() -> int:
    """Print the first folder that exists."""
    for folder in include_folders():
        if (folder / HEADER).is_file():
            print(folder)
            return 0
    print("the NVTX headers were not found (pip install nvidia-nvtx)", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
