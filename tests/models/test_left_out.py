"""Why a recording lacks a source, for every option that leaves one out, and for none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe.collect.options import Options
from perfprobe.models.left_out import how_to_see_functions, is_untriggered, left_out_by
from tests.build import Program, op
from tests.snapshots import Snapshot

SOURCES = ("operators", "functions", "samples", "gpu", "ranges", "children")
WINDOW = ("functions", "samples", "children")


def left_out(folder: Path, program: Program, given: dict[str, Any]) -> dict[str, str]:
    program.meta["recording"] = Options(**given).recorded()
    recording = program.recording(folder)
    found = {source: left_out_by(recording, source) for source in SOURCES}
    return {source: option for source, option in found.items() if option is not None}


@pytest.mark.parametrize(
    ("given", "option", "sources"),
    [
        ({}, "", ()),
        ({"operators": "off"}, "--operators off", ("operators",)),
        ({"python": "off"}, "--python off", ("functions", "samples")),
        ({"python": "cprofile"}, "--python cprofile", ("samples",)),
        ({"gpu": "off"}, "--gpu off", ("gpu",)),
        ({"ranges": False}, "--ranges off", ("ranges",)),
        ({"children": False}, "--children off", ("children",)),
        ({"steps": "3:14"}, "--steps 3:14", WINDOW),
        ({"steps": "3:14", "python": "off"}, "--steps 3:14", WINDOW),
        ({"duration": 3.0}, "--duration", WINDOW),
        ({"wait": True}, "--wait", ("operators", *WINDOW)),
        ({"baseline": 4}, "--baseline", ("children",)),
        ({"keep": "slow"}, "--keep slow", ("ranges", "children")),
        ({"rotate": 1 << 20}, "--rotate", ("ranges", "children")),
        ({"benchmark": True}, "--benchmark", SOURCES),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_only_the_option_that_was_given_is_named(
    tmp_path: Path, given: dict[str, Any], option: str, sources: tuple[str, ...]
) -> None:
    assert left_out(tmp_path, Program(), given) == dict.fromkeys(sources, option)


def test_after_a_trigger_operators_are_not_left_out(tmp_path: Path) -> None:
    triggered, killed = Program(live_steps={"requests": 1}), Program()
    killed.thread(1)
    killed.run(op("aten::mm", 0, 9))
    for program in (triggered, killed):
        assert left_out(tmp_path, program, {"wait": True}) == dict.fromkeys(WINDOW, "--wait")
        assert not is_untriggered(program.recording(tmp_path))
    assert is_untriggered(Program(recording={"wait": True}, live_steps={"requests": 0}).recording(tmp_path))


def test_what_to_do_to_see_functions_can_work(tmp_path: Path, snapshot: Snapshot) -> None:
    def said(program: Program) -> str:
        return how_to_see_functions(program.recording(tmp_path))

    refused = Program(recording=Options().recorded())
    refused.losses.append(("samples", "Python threads cannot be sampled", 1, ""))
    snapshot(
        nothing_left_out=said(Program(recording=Options().recorded())),
        steps=said(Program(recording=Options(steps="3:14").recorded())),
        cprofile=said(Program(recording=Options(python="cprofile").recorded())),
        trace_of_torch=said(Program(trace={})),
        refused=said(refused),
    )
