"""Makes the operands of a call from plain data. Uses only the standard library and torch.

A tensor is {"dtype", "sizes", "strides", "device", "maker", "settings", "written"}. `Operands` takes
{"operator", "overload", "arguments", "keywords", "saved"}. Arguments are {"tensor": ...}, {"dtype":
"float32"}, {"device": "cpu"}, lists and plain values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any


def function(torch: Any, call: dict[str, Any]) -> Any:
    """Returns the overload that the call names. Raises AttributeError if it is not one of torch's own."""
    name = call["operator"].removeprefix("aten::")
    return getattr(getattr(torch.ops.aten, name), call["overload"] or "default")


class Operands:
    """One set of operands for `function(*operands.args, **operands.kwargs)`; then call `restore()`."""

    def __init__(self, torch: Any, call: dict[str, Any], seed: int) -> None:
        self._torch = torch
        self._seed = seed
        self._generators: dict[str, Any] = {}
        self._written: list[Any] = []
        self.args = [self._argument(argument) for argument in call["arguments"]]
        self.kwargs = {name: self._argument(argument) for name, argument in call["keywords"].items()}
        if call["saved"]:
            with torch.no_grad():
                SAVED[call["saved"]](torch, self.args, self.kwargs)
        self._start = [places.clone() for places in self._written]

    def restore(self) -> None:
        """Restores exactly what the call wrote."""
        with self._torch.no_grad():
            for places, start in zip(self._written, self._start, strict=True):
                places.copy_(start)

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, list):
            return [self._argument(item) for item in argument]
        if not isinstance(argument, dict):
            return argument
        if "dtype" in argument:
            return getattr(self._torch, argument["dtype"])
        if "device" in argument:
            return self._torch.device(argument["device"])
        return self._tensor(argument["tensor"])

    def _tensor(self, spec: dict[str, Any]) -> Any:
        made = tensor(self._torch, spec, self._generator(spec["device"]))
        if spec["written"]:  # as one piece with gaps: faster to copy than odd strides
            self._written.append(made.as_strided((span(made.shape, made.stride()),), (1,)))
        return made

    def _generator(self, device: str) -> Any:
        if device not in self._generators:
            self._generators[device] = self._torch.Generator(device).manual_seed(self._seed)
        return self._generators[device]


def span(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Returns the number of elements from the first to the last in memory, both included."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def tensor(torch: Any, spec: dict[str, Any], generator: Any) -> Any:
    """Returns a tensor of exactly these sizes and strides. Elements with stride 0 share memory."""
    sizes, strides = tuple(spec["sizes"]), spec["strides"]
    dtype = getattr(torch, spec["dtype"])
    make = MAKERS[spec["maker"]]
    if strides is None or 0 in sizes:
        made = make(torch, sizes, dtype, generator, **spec["settings"]).to(dtype).contiguous()
        return made if strides is None else made.as_strided(sizes, strides)
    places = tuple(size if stride else 1 for size, stride in zip(sizes, strides, strict=True))
    storage = torch.zeros(span(sizes, strides), dtype=dtype, device=spec["device"])
    if _overlap(places, strides):
        storage.copy_(make(torch, storage.shape, dtype, generator, **spec["settings"]))
    else:
        storage.as_strided(places, strides).copy_(make(torch, places, dtype, generator, **spec["settings"]))
    return storage.as_strided(sizes, strides)


def _overlap(sizes: Any, strides: Any) -> bool:
    reach = 0
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


# Makers return contiguous tensors on the generator's device, in any dtype that converts to the wanted one.


def _work_dtype(torch: Any, dtype: Any) -> Any:
    """Returns the dtype to draw random numbers in: 8 and 16 bits are too coarse, or not possible."""
    return dtype if dtype in (torch.float32, torch.float64) else torch.float32


def _chances(torch: Any, sizes: Any, generator: Any, run: int) -> Any:
    """Returns random numbers in [0, 1), the same one for `run` neighbours."""
    drawn = torch.rand(-(-prod(sizes) // run), device=generator.device, generator=generator)
    return (drawn if run == 1 else drawn.repeat_interleave(run)[: prod(sizes)]).reshape(sizes)


def _between(torch: Any, made: Any, quantiles: Sequence[float], generator: Any) -> Any:
    """Fills `made` with random numbers, equally many between each two adjacent quantiles."""
    edges = torch.tensor(quantiles, dtype=made.dtype, device=made.device)
    place = made.uniform_(0, len(edges) - 1, generator=generator)
    part = place.long().clamp_(max=len(edges) - 2)
    return torch.lerp(edges[part], edges[part + 1], place - part)


def _in_range(torch: Any, sizes: Any, dtype: Any, generator: Any, settings: dict[str, Any]) -> Any:
    """Returns numbers by `quantiles`, else from `low` to `high`. With an `order` the rows are sorted."""
    made = torch.empty(sizes, dtype=_work_dtype(torch, dtype), device=generator.device)
    if "quantiles" not in settings:
        return made.uniform_(settings.get("low", 0.5), settings.get("high", 1.5), generator=generator)
    made = _between(torch, made, settings["quantiles"], generator)
    if dtype.is_floating_point:
        made.clamp_(torch.finfo(dtype).min, torch.finfo(dtype).max)
    if "order" in settings and sizes:
        made = made.sort(dim=-1, descending=settings["order"] == "descending").values
    return made if settings.get("negatives") else made.abs_()


def uniform(torch: Any, sizes: Any, dtype: Any, generator: Any, **settings: Any) -> Any:
    """Returns numbers from `low` to `high` or by `quantiles`.

    Args:
        settings: also the parts that are "zeros", "negatives", "denormals" and "nonfinite"; run: how many
            zeros are adjacent.
    """
    if dtype.is_complex:
        return torch.view_as_complex(uniform(torch, (*sizes, 2), torch.float64, generator, **settings))
    made = _in_range(torch, sizes, dtype, generator, settings)
    tiny = torch.finfo(dtype).tiny / 8 if dtype.is_floating_point else 0.0
    special = {"negatives": None, "denormals": tiny, "nonfinite": -torch.inf}
    zeros = settings.get("zeros", 0.0)
    rest = max(1.0 - zeros, 1e-9)
    if "quantiles" in settings:
        del special["negatives"]  # the quantiles have signs
    parts = [(settings[kind] / rest, value) for kind, value in special.items() if settings.get(kind)]
    chance: Any = torch.rand(sizes if parts else (), device=generator.device, generator=generator)
    reached = 0.0
    for part, value in parts:
        chosen = (chance >= reached) & (chance < reached + part)
        made = torch.where(chosen, -made if value is None else torch.full_like(made, value), made)
        reached += part
    if zeros:
        made.masked_fill_(_chances(torch, sizes, generator, int(settings.get("run", 1))) < zeros, 0.0)
    return made


def integers(torch: Any, sizes: Any, dtype: Any, generator: Any, **settings: Any) -> Any:
    """Returns integers in [`low`, `below`).

    Args:
        settings: quantiles: equally many numbers between each two. distinct: number of different values; -1
            if none occurs twice. order: "ascending" or "descending"; "near": ascending, but shuffled among
            `run` neighbours; "runs": `run` ascending numbers, `step` apart if the range allows.
    """
    low, order, run = settings.get("low", 1), settings.get("order"), settings.get("run", 1)
    there = max(settings.get("below", 100) - low, 1)
    made = low + _drawn(torch, sizes, generator, there, settings)
    if not order:
        return made
    flat, places = made.reshape(-1), torch.arange(prod(sizes), device=generator.device)
    if order == "runs":
        flat = low + _runs(flat - low, places, there, run, settings.get("step", 1))
    else:
        flat = flat.sort(descending=order == "descending").values
    if order == "near":
        shaken = torch.rand(places.shape, device=generator.device, generator=generator, dtype=torch.float64)
        flat = flat[(places + run * shaken).argsort()]
    return flat.reshape(sizes)


def _runs(flat: Any, places: Any, there: int, run: int, step: int) -> Any:
    if 2 * run * step < there:
        return flat[places // run] % (there - run * step) + places % run * step
    return (places // run * there + flat).sort().values % there


def _drawn(torch: Any, sizes: Any, generator: Any, there: int, settings: dict[str, Any]) -> Any:
    """Draws integers in [0, there)."""
    quantiles, distinct, wanted = settings.get("quantiles"), settings.get("distinct", 0), prod(sizes)

    def draw(count: Any) -> Any:
        if not quantiles:
            return torch.randint(there, count, generator=generator, device=generator.device)
        found = torch.empty(count, dtype=torch.float64, device=generator.device)
        found = _between(torch, found, quantiles, generator) - settings.get("low", 1)
        return found.floor().clamp(0, there - 1).long()

    if distinct < 0 and wanted <= there <= 1 << 24:
        order = torch.randperm(there, generator=generator, device=generator.device)
        return order[:wanted].reshape(sizes)
    if distinct <= 0:
        return draw(sizes)
    return draw((distinct,))[torch.randint(distinct, sizes, generator=generator, device=generator.device)]


def mask(
    torch: Any, sizes: Any, dtype: Any, generator: Any, true: float = 0.5, count: int = -1, run: int = 1
) -> Any:
    """Returns booleans, of which the part `true` is True, alike among `run` neighbours.

    Args:
        count: the exact number of True; negative if only the part is known.
    """
    if count < 0:
        return _chances(torch, sizes, generator, run) < true
    order = torch.randperm(prod(sizes), generator=generator, device=generator.device)
    return (order < count).reshape(sizes)


def constant(torch: Any, sizes: Any, dtype: Any, generator: Any, value: float = 0.0) -> Any:
    """Returns the same number everywhere."""
    return torch.full(sizes, value, dtype=dtype, device=generator.device)


def definite(torch: Any, sizes: Any, dtype: Any, generator: Any) -> Any:
    """Returns positive definite matrices: symmetric with a dominant diagonal. Plain numbers if not square."""
    made = uniform(torch, sizes, dtype, generator)
    if len(sizes) < 2 or sizes[-1] != sizes[-2]:
        return made
    diagonal = torch.eye(sizes[-1], dtype=made.dtype, device=made.device) * (2 * sizes[-1])
    return (made + made.mH) / 2 + diagonal


def ordered(torch: Any, sizes: Any, dtype: Any, generator: Any) -> Any:
    """Returns numbers in [0.5, 1.5) that ascend along the last dimension."""
    return uniform(torch, sizes, dtype, generator).sort(dim=-1).values if sizes else torch.ones(())


def steps(torch: Any, sizes: Any, dtype: Any, generator: Any, first: int = 0, last: int = 0) -> Any:
    """Returns integers from `first` to `last` at even distances: offsets of bags, lengths of sequences."""
    return torch.linspace(first, last, prod(sizes), device=generator.device).round().reshape(sizes)


MAKERS = {maker.__name__: maker for maker in (uniform, integers, mask, constant, definite, ordered, steps)}


# Saved tensors: what a backward operator gets from its forward. Each function overwrites operands in place,
# which keeps their strides. Positions are those in the operator's schema.


def _layer_norm(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    _, mean, rstd = torch.ops.aten.native_layer_norm(args[1], args[2], args[5], args[6], 1e-5)
    args[3].copy_(mean)
    args[4].copy_(rstd)


def _group_norm(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    _, mean, rstd = torch.ops.aten.native_group_norm(args[1], args[4], None, *args[5:9], 1e-5)
    args[2].copy_(mean)
    args[3].copy_(rstd)


def _rms_norm(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    dims = tuple(range(-len(args[2]), 0))
    args[3].copy_(args[1].float().square().mean(dims, keepdim=True).add(1e-5).rsqrt())


def _batch_norm(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    if args[5] is not None and args[6] is not None and args[5].numel():
        _, mean, rstd = torch.ops.aten.native_batch_norm(
            args[1], args[2], None, None, None, True, 0.1, args[8]
        )
        args[5].copy_(mean)
        args[6].copy_(rstd)


def _softmax(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[1].copy_(args[1].float().softmax(args[2]))


def _log_softmax(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[1].copy_(args[1].float().log_softmax(args[2]))


def _attention_cpu(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, logsumexp = forward(*args[1:4], args[6], args[7], **kwargs)
    args[4].copy_(out)
    args[5].copy_(logsumexp)


def _attention_flash(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    forward = torch.ops.aten._scaled_dot_product_flash_attention
    out, logsumexp, *_, state, unused, _ = forward(*args[1:4], args[10], args[11], False, **kwargs)
    args[4].copy_(out)
    args[5].copy_(logsumexp)
    args[12:14] = state, unused


def _attention_efficient(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    forward = torch.ops.aten._scaled_dot_product_efficient_attention
    out, logsumexp, *philox = forward(*args[1:5], True, args[9], args[11], **kwargs)
    args[5].copy_(out)
    args[6].copy_(logsumexp)
    args[7:9] = philox


def _batch_norm_cudnn(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    bias = torch.zeros_like(args[2])
    forward = torch.ops.aten.cudnn_batch_norm
    _, mean, invstd, reserved = forward(args[0], args[2], bias, None, None, True, 0.1, args[7])
    args[5].copy_(mean)
    args[6].copy_(invstd)
    args[8] = reserved


def _rnn_mkldnn(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    reverse, mode, hidden, layers, biases, _, both, batches, batch_first = args[13:22]
    forward = torch.ops.aten.mkldnn_rnn_layer
    with torch.enable_grad():  # otherwise it keeps no workspace
        *made, workspace = forward(
            *args[:7], reverse, batches, mode, hidden, layers, biases, both, batch_first, True
        )
    for saved, value in zip(args[7:10], made, strict=True):
        saved.copy_(value)
    args[22].copy_(workspace)


def _max_pool(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[7].copy_(torch.ops.aten.max_pool2d_with_indices(*args[1:7])[1])


def _nll_loss(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[6].fill_(args[2].numel())


SAVED = {
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "rms_norm": _rms_norm,
    "batch_norm": _batch_norm,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "attention_cpu": _attention_cpu,
    "attention_flash": _attention_flash,
    "attention_efficient": _attention_efficient,
    "batch_norm_cudnn": _batch_norm_cudnn,
    "rnn_mkldnn": _rnn_mkldnn,
    "max_pool": _max_pool,
    "nll_loss": _nll_loss,
}
