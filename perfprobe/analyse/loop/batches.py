"""The number of samples in a step, if the inputs of a model's operators show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from perfprobe.analyse.loop.events import Event, Kind
from perfprobe.models.signature import parse, tensors
from perfprobe.tables.events import Signatures
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

# Operators of which one input shows the batch: its place among the tensors, its dimensions with a batch.
_INPUT = {
    "aten::linear": (0, 2),
    "aten::addmm": (1, 2),
    "aten::conv1d": (0, 3),
    "aten::conv2d": (0, 4),
    "aten::conv3d": (0, 5),
}
# How operators of engines are called that serve language models: vLLM, SGLang, TensorRT-LLM, FlashInfer.
_SERVERS = (
    *("vllm::", "_C::", "_C_cache_ops::", "_moe_C::", "_vllm_fa", "sgl_kernel::", "sglang::", "trtllm::"),
    *("flashinfer::", "aiter::paged", "aiter::mla"),
)


class Batches:
    """Finds batch sizes from signatures, and examines each pair of signatures once."""

    def __init__(self, trace: Trace) -> None:
        self._signatures, self._strings = trace.recording[Signatures], trace.recording[Strings]
        self._known: dict[tuple[int, int], int] = {}
        # Servers put tokens of several requests into one batch: its size is no number of samples.
        self._are_tokens = bool(self._strings.marks(lambda text: text.startswith(_SERVERS)).any())

    def samples(self, events: Sequence[Event]) -> int:
        """The number of samples in a step: the sum of the batches' first dimensions, -1 if not known.

        Only calls from the line of the first one count, so a step of several micro-batches counts them all.
        """
        calls = [] if self._are_tokens else [event for event in events if event.kind is Kind.CALL]
        found = [self._of_call(event) for event in calls if event.site == calls[0].site]
        return sum(found) if found and min(found) >= 0 else -1

    def _of_call(self, event: Event) -> int:
        key = (event.first_signature, event.last_signature)
        if key not in self._known:
            self._known[key] = self._agreed(*key)
        return self._known[key]

    def _agreed(self, first: int, last: int) -> int:
        """The one size that is a first dimension in both the first and the last operator; -1 otherwise."""
        sizes = [self._sizes(signature) for signature in (first, last)]
        if first == last and first >= 0:
            return sizes[0][0] if sizes[0] and self._name(first) in _INPUT else -1
        common = set(sizes[0]) & set(sizes[1])
        return common.pop() if len(common) == 1 else -1

    def _sizes(self, signature: int) -> list[int]:
        """The first dimensions that may be the batch's: never those of weights, or of unbatched inputs."""
        if signature < 0:
            return []
        text = self._strings[int(self._signatures.text[signature])]
        found = [each.sizes or () for each in tensors(parse(text) or ())]
        at, dimensions = _INPUT.get(self._name(signature), (None, 1))
        chosen = found if at is None else found[at : at + 1]
        return [sizes[0] for sizes in chosen if len(sizes) >= dimensions]

    def _name(self, signature: int) -> str:
        name = int(self._signatures.name[signature])
        return self._strings[name] if name >= 0 else ""


def micro_batches(events: Sequence[Event]) -> int:
    """Returns how often backward was called from the line that called it most, -1 without backward."""
    counted = Counter(event.site for event in events if event.kind is Kind.BACKWARD)
    return max(counted.values(), default=-1)
