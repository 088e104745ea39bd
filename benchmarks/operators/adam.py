"""Adam: the fused operator with one pass over four streams, and foreach and plain versions with several."""

from __future__ import annotations

from benchmarks.operators.case import HALF_ZERO, Case


def _list(tensor: str, count: int) -> str:
    return "(" + ",".join([tensor] * count) + ")"


def _fused(tensor: str, count: int) -> str:
    lists = " ".join([_list(tensor, count)] * 4)
    settings = "lr=0.001 beta1=0.9 beta2=0.999 weight_decay=0.0 eps=1e-08 amsgrad=False maximize=False"
    return f"{lists} () {_list('f32[]', count)} {settings} - -"


_LAYERS = _list("f32[512,512]", 8)
_ONE = "f32[512,512]"
_RATES = ",".join(["-0.001"] * 8)

CASES = (
    Case("fused", "aten::_fused_adam_", _fused("f32[512,512]", 8), "Each of four streams once."),
    Case("fused, many small", "aten::_fused_adam_", _fused("f32[64]", 128), "Set-up for each tensor."),
    Case(
        "foreach lerp", "aten::_foreach_lerp_.Scalar", f"{_LAYERS} {_LAYERS} weight=0.1", "The first moment."
    ),
    Case("foreach mul", "aten::_foreach_mul_.Scalar", f"{_LAYERS} scalar=0.999", "The second moment decays."),
    Case(
        "foreach addcmul",
        "aten::_foreach_addcmul_.Scalar",
        f"{_LAYERS} {_LAYERS} {_LAYERS} value=0.001",
        "The second moment grows: the gradient is read twice.",
    ),
    Case("foreach sqrt", "aten::_foreach_sqrt", _LAYERS, "Allocates its results."),
    Case(
        "foreach addcdiv",
        "aten::_foreach_addcdiv_.ScalarList",
        f"{_LAYERS} {_LAYERS} {_LAYERS} scalars=({_RATES})",
        "The step itself.",
    ),
    Case("single lerp_", "aten::lerp_.Scalar", f"{_ONE} {_ONE} weight=0.1", "One tensor of 1 MB."),
    Case("single addcmul_", "aten::addcmul_", f"{_ONE} {_ONE} {_ONE} value=0.001", "One tensor of 1 MB."),
    Case("single sqrt of zeros", "aten::sqrt", _ONE, "Weights without a gradient yet.", f"[{HALF_ZERO}]"),
    Case("single addcdiv_", "aten::addcdiv_", f"{_ONE} {_ONE} {_ONE} value=-0.001", "One tensor of 1 MB."),
    Case(
        "single addcdiv_ of a bias", "aten::addcdiv_", "f32[64] f32[64] f32[64] value=-0.001", "All overhead."
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("adam", __doc__, CASES)
