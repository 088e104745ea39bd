"""Plants faults in copies of the transformer and checks that `perfprobe bench` reports each of them.

Each copy is recorded (`--detail bench`) and its 20 hottest calls are measured, as a user would do. A fault
counts as found if it is reported for a call on the changed line. For faults that affect all calls, any call
counts.

    python -m benchmarks.planted [--only NAME] [--top 20] [--json FOLDER]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.overhead.tables import markdown

_PROGRAM = Path(__file__).parent / "workloads" / "transformer.py"
_GAIN = 1.15  # speed-up that `bench` calls a gain


@dataclass(frozen=True)
class Fault:
    """A change of the program, and what must be reported for a call on the changed line.

    Attributes:
        says: the verdict or one of its modifiers begins with this.
        change: a counterfactual with a gain begins with this.
        everywhere: it affects all calls, so any call may report it.
    """

    name: str
    old: str
    new: str
    says: tuple[str, ...] = ()
    change: tuple[str, ...] = ()
    everywhere: bool = False
    arguments: tuple[str, ...] = ()


FAULTS = (
    Fault(
        "a needless clone",
        "scores = torch.bmm(query, key.transpose(1, 2))\n",
        "scores = torch.bmm(query, key.transpose(1, 2)).clone()\n",
        says=("pure copy",),
    ),
    Fault(
        "float64 by accident",
        "scores = scores / math.sqrt(self.head_width)\n",
        "scores = scores / torch.from_numpy(np.sqrt(np.full(1, self.head_width)))\n",
        change=("f64→f32",),
    ),
    Fault(
        "one thread of two",
        "    training = build(args)\n",
        "    torch.set_num_threads(1)\n    training = build(args)\n",
        change=("1→2 threads",),
        everywhere=True,
    ),
    Fault(
        "a needless transposed copy",
        "weights = functional.softmax(scores, dim=-1)\n",
        "weights = functional.softmax(scores, dim=-1).transpose(1, 2).contiguous().transpose(1, 2)\n",
        says=("pure copy", "layout-bound"),
    ),
    Fault(
        "odd sizes",
        "mixed = self.join_heads(torch.bmm(weights, value), x.shape[0])\n",
        "mixed = self.join_heads(torch.bmm(weights, value), x.shape[0])  # heads of 13\n",
        says=("shape-bound",),
        change=("padded",),
        everywhere=True,
        arguments=("--width", "104"),
    ),
    Fault(
        "a Python loop of small operators",
        "scores = torch.bmm(query, key.transpose(1, 2))\n",
        "parts = [part / math.sqrt(self.head_width) for part in query.reshape(-1, 16, 16)]\n"
        "        scores = torch.bmm(torch.stack(parts).reshape(query.shape), key.transpose(1, 2))\n",
        says=("overhead-bound",),
    ),
)
# Further changes that the new types need; not a part of the fault.
_ALSO = {
    "float64 by accident": (
        "self.join_heads(torch.bmm(weights, value), x.shape[0])",
        "self.join_heads(torch.bmm(weights, value.double()).float(), x.shape[0])",
    )
}


def main() -> None:
    """Plant, record and measure each fault, then print what was reported."""
    args = _options()
    rows = []
    for fault in FAULTS:
        if args.only is not None and args.only not in fault.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = _measured(fault, Path(args.json or folder), args.top)
        reported = [text for row in found["calls"] for text in _reported(fault, row, found["line"])]
        print(f"{fault.name}: {'found' if reported else 'NOT FOUND'}", flush=True)
        rows.append([fault.name, "; ".join(reported[:3]) or "not found"])
    print(markdown(["planted", "told"], rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", help="only faults whose name contains this")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--json", metavar="FOLDER", help="keep programs, recordings and measurements there")
    return parser.parse_args()


def _measured(fault: Fault, folder: Path, top: int) -> dict[str, Any]:
    """The measured calls of a copy with the fault, and the number of the changed line."""
    text = _PROGRAM.read_text(encoding="utf-8")
    for old, new in ((fault.old, fault.new), _ALSO.get(fault.name, ("", ""))):
        assert old in text, f"{_PROGRAM.name} has changed: {old}"
        text = text.replace(old, new, 1) if old else text
    folder.mkdir(parents=True, exist_ok=True)
    name = fault.name.replace(" ", "_")
    program, recording = folder / f"{name}.py", folder / f"{name}.perfprobe"
    program.write_text(text, encoding="utf-8")
    arguments = ("--no-compile", *fault.arguments)
    _perfprobe("run", "-q", "--detail", "bench", "-o", str(recording), str(program), *arguments)
    found = json.loads(_perfprobe("bench", str(recording), "--top", str(top), "--json"))
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    before, _, _ = text.partition(fault.new.splitlines()[0])
    return {"calls": found["tables"]["measurements"], "line": f"{program.name}:{before.count(chr(10)) + 1}"}


def _perfprobe(*arguments: str) -> str:
    command = [sys.executable, "-m", "perfprobe", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _reported(fault: Fault, row: dict[str, Any], line: str) -> Iterator[str]:
    """Yields what is reported about the fault for this call."""
    lines = [place.rpartition("/")[2].split()[0] for place in row["seen"]["lines"]]
    if row["verdict"] is None or not (fault.everywhere or line in lines):
        return
    call = f"{row['wanted']['operator']} {row['wanted']['signature']} {lines[0] if lines else ''}"
    for text in (row["verdict"]["text"], *row["verdict"]["modifiers"]):
        if fault.says and text.startswith(fault.says):
            yield f"{call}: {text}"
    for tried in row["counterfactuals"]:
        if fault.change and tried["change"].startswith(fault.change) and tried["speedup"]["low"] >= _GAIN:
            yield f"{call}: {tried['change']} {tried['speedup']['value']:.2f}x"


if __name__ == "__main__":
    main()
