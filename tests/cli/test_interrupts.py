from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfprobe.cli.after import _BOOT


def interrupted() -> None:
    # In the child before it becomes the report's: a signal that waits there is still there afterwards.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


def ignoring() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupted()


@pytest.mark.parametrize(("prepare", "status"), [(interrupted, -signal.SIGINT), (ignoring, 3)])
def test_report_child_is_interrupted_without_a_word(
    prepare: Callable[[], None], status: int, tmp_path: Path
) -> None:
    report: dict[str, object] = {
        "recording": "absent",
        "view": {},
        "json_file": None,
        "callgraph": None,
        "table": False,
    }
    words = json.dumps({"path": sys.path, "report": report})
    child = subprocess.run(
        [sys.executable, "-c", _BOOT.replace("guarded(", "3 or guarded("), words],
        preexec_fn=prepare,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (child.returncode, child.stdout, child.stderr) == (status, b"", b"")
