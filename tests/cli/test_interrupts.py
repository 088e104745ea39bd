from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from perfprobe.support import starter


def interrupted() -> None:
    # Sent in the child before it becomes the report's process: a pending signal is still pending afterwards.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


def ignoring() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupted()


@pytest.mark.parametrize(("prepare", "status"), [(interrupted, -signal.SIGINT), (ignoring, 0)])
def test_an_interrupt_of_the_report_process_prints_nothing(
    prepare: Callable[[], None], status: int, tmp_path: Path
) -> None:
    report: dict[str, object] = {
        "recording": "absent",
        "view": {},
        "json_file": None,
        "callgraph": None,
        "table": False,
    }
    child = subprocess.run(
        starter.command("perfprobe.cli.after"),
        input=json.dumps(report).encode(),
        preexec_fn=prepare,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (child.returncode, child.stdout, child.stderr) == (status, b"", b"")
