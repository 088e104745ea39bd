"""Short names of kernels: without template details."""

import pytest
from rich.cells import cell_len

from perfprobe.report.section.gpu.names import cut_middle, kernel_names, shortened
from tests.report.gpu import ADD

NATIVE = "at::native::"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("", ""),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("triton_poi_fused_add_3", "triton_poi_fused_add_3"),
        (
            "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)",
            "ncclKernel_AllReduce_RING_LL_Sum_float",
        ),
        (ADD, "vectorized_elementwise_kernel<CUDAFunctor_add>"),
        (
            "void (anonymous namespace)::softmax_warp_forward<float, float, 7>(float*, int)",
            "softmax_warp_forward",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_align1>(cutlass_80_simt_sgemm_align1::Params)",
            "cutlass_80_simt_sgemm_align1",
        ),
        (
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, 4>(float const*)",
            "gemvx::kernel",
        ),
        (
            f"void {NATIVE}elementwise_kernel<128, 2, {NATIVE}gpu_kernel_impl_nocast<{NATIVE}"
            f"BinaryFunctor<float, float, float, {NATIVE}binary_internal::MulFunctor<float> > >(at::"
            "TensorIteratorBase&, "
            f"{NATIVE}BinaryFunctor<float> const&)::{{lambda(int)#1}}>(int, {NATIVE}Loop)",
            "elementwise_kernel<MulFunctor>",
        ),
        (
            f"void {NATIVE}vectorized_elementwise_kernel<4, {NATIVE}cos_kernel_cuda(at::TensorIteratorBase&)"
            "::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, char)",
            "vectorized_elementwise_kernel<cos_kernel_cuda>",
        ),
        (
            f"void {NATIVE}reduce_kernel<512, 1, {NATIVE}ReduceOp<float, {NATIVE}MeanOps<float, float>, "
            f"unsigned int, float, 4> >({NATIVE}ReduceOp<float>)",
            "reduce_kernel<MeanOps>",
        ),
    ],
)
def test_names_are_shortened(name: str, short: str) -> None:
    assert shortened(name) == short


ODD = (
    *(
        "<<<<",
        ">>>>",
        "a<b<c",
        "a>b",
        "((((",
        "operator()",
        "{lambda()#1}",
        "::",
        "::::x",
        "void ",
        " ",
        "\n\n",
    ),
    *("x" * 9_999, "<" * 5_000, "f(" * 500, "f<" * 3_000 + ">" * 3_000),
    *("a::b::<c>::d", "a\x1b[2Jb<c>", "\u202egnp"),
)


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_any_text_gives_a_printable_name(name: str) -> None:
    assert shortened(name).isprintable()
    assert shortened(name, whole=True).isprintable()
    assert len(shortened("x" + name)) > 0


def test_similar_names_stay_distinguishable() -> None:
    other = ADD.replace("float", "c10::Half")
    assert kernel_names([ADD, other, ADD], [1, 1, 1]) == [
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>>",
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<Half>, array<char*, 3ul>>",
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>>",
    ]
    assert (
        kernel_names([ADD, ADD], [1, 1])
        == kernel_names([ADD, other], [1, 2])
        == ["vectorized_elementwise_kernel<CUDAFunctor_add>"] * 2
    )


@pytest.mark.parametrize("width", [0, 1, 5, 12, 20, 40])
def test_long_names_are_cut_in_the_middle(width: int) -> None:
    text = "ampere_fp16_s16816gemm_128x128_tn"
    cut = cut_middle(text, width)
    assert cell_len(cut) <= width
    if 12 <= width < len(text):
        assert cut.startswith("ampere")
        assert cut.endswith("_tn")
        assert cell_len(cut) == width
