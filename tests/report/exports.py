"""A recording with times known by hand, for the exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfprobe.merge import link
from perfprobe.report.export.exported import Exported
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import RunSpent
from tests.build import Program, op
from tests.found import find

ENGINE = "/env/site-packages/torch/autograd/graph.py:841/800 _engine_run_backward"
MAIN, STEP = "/p/train.py:20/1 <module>", "/p/train.py:30/28 Trainer.step"
MODEL, LOAD = "/p/model.py:88/80 Net.forward.<locals>.<lambda>", "/p/load;data.py:5/4 load"
US = 1000


def sampled(**meta: Any) -> Program:
    """One millisecond of a thread and half of another. Samples have the lengths given."""
    facts = {"start": {"monotonic_ns": 0, "cpu_ns": 0}, "stop": {"monotonic_ns": 1000 * US, "cpu_ns": 0}}
    program = Program(program={"argv": ["train.py"], "cwd": "/p"}, **facts, **meta)
    for forward_id, name in ((1, "MainThread"), (2, "loader")):
        program.thread(forward_id, name)
    forward, engine = program.stack(MAIN, STEP, MODEL), program.stack(MAIN, STEP, ENGINE)
    inputs = program.signature("f32[2,2] f32[2,2]{1,2}")
    overload = program.string("out")
    program.run(
        op("aten::mm", 100 * US, 300 * US, stack=forward, signature=inputs, overload=overload, sequence=0),
        op("aten::mm", 400 * US, 500 * US, stack=engine, signature=inputs, node_sequence=0, node_thread=1),
    )
    program.sample(0, 50 * US, MAIN)
    program.sample(50 * US, 250 * US, MAIN, STEP, MODEL)  # looked at in mm
    program.sample(250 * US, 350 * US, MAIN, STEP, MODEL)
    program.sample(350 * US, 450 * US, MAIN, STEP, ENGINE)  # in mm, backward
    program.sample(450 * US, 1000 * US, MAIN)
    program.sample(0, 400 * US, LOAD, thread=1)
    program.sample(400 * US, 420 * US, thread=1, look=2, stack=-1)
    program.sample(420 * US, 500 * US, thread=1, look=1, stack=-1)
    return program


def counted(program: Program) -> Program:
    """The same with data of cProfile: calls of functions, one of them in C."""
    main = program.counted("/p/train.py:1 <module>", 1, 600 * US, 1000 * US)
    step = program.counted("/p/train.py:28 Trainer.step", 3, 10 * US, 400 * US)
    c = program.counted("<built-in method numpy.array>", 7, 5 * US, 5 * US)
    fib = program.counted("/p/train.py:50 fib", 15, 60 * US, 60 * US, primitive_calls=1)
    program.call(main, step, 3, 10 * US, 400 * US)
    program.call(step, c, 7, 5 * US, 5 * US)
    program.call(fib, fib, 14, 40 * US, 50 * US)
    return program


def content(made: Exported) -> bytes:
    return b"".join(made.parts)


def findings(program: Program, folder: Path) -> Findings:
    return find(link(program.recording(folder)), CallStructure, RunSpent)
