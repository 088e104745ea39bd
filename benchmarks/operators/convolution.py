"""Convolutions and their gradients by oneDNN: as fast as GEMMs if there are enough channels.

The former `mkldnn_convolution_backward_input` and `..._weights` are `convolution_backward` today: the first
two entries of its output_mask select them.
"""

from __future__ import annotations

from benchmarks.operators.case import Case

_SAME = "padding=(1,1) stride=(1,1) dilation=(1,1)"
_LAST_X, _LAST_W = "{200704,1,3584,64}", "{576,1,192,64}"


def _backward(mask: str) -> str:
    settings = (
        "bias_sizes=(64) stride=(1,1) padding=(1,1) dilation=(1,1) transposed=False output_padding=(0,0)"
    )
    return f"f32[8,64,56,56] f32[8,64,56,56] f32[64,64,3,3] {settings} groups=1 output_mask=({mask})"


CASES = (
    Case(
        "3x3",
        "aten::mkldnn_convolution",
        f"f32[8,64,56,56] f32[64,64,3,3] - {_SAME} groups=1",
        "64 channels.",
    ),
    Case(
        "3x3 channels last",
        "aten::mkldnn_convolution",
        f"f32[8,64,56,56]{_LAST_X} f32[64,64,3,3]{_LAST_W} - {_SAME} groups=1",
        "The layout that oneDNN prefers: no reordering.",
    ),
    Case(
        "3x3 bf16 channels last",
        "aten::mkldnn_convolution",
        f"bf16[8,64,56,56]{_LAST_X} bf16[64,64,3,3]{_LAST_W} - {_SAME} groups=1",
        "Half the bytes; some processors have special instructions.",
    ),
    Case(
        "stem 7x7",
        "aten::mkldnn_convolution",
        "f32[8,3,112,112] f32[64,3,7,7] - padding=(3,3) stride=(2,2) dilation=(1,1) groups=1",
        "Three channels do not fill a vector.",
    ),
    Case(
        "1x1",
        "aten::mkldnn_convolution",
        "f32[8,256,28,28] f32[64,256,1,1] - padding=(0,0) stride=(1,1) dilation=(1,1) groups=1",
        "A matrix product over channels.",
    ),
    Case(
        "depthwise",
        "aten::mkldnn_convolution",
        f"f32[8,64,56,56] f32[64,1,3,3] - {_SAME} groups=64",
        "Nine multiply-adds a point, and channels lie far apart.",
    ),
    Case(
        "one point",
        "aten::mkldnn_convolution",
        "f32[1,1,1,1] f32[1,1,1,1] - padding=(0,0) stride=(1,1) dilation=(1,1) groups=1",
        "Only the cost of the call, which is higher than for most operators.",
    ),
    Case("backward, input", "aten::convolution_backward", _backward("True,False,False"), "One gradient."),
    Case("backward, weights", "aten::convolution_backward", _backward("False,True,False"), "One gradient."),
    Case("backward", "aten::convolution_backward", _backward("True,True,True"), "Both, and the bias's sum."),
    Case(
        "over a sequence",
        "aten::convolution",
        "f32[16,256,128]{32768,1,256} f32[256,256,5] f32[256] stride=(1) padding=(2) dilation=(1) "
        "transposed=False output_padding=(0) groups=1",
        "Conv1d of a transposed sequence: channels last already.",
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("convolution", __doc__, CASES)
