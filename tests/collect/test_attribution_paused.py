"""Backward in recorded steps of graphs that steps without operators made: no line, and never another's.

`--baseline` leaves out every second step, so each graph that lives for a step crosses that boundary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.scopes import BACKWARD_FUNCTION
from perfprobe.tables.strings import Strings
from tests.cli.test_windows import record

HEAD = """
import threading
import torch

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], 0.0)
late = []
"""
# Backward of each loss runs one step after its forward.
DELAYED = """
for number in range(24):
    if number % 2:
        loss = (weight + 0).exp().sum()
    else:
        loss = (weight + 0).sin().prod()
    late.append(loss)
    if number:
        late.pop(0).backward()
    optimizer.step()
"""
# The same graph is used in two steps.
KEPT = """
for number in range(24):
    loss = (weight + 0).exp().sum() if number % 2 else (weight + 0).sin().prod()
    late.append(loss)
    late[-1].backward(retain_graph=True)
    if number:
        late.pop(0).backward()
    optimizer.step()
"""
# A generator and a discriminator, each with an optimizer: the second uses the graph of the first.
GAN = """
other = torch.nn.Parameter(torch.ones(3))
second = torch.optim.SGD([other], 0.0)
for number in range(24):
    made = (weight + 0).exp()
    (made.detach() * (other + 0)).cos().sum().backward()
    second.step()
    (made * (other + 0)).sin().prod().backward()
    optimizer.step()
"""
# Forward in threads, whose numbers are their own.
THREADS = """
def forward():
    late.append((weight + 0).exp().sum())

for number in range(24):
    thread = threading.Thread(target=forward)
    thread.start()
    thread.join()
    loss = (weight + 0).sin().prod()
    late.append(loss)
    while len(late) > 2:
        late.pop(0).backward()
    optimizer.step()
"""
LINES = {
    "ExpBackward0": ".exp()",
    "SinBackward0": ".sin()",
    "CosBackward0": ".cos()",
    "SumBackward0": ".sum()",
}
LINES |= {"ProdBackward0": ".prod()"}


def nodes(folder: Path, source: str) -> Counter[tuple[str, str]]:
    """The nodes of backward by name, and the source text of their forward line, "" without one."""
    record(folder, "--baseline", "10", "--warmup", "2", "--python", "off", source=HEAD + source)
    trace = link(storage.read(folder / "run.perfprobe"))
    text, names = (HEAD + source).splitlines(), trace.recording[Strings]
    found: Counter[tuple[str, str]] = Counter()
    for batch in trace.operators():
        for row in (batch.scope == BACKWARD_FUNCTION).nonzero()[0].tolist():
            line = trace.line(int(batch.forward_frame[row]))
            found[names[int(batch.name[row])], "" if line is None else text[line.line - 1]] += 1
    return found


@pytest.fixture(scope="module")
def nodes_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Counter[tuple[str, str]]]:
    return cache(lambda source: nodes(tmp_path_factory.mktemp("paused"), source))


@pytest.mark.parametrize("source", [DELAYED, KEPT, GAN, THREADS], ids=["delayed", "kept", "gan", "threads"])
def test_each_node_has_its_own_line_or_none(
    nodes_of: Callable[[str], Counter[tuple[str, str]]], source: str
) -> None:
    found = nodes_of(source)
    known = {(name, line): count for (name, line), count in found.items() if name in LINES}
    assert known
    for name, line in known:
        assert not line or LINES[name] in line, (name, line)
    with_line = sum(count for (_, line), count in known.items() if line)
    assert with_line > 0


def test_a_graph_of_a_step_without_operators_has_no_line(
    nodes_of: Callable[[str], Counter[tuple[str, str]]],
) -> None:
    """Of steps 3 to 21 every second one is left out: each recorded one runs backward of such a step."""
    found = nodes_of(DELAYED)
    assert found["ProdBackward0", ""] + found["SumBackward0", ""] == 10
