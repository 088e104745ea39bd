"""Runs a command of perfprobe in which one of its own calls fails, and judges how it ended."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfprobe.support.errors import PerfprobeError
from perfprobe.tables import storage

SOURCES = Path(__file__).parent.parent / "native" / "faults"
# In the order of `Kind` in faults.h.
KINDS = (
    *("open", "read", "write", "status", "change", "descriptor", "map", "thread", "fork"),
    *("socket", "message", "perf", "process", "memory"),
)
LIMIT_S = 120
PLAIN = "import sys\nprint('hello', sum(range(10)))\nsys.exit(7)\n"
TORCH = """
import torch
from torch.utils.data import DataLoader
if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x in DataLoader(torch.ones(12, 4), batch_size=4, num_workers=1):
        net(x).sum().backward()
        optimizer.step()
    print("net", float(net.weight.sum()))
    raise SystemExit(7)
"""


@dataclass(frozen=True)
class Command:
    """A command of perfprobe.

    Attributes:
        words: those after `python`. A program is `program.py`, a recording to read `made.perfprobe`.
        program: the source of `program.py`.
        is_all: every call below a frame of perfprobe is its own, not only those that it makes itself.
    """

    words: tuple[str, ...]
    program: str = ""
    is_all: bool = False


_RUN = ("-m", "perfprobe", "-o", "run.perfprobe")
COMMANDS = {
    "run": Command((*_RUN, "-q", "program.py"), PLAIN),
    "run-torch": Command((*_RUN, "-q", "program.py"), TORCH),
    "run-report": Command((*_RUN, "program.py"), TORCH),
    "run-wait": Command((*_RUN, "-q", "--wait", "program.py"), PLAIN),
    "report": Command(("-m", "perfprobe", "report", "made.perfprobe"), is_all=True),
    "bench": Command(("-m", "perfprobe", "bench", "--quick", "relu", "f32[8]"), is_all=True),
}


def build(folder: Path) -> Path:
    """The library that makes calls fail.

    Raises:
        RuntimeError: why it cannot be compiled.
    """
    compiler = shutil.which(os.environ.get("CXX", "c++").split()[0])
    if compiler is None:
        raise RuntimeError("there is no C++ compiler")
    library = folder / "libfaults.so"
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared", "-pthread"]
    sources = [str(source) for source in sorted(SOURCES.glob("*.cpp"))]
    made = subprocess.run(
        [compiler, *flags, "-o", str(library), *sources, "-ldl"], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return library


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        status: exit status; None if it did not end.
        calls: how many calls of its own it made, by kind.
        where: the place in perfprobe whose call failed; empty if none did.
    """

    status: int | None
    out: str
    err: str
    calls: dict[str, int]
    where: str = ""


def run(command: Command, folder: Path, library: Path | None, fault: str = "") -> Ended:
    """Runs it in this folder, where `fault` (`open:3`) fails. Without a library, nothing is counted."""
    counts = folder / "counts"
    counts.unlink(missing_ok=True)
    (folder / "run.perfprobe").unlink(missing_ok=True)
    (folder / "program.py").write_text(command.program)
    variables = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    if library is not None:
        variables |= {"LD_PRELOAD": str(library), "FAULTS_FILE": str(counts)}
        variables |= {"FAULTS": fault} if fault else {}
        variables |= {"FAULTS_ALL": "1"} if command.is_all else {}
    words = [sys.executable, *command.words]
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        process.returncode = None
    calls, where = _counts(counts)
    return Ended(process.returncode, out.decode(), err.decode(), calls, where)


def _counts(path: Path) -> tuple[dict[str, int], str]:
    head = struct.Struct(f"{len(KINDS) + 1}Q")
    if not path.exists():
        return {}, ""
    data = path.read_bytes()
    values = head.unpack_from(data)
    return dict(zip(KINDS, values, strict=False)), data[head.size :].partition(b"\0")[0].decode()


def wrong(command: Command, ended: Ended, plain: Ended, folder: Path) -> str:
    """What is wrong with how it ended; empty if nothing is.

    plain: the program under plain python, or the command without a fault.
    """
    if ended.status is None:
        return "hangs"
    if ended.status < 0:
        return f"signal {-ended.status}"
    for sign in (
        "Traceback",
        "internal error",
        "terminate called",
        "Fatal Python error",
        "Exception ignored",
    ):
        if sign in ended.err:
            return sign
    if command.program:
        return _wrong_run(ended, plain, folder)
    if ended.status != 0 and not _is_one_line(ended.err):
        return "no clear line"
    return ""


def _wrong_run(ended: Ended, plain: Ended, folder: Path) -> str:
    if ended.status == plain.status:
        if ended.out != plain.out:
            return "other output"
    elif ended.out or not _is_one_line(ended.err):  # the program was not begun
        return f"exit {ended.status}"
    path = folder / "run.perfprobe"
    try:
        if path.exists():
            storage.read(path)
    except PerfprobeError as error:
        return f"unreadable recording: {error}"
    return ""


def _is_one_line(err: str) -> bool:
    return err.count("\n") == 1 and (
        err.startswith("perfprobe: ") or "can't open file" in err
    )  # Python's words


def plain(command: Command, folder: Path, library: Path) -> Ended:
    """The program under plain python; the command without a fault, if it runs none."""
    if not command.program:
        return run(command, folder, library)
    return run(Command(("program.py",), command.program), folder, None)


def prepared(command: Command, folder: Path) -> None:
    """Makes what the command needs in this folder."""
    folder.mkdir(exist_ok=True)
    if "made.perfprobe" in command.words:
        (folder / "program.py").write_text(TORCH)
        words: Sequence[str] = ("-m", "perfprobe", "-q", "-o", "made.perfprobe", "program.py")
        subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False)
