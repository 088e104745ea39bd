"""Matrix products and convolutions."""

from __future__ import annotations

from benchmarks.expected.expectation import COMPUTE, SERIAL, SLOW, Expected

_CONVOLUTION = "stride=(1,1) dilation=(1,1)"

PRODUCTS = (
    Expected(
        "layer of 768 by 3072",
        "aten::mm",
        "f32[768,3072] f32[3072,768]",
        (COMPUTE,),
        "all sides are long",
    ),
    Expected("mm 640³ f64", "aten::mm", "f64[640,640] f64[640,640]", (COMPUTE,), "square and large enough"),
    Expected(
        "addmm of 512 tokens",
        "aten::addmm",
        "f32[3072] f32[512,768] f32[768,3072]{1,768} beta=1 alpha=1",
        (COMPUTE,),
        "the first layer of a feed-forward block",
    ),
    Expected(
        "bmm 16x384³", "aten::bmm", "f32[16,384,384] f32[16,384,384]", (COMPUTE,), "sixteen good products"
    ),
    Expected(
        "baddbmm 8x512³",
        "aten::baddbmm",
        "f32[8,512,512] f32[8,512,512] f32[8,512,512] beta=1 alpha=1",
        (COMPUTE,),
        "the sum costs 8 of 512 passes",
    ),
    Expected(
        "mm, first operand transposed",
        "aten::mm",
        "f32[1024,768]{1,1024} f32[768,512]",
        (COMPUTE,),
        "the gradient of a weight: it is packed",
        never=("layout-bound",),
    ),
    Expected(
        "mm of a tall matrix",
        "aten::mm",
        "f32[16384,256] f32[256,256]",
        (COMPUTE,),
        "256 multiply-adds for each float that is written",
    ),
    Expected(
        "mm 1536³ on 2 threads",
        "aten::mm",
        "f32[1536,1536] f32[1536,1536]",
        (COMPUTE,),
        "enough for two threads",
        threads=2,
        never=SERIAL,
    ),
    Expected(
        "addmm on 2 threads",
        "aten::addmm",
        "f32[1024] f32[1024,1024] f32[1024,1024]{1,1024} beta=1 alpha=1",
        (COMPUTE,),
        "enough for two threads",
        threads=2,
        never=SERIAL,
    ),
    Expected(
        "conv 1x1, 256 channels",
        "aten::mkldnn_convolution",
        f"f32[8,256,28,28] f32[256,256,1,1] - padding=(0,0) {_CONVOLUTION} groups=1",
        (COMPUTE,),
        "a matrix product of 256 by 256 by 6272",
    ),
    Expected(
        "conv 3x3, 128 channels",
        "aten::mkldnn_convolution",
        f"f32[8,128,28,28] f32[128,128,3,3] - padding=(1,1) {_CONVOLUTION} groups=1",
        (COMPUTE,),
        "enough channels for blocking",
    ),
    Expected(
        "conv 5x5 depthwise",
        "aten::mkldnn_convolution",
        f"f32[8,128,28,28] f32[128,1,5,5] - padding=(2,2) {_CONVOLUTION} groups=128",
        SLOW,
        "25 multiply-adds for a point, the channels far apart",
    ),
    Expected("bmm 4096x7³", "aten::bmm", "f32[4096,7,7] f32[4096,7,7]", SLOW, "shorter than a vector"),
    Expected("bmm 2048x5³ f64", "aten::bmm", "f64[2048,5,5] f64[2048,5,5]", SLOW, "shorter than a vector"),
)
