"""Real calls of many operators, with the bytes that they must read if that is not the size of all tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

aten = torch.ops.aten
BF16 = torch.bfloat16


@dataclass(frozen=True)
class Case:
    """reads: bytes; None for the distinct bytes of all tensors. writes: bytes of all results."""

    operator: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    reads: int | None = None
    writes: int | None = None

    @property
    def name(self) -> str:
        """The name as in recordings."""
        return str(self.operator).removesuffix(".default").replace("aten.", "aten::", 1)


def case(
    operator: Any, *arguments: Any, reads: int | None = None, writes: int | None = None, **keywords: Any
) -> Case:
    return Case(operator, arguments, keywords, reads, writes)


def f(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.rand(sizes) + 0.5).to(dtype)


def below(limit: int, *sizes: int) -> torch.Tensor:
    return torch.randint(limit, sizes)


def elementwise() -> Iterator[Case]:
    a, b, row, column = f(6, 40), f(6, 40), f(40), f(6, 1)
    truth = a > 1
    yield case(aten.add.Tensor, a, b)
    yield case(aten.add.Tensor, a, column)
    yield case(aten.add.Tensor, column, row)
    yield case(aten.mul.Tensor, a, b.t().contiguous().t())
    yield case(aten.div.Tensor, a, row)
    yield case(aten.div.Tensor, below(9, 6, 40), below(9, 6, 40) + 1)
    yield case(aten.div.Tensor, f(6, 40, dtype=BF16), column)
    yield case(aten.div.Tensor_mode, below(9, 6, 40), below(9, 6, 40) + 1, rounding_mode="floor")
    yield case(aten.sub.Tensor, row.expand(6, 40), a)
    yield case(aten.add_.Tensor, a, b)
    yield case(aten.mul_.Tensor, b, column)
    yield case(aten.mul.Scalar, below(9, 6), 2, reads=6 * 8)
    yield case(aten.mul.Scalar, below(9, 6), 2.5, reads=6 * 8)
    yield case(aten.lt.Tensor, a, b)
    yield case(aten.logical_not, truth)
    yield case(aten.outer, row, column.view(6))
    yield case(aten.glu, a, 1)
    yield case(aten.exp, a)
    yield case(aten.exp, below(3, 7))
    yield case(aten.tanh_, b)
    yield case(aten.sqrt.out, a, out=torch.empty(6, 40), reads=960)
    yield case(aten.gelu, f(6, 40, dtype=torch.float64))
    yield case(aten.gelu_backward, a, b, approximate="tanh")
    yield case(aten.silu_backward, a, b)
    yield case(aten.threshold_backward, a, b, 0)
    yield case(aten.addcmul, a, b, column)
    yield case(aten.addcdiv_, a, b, a.clone())
    yield case(aten.lerp.Scalar, a, b, 0.5)
    yield case(aten.where.self, truth, a, b)
    yield case(aten.where.self, truth, a, torch.tensor(0.0))
    yield case(aten.masked_fill_.Scalar, f(6, 40), truth, 0.0, reads=240)
    yield case(aten.masked_fill.Scalar, a, truth[:, :1], 0.0)
    yield case(aten.pow.Tensor_Scalar, a, 2.5)
    yield case(aten.clamp, a, 0.6, 1.2)


def lists() -> Iterator[Case]:
    a, b, row = f(6, 40), f(6, 40), f(40)
    yield case(aten._foreach_add.List, [a, row], [b, row])
    yield case(aten._foreach_mul_.Scalar, [a, row], 0.9)
    yield case(aten._foreach_addcdiv_.ScalarList, [a, row], [b, f(40)], [b, f(40)], [0.1, 0.1])
    yield case(aten._foreach_sqrt, [a, row])
    yield case(aten._foreach_lerp_.Scalar, [a, row], [b, f(40)], 0.1)


def products() -> Iterator[Case]:
    yield case(aten.mm, f(6, 5), f(5, 7))
    yield case(aten.mm, f(5, 6).t(), f(5, 7))
    yield case(aten.mm, f(6, 5, dtype=BF16), f(5, 7, dtype=BF16))
    yield case(aten.bmm, f(3, 6, 5), f(1, 5, 7).expand(3, 5, 7))
    yield case(aten.bmm, f(3, 6, 5, dtype=torch.float64), f(3, 5, 7, dtype=torch.float64))
    yield case(aten.bmm, torch.ones(3, 6, 5, dtype=torch.int32), torch.ones(3, 5, 7, dtype=torch.int32))
    yield case(aten.addmm, f(7), f(6, 5), f(5, 7))
    yield case(aten.addmm, f(7), f(6, 5), f(5, 7), beta=0, reads=4 * (30 + 35))
    yield case(aten.addmm_, f(6, 7), f(6, 5), f(5, 7))
    yield case(aten.baddbmm, f(6, 7), f(3, 6, 5), f(3, 5, 7))
    yield case(aten.addmv, f(6), f(6, 5), f(5))
    yield case(aten.mv, f(6, 5), f(5))
    yield case(aten.dot, f(9), f(9))
    yield case(aten.linear, f(2, 6, 5), f(7, 5), f(7))
    yield case(aten.matmul, f(2, 1, 6, 5), f(3, 5, 7))
    yield case(aten.matmul, f(2, 6, 5), f(5))
    yield case(aten._int_mm, torch.ones(32, 32, dtype=torch.int8), torch.ones(32, 32, dtype=torch.int8))


def convolutions() -> Iterator[Case]:
    plain = [[1, 1], [0, 0], [1, 1], False, [0, 0], 1]
    yield case(aten.convolution, f(2, 4, 9, 8), f(6, 4, 3, 3), f(6), *plain)
    yield case(aten.convolution, f(2, 4, 9, 8), f(6, 2, 3, 3), None, [2, 1], [1, 1], [1, 2], False, [0, 0], 2)
    quarter = 4 * (2 * 4 * 4 * 4 + 6 * 4)
    yield case(aten.convolution, f(2, 4, 8, 8), f(6, 4, 1, 1), None, [2, 2], *plain[1:], reads=quarter)
    yield case(aten.convolution, f(2, 4, 5, 6), f(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2)
    yield case(aten.convolution, f(2, 4, 9), f(6, 4, 3), f(6), [1], [1], [1], False, [0], 1)
    gradient, image, weight = f(2, 6, 7, 6), f(2, 4, 9, 8), f(6, 4, 3, 3)
    for mask in ([True, True, True], [True, False, False], [False, True, False]):
        parts = [gradient, *([weight] if mask[0] else []), *([image] if mask[1] else [])]
        reads = sum(part.nbytes for part in parts)
        yield case(aten.convolution_backward, gradient, image, weight, [6], *plain, mask, reads=reads)


def reductions() -> Iterator[Case]:
    a = f(4, 6, 10)
    yield case(aten.sum.dim_IntList, a, [1])
    yield case(aten.sum.dim_IntList, a, [0, -1], True)
    yield case(aten.sum, f(1, 10).expand(5, 10))
    yield case(aten.sum, below(9, 5) > 3)
    yield case(aten.mean.dim, a, [2])
    yield case(aten.max.dim, a, 1)
    yield case(aten.max, a)
    yield case(aten.max.other, a, f(10))
    yield case(aten.argmax, a, 0)
    yield case(aten.any.dim, a > 1, 1)
    yield case(aten.var.correction, a, [1], correction=1)
    yield case(aten.linalg_vector_norm, a)
    yield case(aten.logsumexp, a, [1])
    yield case(aten.cumsum, a, 1)
    yield case(aten.cumsum, below(9, 5), 0)
    yield case(aten._softmax, a, -1, False)
    yield case(aten._log_softmax, f(4, 6, dtype=BF16), 1, False)
    yield case(aten._softmax_backward_data, a, a.clone(), -1, torch.float32)
    yield case(aten._log_softmax_backward_data, a, a.clone(), 1, torch.float32)
    yield case(aten.sort, a, 1)


def norms() -> Iterator[Case]:
    a, g, w, b = f(4, 6, 16), f(4, 6, 16), f(16), f(16)
    _, mean, deviation = aten.native_layer_norm(a, [16], w, b, 1e-5)
    yield case(aten.native_layer_norm, a, [16], w, b, 1e-5)
    yield case(aten.native_layer_norm, a, [6, 16], None, None, 1e-5)
    yield case(
        aten.native_layer_norm_backward,
        g,
        a,
        [16],
        mean,
        deviation,
        w,
        b,
        [True] * 3,
        reads=g.nbytes * 2 + 192 + 64,
    )
    yield case(
        aten.native_layer_norm_backward,
        g,
        a,
        [16],
        mean,
        deviation,
        w,
        b,
        [True, False, False],
        reads=g.nbytes * 2 + 192 + 64,
    )
    image, scale, shift = f(3, 4, 5, 6), f(4), f(4)
    _, mean, deviation = aten.native_group_norm(image, scale, shift, 3, 4, 30, 2, 1e-5)
    yield case(aten.native_group_norm, image, scale, shift, 3, 4, 30, 2, 1e-5)
    yield case(aten.native_group_norm_backward, image, image, mean, deviation, scale, 3, 4, 30, 2, [True] * 3)
    kept = image.nbytes
    yield case(aten.native_batch_norm, image, scale, shift, f(4), f(4), True, 0.1, 1e-5, writes=kept + 4 * 16)
    yield case(aten.native_batch_norm, image, scale, shift, f(4), f(4), False, 0.1, 1e-5)
    mask = [True] * 3
    arguments = (image, image, scale, f(4), f(4), f(4), f(4), True, 1e-5, mask)
    yield case(aten.native_batch_norm_backward, *arguments, reads=2 * kept + 3 * 16)


def copies() -> Iterator[Case]:
    a = f(6, 40)
    yield case(aten.copy_, torch.empty(6, 40), a.t().contiguous().t(), reads=960)
    yield case(aten.copy_, torch.empty(6, 40), f(40), reads=160)
    yield case(aten.copy_, torch.empty(6, 40, dtype=torch.float64), a, reads=960)
    yield case(aten.clone, a.t())
    yield case(aten.contiguous, a.t())
    yield case(aten._to_copy, a, dtype=BF16)
    yield case(aten.cat, [a, f(6, 2)], 1)
    yield case(aten.stack, [a, a.clone()])
    yield case(aten.repeat, a, [2, 3])
    yield case(aten.flip, a, [0])
    yield case(aten.constant_pad_nd, a, [1, 2, 0, 3], 0.0)
    yield case(aten.tril, torch.ones(8, 8), reads=36 * 4)
    yield case(aten.triu, torch.ones(8, 5), 1, reads=10 * 4)
    yield case(aten.fill_.Scalar, torch.empty(6, 40), 1.0, reads=0)
    yield case(aten.zero_, torch.empty(6, 40), reads=0)
    yield case(aten.zeros, [6, 40])
    yield case(aten.ones, [6, 40], dtype=torch.bool)
    yield case(aten.full_like, a, 2.0, reads=0)
    yield case(aten.empty.memory_format, [6, 40], writes=0)
    yield case(aten.arange, 12)
    yield case(aten.arange.start_step, 1, 12, 3)
    yield case(aten.linspace, 0.0, 1.0, 9)
    yield case(aten.transpose.int, a, 0, 1, reads=0, writes=0)
    yield case(aten.view, a, [-1], reads=0, writes=0)
    yield case(aten.to.dtype, a, torch.float64)
    yield case(aten.to.dtype, a, torch.float32, reads=0, writes=0)
    yield case(aten.slice_backward, a, [9, 40], 0, 2, 8, 1)
    yield case(aten._local_scalar_dense, torch.tensor(3), writes=0)
    for made in (aten.bernoulli_.float, aten.uniform_, aten.normal_, aten.exponential_):
        yield case(made, torch.empty(6, 40), reads=0)
    yield case(aten.randn, [6, 40])
    yield case(aten.randint, 9, [6])
    yield case(aten.randperm, 9)
    yield case(aten.native_dropout, a, 0.1, True)


def indexing() -> Iterator[Case]:
    table, few, many = f(20, 16), below(20, 5), below(20, 64)
    yield case(aten.embedding, table, few, reads=40 + 5 * 64)
    yield case(aten.embedding, table, many, reads=512 + 20 * 64)
    yield case(aten.embedding_dense_backward, f(5, 16), few, 20, -1, False)
    yield case(aten.index_select, table, 0, few, reads=40 + 5 * 64)
    yield case(aten.index_select, table, 1, below(16, 3), reads=24 + 20 * 3 * 4)
    yield case(aten.gather, table, 1, below(16, 20, 2), reads=20 * 2 * (8 + 4))
    yield case(aten.index.Tensor, table, [few], reads=40 + 5 * 64)
    yield case(aten.index.Tensor, table, [few, below(16, 5)], reads=80 + 5 * 4)
    yield case(aten.index.Tensor, table, [None, below(16, 3)], reads=24 + 20 * 3 * 4)
    yield case(aten.index_put_, f(20, 16), [few], f(5, 16), reads=40 + 320, writes=320)
    yield case(aten.index_put_, f(20, 16), [few], f(5, 16), True, reads=40 + 640, writes=320)
    yield case(aten.index_add_, f(20, 16), 0, few, f(5, 16), reads=40 + 640, writes=320)
    places = below(16, 20, 2)
    yield case(aten.scatter_.src, f(20, 16), 1, places, f(20, 2), reads=20 * 2 * 12, writes=160)
    yield case(aten.scatter_add, table, 1, places, f(20, 2))


def losses() -> Iterator[Case]:
    scores, classes = f(6, 10), below(10, 6)
    total = torch.tensor(6.0)
    yield case(aten.nll_loss_forward, scores, classes, None, 1, -100, reads=6 * (8 + 4))
    yield case(aten.nll_loss_forward, scores, classes, None, 0, -100, reads=6 * (8 + 4))
    yield case(aten.nll_loss_backward, total, scores, classes, None, 1, -100, total, reads=48 + 8)
    yield case(aten.mse_loss, scores, f(6, 10))
    yield case(aten.mse_loss, scores, f(6, 10), 0)
    yield case(aten.mse_loss_backward, total, scores, f(6, 10), 1)
    yield case(aten.binary_cross_entropy, scores.clamp(0, 1), f(6, 10).clamp(0, 1))


def images() -> Iterator[Case]:
    image = f(2, 3, 9, 8)
    yield case(aten.max_pool2d_with_indices, image, [2, 2])
    yield case(aten.max_pool2d_with_indices, image, [3, 3], [2, 2], [1, 1], [1, 1], True)
    yield case(aten.avg_pool2d, image, [3, 2], [2, 2], [1, 0], True)
    yield case(aten._adaptive_avg_pool2d, image, [3, 2])
    pooled, places = aten.max_pool2d_with_indices(image, [2, 2])
    window = ([2, 2], [2, 2], [0, 0], [1, 1], False)
    reads = pooled.nbytes + places.nbytes
    yield case(aten.max_pool2d_with_indices_backward, pooled, image, *window, places, reads=reads)
    yield case(aten.upsample_nearest2d, image, [18, 16])
    yield case(aten.upsample_bilinear2d, image, [18, 16], False)
    yield case(aten.upsample_nearest2d_backward, f(2, 3, 18, 16), [18, 16], [2, 3, 9, 8])


def networks() -> Iterator[Case]:
    query, key = f(2, 4, 6, 8), f(2, 4, 5, 8)
    attend = aten._scaled_dot_product_flash_attention_for_cpu
    yield case(attend, query, key, key.clone())
    output, sums = attend(query, key, key)
    yield case(
        aten._scaled_dot_product_flash_attention_for_cpu_backward,
        output,
        query,
        key,
        key,
        output,
        sums,
        0.0,
        False,
    )
    layer = torch.nn.LSTM(3, 4)
    weights = list(layer.parameters())
    state = [f(1, 2, 4), f(1, 2, 4)]
    yield case(aten.lstm.input, f(5, 2, 3), state, weights, True, 1, 0.0, False, False, False)
    yield case(
        aten.gru.input,
        f(5, 2, 3),
        state[0],
        list(torch.nn.GRU(3, 4).parameters()),
        True,
        1,
        0.0,
        False,
        False,
        False,
    )
    tensors = [[f(6, 5), f(7)] for _ in range(4)]
    steps = [torch.tensor(1.0), torch.tensor(1.0)]
    settings = {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.0,
        "eps": 1e-8,
        "amsgrad": False,
        "maximize": False,
    }
    yield case(aten._fused_adam_, *tensors, [], steps, **settings, reads=4 * 148, writes=3 * 148)


def more() -> Iterator[Case]:
    a, b, w, places = f(6, 16), f(6, 16), f(16), below(6, 3)
    yield case(aten.argsort, a, 1)
    yield case(aten.aminmax, a, dim=1)
    yield case(aten.var_mean.correction, a, [1], correction=1)
    yield case(aten.roll, a, [1], [0])
    yield case(aten.new_zeros, a, [3, 4], reads=0)
    yield case(aten.rand_like, a, reads=0)
    yield case(aten.bernoulli, a.clamp(0, 1))
    yield case(aten.bernoulli_.Tensor, torch.empty(6, 16), a.clamp(0, 1), reads=384)
    yield case(aten.tril_, f(8, 8), reads=0, writes=28 * 4)
    yield case(aten.index_copy, a, 0, below(6, 6), b)
    yield case(aten.index_fill_.int_Scalar, f(6, 16), 0, places, 0.0, reads=24, writes=3 * 64)
    yield case(aten.scatter_.value, f(6, 16), 1, below(16, 6, 2), 0.0, reads=96, writes=48)
    yield case(aten.take, a, below(96, 5), reads=5 * 12)
    yield case(aten.smooth_l1_loss, a, b)
    yield case(aten.huber_loss, a, b, 0)
    yield case(aten.binary_cross_entropy_with_logits, a, b)
    yield case(aten._softmax.out, a, 1, False, out=torch.empty(6, 16), reads=384)
    yield case(aten._fused_rms_norm, a, [16], w, 1e-5)
    yield case(aten.layer_norm, a, [16], w, w, writes=384 + 48)
    yield case(aten._foreach_norm.Scalar, [a, w])
    yield case(aten._foreach_copy_, [f(6, 16), f(16)], [b, w], reads=384 + 64)
    yield case(aten._foreach_zero_, [f(6, 16), f(16)], reads=0)
    settings: dict[str, Any] = {
        "lr": 0.1,
        "dampening": 0.0,
        "nesterov": False,
        "maximize": False,
        "is_first_step": False,
    }
    lists = [[f(6, 16)], [f(6, 16)], [f(6, 16)]]
    yield case(aten._fused_sgd_, *lists, weight_decay=0.0, momentum=0.9, **settings, writes=768)
    image = f(2, 3, 8, 8)
    yield case(
        aten.avg_pool2d_backward, f(2, 3, 4, 4), image, [2, 2], [2, 2], [0, 0], False, True, None, reads=384
    )
    yield case(aten.adaptive_max_pool2d, image, [2, 2])
    yield case(aten.upsample_bicubic2d, image, [16, 16], False)
    cell = list(torch.nn.LSTMCell(3, 4).parameters())
    yield case(aten.lstm_cell, f(2, 3), [f(2, 4), f(2, 4)], *cell)
    yield case(aten.gru_cell, f(2, 3), f(2, 4), *torch.nn.GRUCell(3, 4).parameters())
    yield case(aten.hardswish_, f(6, 16))
    yield case(aten.log_sigmoid_forward, a, writes=384)
    yield case(aten._prelu_kernel, a, f(1, 16))


CASES = [
    *more(),
    *elementwise(),
    *lists(),
    *products(),
    *convolutions(),
    *reductions(),
    *norms(),
    *copies(),
    *indexing(),
    *losses(),
    *images(),
    *networks(),
]
