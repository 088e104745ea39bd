"""Makes a `CallRecipe` from a signature's text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from perfprobe.bench.rebuild.fit import Fitted, Unfit, fit
from perfprobe.bench.rebuild.recipe import Argument, CallRecipe, NotRebuilt, TensorRecipe
from perfprobe.bench.rebuild.refused import LIMIT_BYTES, check_operands, check_operator
from perfprobe.bench.rebuild.schema import Schema, split
from perfprobe.bench.rebuild.values import Digest, choose
from perfprobe.models.signature import Item, List, Tensor, parse
from perfprobe.tables.measurements import Wanted

_LONGEST_VALUES = 1 << 20  # characters
_MOST_DIGESTS = 64  # of a signature; the recorder examines no more tensors

# These change running statistics although their schemas do not say so. The value names the parameter that
# says whether they are training; None: they always are.
_HIDDEN_WRITES = {
    "batch_norm": "training",
    "native_batch_norm": "training",
    "_batch_norm_impl_index": "training",
    "cudnn_batch_norm": "training",
    "miopen_batch_norm": "training",
    "instance_norm": "use_input_stats",
    "batch_norm_update_stats": None,
    "batch_norm_gather_stats": None,
    "batch_norm_gather_stats_with_counts": None,
}

_OF_GPUS = (
    "cudnn_",
    "_cudnn_",
    "miopen_",
)  # traces do not say where tensors are: they are taken as the CPU's
_ON_CPU_TOO = ("cudnn_is_acceptable",)  # a question, which batch normalisation asks on CPUs too


def recipe(wanted: Wanted, schemas: Sequence[Schema], limit_bytes: int = LIMIT_BYTES) -> CallRecipe:
    """Returns the call as plain data.

    Args:
        schemas: the overloads of `wanted.operator`, from `schema.schemas`. The one that fits the inputs with
            the fewest omitted arguments is used.
        limit_bytes: size of all operands.

    Raises:
        NotRebuilt: the call cannot be rebuilt.
    """
    name, _ = split(wanted.operator)
    bare = name.removeprefix("aten::")
    if bare.startswith(_OF_GPUS) and bare not in _ON_CPU_TOO and "@cuda" not in wanted.signature:
        raise NotRebuilt("for GPUs only (cuDNN, MIOpen), and it is measured on the CPU")
    if not schemas:
        raise NotRebuilt("this torch has no such operator")
    items = _items(wanted)
    check_operator(schemas[0])
    fitted = _best(items, schemas)
    _mark_written(fitted)
    choose(fitted, _digests(wanted.values, items))
    made = _call(fitted)
    check_operands(made, limit_bytes)
    return made


def _items(wanted: Wanted) -> tuple[Item, ...]:
    """Returns the inputs, with the values of floats if the example has the same tensors."""
    items = parse(wanted.signature)
    if items is None:
        raise NotRebuilt("its signature cannot be read")
    example = parse(wanted.example) if wanted.example else None
    same = example is not None and _tensors(example) == _tensors(items)
    return example if same and example is not None else items


def _tensors(items: Sequence[Item]) -> list[Tensor]:
    found: list[Tensor] = []
    for item in items:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, List):
            found += _tensors(item.items)
    return found


def _best(items: Sequence[Item], schemas: Sequence[Schema]) -> Fitted:
    found: list[Fitted] = []
    reasons: list[Unfit | NotRebuilt] = []
    for schema in schemas:
        try:
            check_operator(schema)
            found.append(fit(schema, items))
        except (Unfit, NotRebuilt) as reason:
            reasons.append(reason)
    if found:
        return min(found, key=lambda fitted: fitted.left_out)
    for refusal in reasons:
        if isinstance(refusal, NotRebuilt):
            raise refusal
    raise NotRebuilt(f"its inputs fit no overload of this torch: {reasons[0]}"[:120])


def _mark_written(fitted: Fitted) -> None:
    name = fitted.schema.operator.partition("::")[2]
    if name not in _HIDDEN_WRITES or fitted.arguments.get(_HIDDEN_WRITES[name] or "", True) is not True:
        return
    for statistic in ("running_mean", "running_var"):
        tensor = fitted.arguments.get(statistic)
        if isinstance(tensor, TensorRecipe):
            fitted.arguments[statistic] = replace(tensor, written=True)


def _digests(text: str, items: Sequence[Item]) -> list[Digest | None]:
    """Returns the statistics of each tensor's values; empty if they cannot be assigned to the tensors."""
    if not text or len(text) > _LONGEST_VALUES:
        return []
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return []
    looked_at = min(len(_tensors(items)), _MOST_DIGESTS)
    if not isinstance(read, list) or len(read) not in (looked_at, len(_tensors(items))):
        return []
    return [entry if isinstance(entry, dict) else None for entry in read]


def _call(fitted: Fitted) -> CallRecipe:
    positional: list[Argument] = []
    keywords: dict[str, Argument] = {}
    for parameter in fitted.schema.parameters:
        if parameter.keyword_only:
            keywords[parameter.name] = fitted.arguments[parameter.name]
        else:
            positional.append(fitted.arguments[parameter.name])
    schema = fitted.schema
    return CallRecipe(
        schema.operator, schema.overload, tuple(positional), keywords, fitted.saved, tuple(fitted.notes)
    )
