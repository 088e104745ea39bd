"""What names say of matrix work: which operators tensor cores can do, in TF32 or not, aligned or not."""

from __future__ import annotations

import re

# torch_tb_profiler 0.4.3, profiler/tensor_core.py: the operators that autocast runs in half precision.
PLUGIN = frozenset(
    (
        *("aten::_convolution", "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::conv_tbc"),
        *("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d", "aten::convolution"),
        *("aten::cudnn_convolution", "aten::cudnn_convolution_transpose", "aten::prelu", "aten::addmm"),
        *("aten::addmv", "aten::addr", "aten::matmul", "aten::mm", "aten::mv", "aten::linear"),
        *("aten::addbmm", "aten::baddbmm", "aten::bmm", "aten::chain_matmul", "aten::linalg_multi_dot"),
        *("aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_gru_cell", "aten::lstm_cell", "aten::gru_cell"),
        *("aten::rnn_tanh_cell", "aten::rnn_relu_cell", "CudnnConvolutionBackward", "BmmBackward0"),
        *("aten::cudnn_convolution_transpose_backward", "CudnnConvolutionTransposeBackward", "MmBackward"),
        *("aten::cudnn_convolution_backward_weight", "aten::addmm_", "AddmvBackward", "MvBackward"),
        "aten::cudnn_convolution_transpose_backward_weight",
        "aten::cudnn_convolution_transpose_backward_input",
        *("AddmmBackward", "aten::cudnn_convolution_backward_input", "AddbmmBackward"),
        "aten::cudnn_convolution_backward",
    )
)
# What came after that list, and what AMD's torch calls.
_LATER = re.compile(
    r"aten::(?:convolution_backward|(?:cudnn|miopen)_convolution\w*|_scaled_mm|_grouped_mm|_scaled_grouped_mm"
    r"|_addmm_activation|_int_mm|_cudnn_rnn\w*|miopen_rnn\w*|_(?:scaled_dot_product|flash|efficient)\w*attention\w*"
    r"|_fused_sdp_choice)"
)
# cuBLAS, cuDNN and CUTLASS name the type, or the instruction on operands of single precision.
_TF32 = re.compile(r"tf32|tensorop_s1688gemm_(?!f16|bf16)", re.IGNORECASE)
# CUTLASS: such kernels load one element at a time, because a size or a stride is odd.
_UNALIGNED = re.compile(r"_align1(?![0-9])")


def may_use_tensor_cores(operator: str) -> bool:
    """Whether the library behind this operator has kernels for tensor cores, for some types and sizes."""
    return operator in PLUGIN or _LATER.fullmatch(operator) is not None


def uses_tf32(kernel: str) -> bool:
    """Whether a kernel with this name multiplies single precision as TF32."""
    return _TF32.search(kernel) is not None


def is_unaligned(kernel: str) -> bool:
    """Whether a kernel with this name loads single elements, of those that need not: others than SIMT's."""
    return _UNALIGNED.search(kernel) is not None and "simt" not in kernel
