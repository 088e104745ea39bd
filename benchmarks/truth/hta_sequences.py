"""HTA's table of frequent kernel sequences of real traces, saved in `hta_sequences.json` beside this file.

Run it with an interpreter that has HolisticTraceAnalysis 0.5.0 and pandas 2.2:

    python benchmarks/truth/hta_sequences.py FOLDER_OF_TRACES > benchmarks/truth/hta_sequences.json

For each trace and operator: the kernels under its calls, how often, their time and that of the calls, in
microseconds. HTA takes operators whose names contain the one asked for, and of these the outermost.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"

_FEWEST = 3  # HTA's `min_pattern_len`
_MOST = 1000
ASKED = {
    "a100_nccl": ("aten::cudnn_convolution", "aten::convolution_backward", "aten::_foreach_add_"),
    "v100_resnet50_num_workers_0": ("aten::conv2d", "aten::cudnn_convolution_backward"),
    "h100_qwen_0.5b": ("aten::scaled_dot_product_attention", "aten::linear"),
}


def sequences(path: Path, operator: str) -> list[dict[str, Any]]:
    """The rows of HTA's table; empty if it finds no such sequence."""
    hta = importlib.import_module("hta.trace_analysis")
    analysis = hta.TraceAnalysis(trace_files={0: str(path)}, include_last_profiler_step=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = analysis.get_frequent_cuda_kernel_sequences(
            operator_name=operator, output_dir=folder, min_pattern_len=_FEWEST, top_k=_MOST, visualize=False
        )
    return [
        {
            "kernels": row["pattern"].split("|"),
            "times": int(row["count"]),
            "gpu_us": float(row["GPU kernel duration (us)"]),
            "operator_us": float(row["CPU op duration (us)"]),
        }
        for row in rows.to_dict("records")
    ]


def main() -> None:
    """Print all tables as JSON."""
    logging.disable(logging.CRITICAL)
    folder = Path(sys.argv[1])
    found: dict[str, dict[str, Any]] = {}
    for name, operators in ASKED.items():
        for operator in operators:
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    rows: Any = sequences(folder / f"{name}.json.gz", operator)
            except Exception as error:  # what HTA cannot analyse
                rows = {"failed": f"{type(error).__name__}: {error}"[:200]}
            found.setdefault(name, {})[operator] = rows
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
