"""A real program that four rules are about, and the same with their changes made: then they are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.report.section.screen.found import screened
from perfprobe.support.view import View
from tests.collect.test_rules import recorded
from tests.diagnose.advice.made import changes, processors

SLOW = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Items(Dataset):
    def __len__(self):
        return 160
    def __getitem__(self, number):
        time.sleep(0.0003)
        return torch.zeros(32)

def evaluate(net, loader):
    for x in loader:
        net(x)

def main():
    layers = [torch.nn.Linear(32, 32) for _ in range(20)]
    net = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    loader = DataLoader(
        Items(), batch_size=4,  # small
    )
    for x in loader:
        loss = net(x).sum()
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
    evaluate(net, loader)

main()
"""
MADE = {
    "        time.sleep(0.0003)\n": "",
    "lr=1e-3)": "lr=1e-3, fused=True)",
    "set_to_none=False": "set_to_none=True",
    "    for x in loader:\n        net(x)": "    with torch.no_grad():\n        for x in loader:\n           "
    " net(x)",
}
RULES = ("workers", "optimizer", "no-grad", "set-to-none")


@pytest.mark.parametrize("is_slow", [True, False], ids=["slow", "changed"])
def test_what_rules_say_of_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_slow: bool) -> None:
    text = SLOW
    for old, new in () if is_slow else MADE.items():
        assert old in text
        text = text.replace(old, new)
    monkeypatch.chdir(tmp_path)
    findings = screened(recorded(tmp_path, text, OMP_NUM_THREADS="1").findings, View())
    found = changes(diagnosed(findings.plus(processors(4, 1))))
    code = {rule: found[rule].snippet for rule in RULES if rule in found}
    expected = {
        "workers": "loader = DataLoader(Items(), batch_size=4, num_workers=2)",
        "optimizer": "optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)",
        "no-grad": "with torch.no_grad():\n    net(x)",
        "set-to-none": "optimizer.zero_grad(set_to_none=True)",
    }
    assert code == (expected if is_slow else {})
    if is_slow:  # without net.eval() the calls in evaluate() are like others for what tries no_grad
        assert found["no-grad"].tries == ()
