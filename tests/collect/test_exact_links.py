"""Exact links: CUPTI's external ids are the start times of operators, to the nanosecond."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.tables import storage
from perfprobe.tables.gpu import ExternalIds, Kernels
from perfprobe.tables.strings import Strings
from tests.collect.runs import perfprobe
from tests.collect.standin import OPERATORS, environment

pytest.importorskip("torch", reason="the observer needs torch")

PROGRAM = f"""{OPERATORS}
x = torch.ones(4)
for number in range(3):
    work(x, "inside", 1000)
    gpu.standin_launch(b"outside", 1000, 7)
other = threading.Thread(target=work, args=(x, "on another thread", 1000))
other.start()
other.join()
wait()
"""


@pytest.mark.parametrize("links", ["exact", "time"])
def test_a_kernels_external_id_is_the_start_of_its_operator(
    tmp_path: Path, standin: Path, links: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    words = [
        "-q",
        "--python",
        "off",
        "--gpu",
        "cupti",
        "--gpu-links",
        links,
        "-o",
        "run.perfprobe",
        "program.py",
    ]
    outcome = perfprobe(words, tmp_path, environment(standin))
    assert outcome.status == 0, outcome.err
    recorded = storage.read(tmp_path / "run.perfprobe")
    gpu, strings = recorded, recorded[Strings]
    starts = dict(zip(gpu[ExternalIds].correlation.tolist(), gpu[ExternalIds].start_ns.tolist(), strict=True))
    name_at = {
        int(start): strings[name]
        for batch in recorded.operators()
        for start, name in zip(batch.start_ns, batch.name, strict=True)
    }
    found = [
        (strings[name], name_at.get(starts.get(correlation, -1)))
        for name, correlation in zip(
            gpu[Kernels].name.tolist(), gpu[Kernels].correlation.tolist(), strict=True
        )
    ]
    inside = "standin::work" if links == "exact" else None
    assert sorted(found) == sorted(
        [("inside", inside)] * 3 + [("outside", None)] * 3 + [("on another thread", inside)],
    )
