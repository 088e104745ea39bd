"""Random numbers: dropout on a CPU is `bernoulli_` and `div_`; compared with `native_dropout`."""

from __future__ import annotations

from benchmarks.operators.case import Case

CASES = (
    Case("bernoulli_", "aten::bernoulli_.float", "f32[1048576] p=0.9", "One generator: threads do not help."),
    Case(
        "bernoulli_ of bools",
        "aten::bernoulli_.float",
        "bool[1048576] p=0.9",
        "The generator takes the time, not the memory.",
    ),
    Case("bernoulli_ 0.5", "aten::bernoulli_.float", "f32[1048576] p=0.5", "Each outcome is a guess."),
    Case(
        "bernoulli_ small",
        "aten::bernoulli_.float",
        "f32[4096] p=0.9",
        "In L1: the same cost for each number.",
    ),
    Case("div_", "aten::div_.Scalar", "f32[1048576] other=0.9", "Dropout's second step."),
    Case("native_dropout", "aten::native_dropout", "f32[1048576] p=0.1 train=True", "All of it in one call."),
    Case("normal_", "aten::normal_", "f32[1048576] mean=0.0 std=1.0", "One generator."),
    Case("uniform_", "aten::uniform_", "f32[1048576] from=0.0 to=1.0", "One generator."),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("dropout", __doc__, CASES)
