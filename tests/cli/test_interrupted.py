"""Programs that are interrupted, once or more often: they end as under plain python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.tables import storage

INTERRUPTED = {
    "waits": "print('ready', flush=True); time.sleep(99)",
    "a second time": """
try:
    print('ready', flush=True); time.sleep(99)
except KeyboardInterrupt:
    print('ready', flush=True); time.sleep(99)
""",
    "at its end": """
import atexit
atexit.register(lambda: (print('ready', flush=True), time.sleep(99)))
print('ready', flush=True); time.sleep(99)
""",
    "its own handler": """
import signal
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
print('ready', flush=True); time.sleep(99)
""",
    "ignored": """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
print('ready', flush=True); time.sleep(0.2)
""",
    "workers": """
import torch
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 10**9
    def __getitem__(self, index):
        return index
if __name__ == "__main__":
    for batch in torch.utils.data.DataLoader(Data(), num_workers=2):
        if int(batch) == 9:
            print('ready', flush=True)
""",
}


def interrupted(words: list[str], folder: Path) -> tuple[int, bytes, bytes]:
    """Status, output and last line of errors of a process group that gets SIGINT whenever it is ready."""
    with subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        out = []
        for line in process.stdout:
            out.append(line)
            os.killpg(process.pid, signal.SIGINT)
        errors = [line for line in process.stderr.read().splitlines() if not line.startswith(b"perfprobe: ")]
    return process.returncode, b"".join(out), errors[-1] if errors else b""


@pytest.mark.parametrize("program", INTERRUPTED)
def test_interrupted_programs_end_as_under_plain_python(program: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(f"import sys, time\n{INTERRUPTED[program]}")
    plain = interrupted(["main.py"], tmp_path)
    assert interrupted(["-m", "perfprobe", "-q", "-o", "out.perfprobe", "main.py"], tmp_path) == plain
    storage.read(tmp_path / "out.perfprobe")
