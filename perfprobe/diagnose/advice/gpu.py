"""Changes of what a GPU waits for, of what is copied to it, and of how it multiplies."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.advice.known import Known, change
from perfprobe.models.matrix_work import may_use_tensor_cores
from perfprobe.models.signature import parse, tensors
from perfprobe.models.tensor_cores import uses_tensor_cores
from perfprobe.models.user_code import has_keyword, with_keyword
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.columns import Mask
from perfprobe.tables.device_account import DeviceAccount, DeviceKind, DeviceLeaves
from perfprobe.tables.device_memory import DeviceMemory, fact_of_device
from perfprobe.tables.diagnoses import Cause
from perfprobe.tables.gpu import CopyKind, MemoryKind
from perfprobe.tables.gpu_findings import CopyRows, GpuFindings
from perfprobe.tables.idle import IdleCause

_LEAST = 0.03  # of a GPU's time
_MULTIPLIES = 0.1
_TF32_FROM = 8  # compute capability: Ampere
_TO_DEVICE = re.compile(r"\.(?:cuda|to)\(")


def pinned(known: Known) -> Iterator[Change | Untold]:
    """Pinned memory, where copies from pageable memory take the GPU's time, or let it wait."""
    if known.gpu is None:
        return
    rows = _to_device(known)
    pageable = rows.take(rows.source == MemoryKind.PAGEABLE)
    part = int(pageable.size_bytes.sum()) / max(int(rows.size_bytes.sum()), 1)
    leaves = known.gpu.leaves
    copying = leaves.copy == CopyKind.HOST_TO_DEVICE
    waiting = (leaves.kind == DeviceKind.IDLE) & (leaves.cause == IdleCause.PAGEABLE_COPY)
    share = part * _share(known.gpu, copying) + _share(known.gpu, waiting)
    if len(pageable) == 0 or share < _LEAST:
        return
    frame = int(pageable.frame[pageable.size_bytes.argmax()])
    ranges = known.ranges("enumerate(DataLoader)")
    made = known.code.made_for(known.line(int(ranges.frame[0])), "DataLoader") if len(ranges) else None
    if made is not None and has_keyword(made, "pin_memory"):
        return
    loader = "DataLoader(..., pin_memory=True)" if made is None else with_keyword(made, pin_memory="True")
    copy = _without_blocking(known.code.text(known.line(frame)) or "x = x.cuda()")
    what = "pin_memory=True, non_blocking=True"
    yield change("pinned", share, Check.SAME_BITS, what, f"{loader}\n{copy}", frame=frame)


def _to_device(known: Known) -> CopyRows:
    found = known.findings.get(GpuFindings)
    rows = CopyRows.empty() if found is None else found.copies
    return rows.take(rows.kind == CopyKind.HOST_TO_DEVICE)


def _share(account: DeviceAccount, chosen: Mask) -> float:
    return account.share(int(account.leaves.time_ns[chosen].sum()))


def _without_blocking(text: str) -> str:
    """The line with `non_blocking=True` in its copies to a GPU."""
    if "non_blocking" in text:
        return text
    found, at = "", 0
    for call in _TO_DEVICE.finditer(text):
        end = text.find(")", call.end())
        given = text[call.end() : end]
        found += text[at : call.end()] + given + (", " if given.strip() else "") + "non_blocking=True"
        at = end
    return found + text[at:]


def as_bytes(known: Known) -> Iterator[Change | Untold]:
    """Images as bytes, which are normalised on the GPU: a quarter of what is copied."""
    if known.gpu is None:
        return
    rows = _to_device(known)
    part = int(np.maximum(rows.image_bytes, 0).sum()) / max(int(rows.size_bytes.sum()), 1)
    share = part * _share(known.gpu, known.gpu.leaves.copy == CopyKind.HOST_TO_DEVICE)
    if share >= _LEAST:
        frame = int(rows.frame[rows.image_bytes.argmax()])
        snippet = "x = x.cuda().float().div(255)  # x is uint8; normalise here, not in the dataset"
        yield change("images-as-bytes", share, Check.CLOSE, "uint8 images", snippet, frame=frame)


def synchronised(known: Known) -> Iterator[Change | Untold]:
    """Values that stay on the GPU, where reading them in each step lets it run dry."""
    found = None if known.gpu is None else known.first(Cause.SYNCHRONISED)
    if found is None or found.share < _LEAST or 2 * found.steps < known.account.steps:
        return
    text = known.code.text(known.line(found.frame))
    snippet = "total += loss.detach()  # total.item() once, after the loop"
    if text is not None and ".item()" in text:
        snippet = f"{text.replace('.item()', '.detach()')}  # .item() after the loop"
    what = "read values later"
    yield change("reads", found.share, Check.SAME_BITS, what, snippet, frame=found.frame)


def tf32(known: Known) -> Iterator[Change | Untold]:
    """TF32 for products of float32, on GPUs that have it; not for what computes in 16 bits already."""
    if known.gpu is None:
        return
    leaves = _single_precision(known, known.gpu)
    share = known.gpu.share(int(leaves.time_ns.sum()))
    if share < _MULTIPLIES:
        return
    major = fact_of_device(known.findings.trace.recording.fact, known.gpu.device, "compute_major")
    if not isinstance(major, int):
        yield Untold(rule="tf32", needs="the GPU's compute capability")
    elif major >= _TF32_FROM:
        what = 'set_float32_matmul_precision("high")'
        frame = int(leaves.frame[leaves.time_ns.argmax()])
        yield change("tf32", share, Check.DTYPE, what, f"torch.{what}  # before the loop", frame=frame)


def _single_precision(known: Known, account: DeviceAccount) -> DeviceLeaves:
    """Kernels of products whose inputs are all float32, and whose names say that no tensor core works."""
    rows = account.leaves.take((account.leaves.kind == DeviceKind.KERNEL) & (account.leaves.operator >= 0))
    chosen = [
        may_use_tensor_cores(known.name(operator))
        and not uses_tensor_cores(known.name(name))
        and _dtypes(known.findings.trace.signature(signature)) == {"f32"}
        for operator, name, signature in zip(
            rows.operator.tolist(), rows.name.tolist(), rows.signature.tolist(), strict=True
        )
    ]
    return rows.take(np.array(chosen, np.bool_))


def _dtypes(signature: str | None) -> set[str]:
    return {each.dtype for each in tensors(parse(signature or "") or ())}


def allocator(known: Known) -> Iterator[Change | Untold]:
    """Segments that grow, where torch's allocator had to empty its cache and begin anew."""
    if known.gpu is None:
        return
    leaves = known.gpu.leaves
    share = _share(known.gpu, (leaves.kind == DeviceKind.IDLE) & (leaves.cause == IdleCause.ALLOCATOR))
    found = known.findings.get(DeviceMemory)
    if share < _LEAST:
        return
    if found is None:
        yield Untold(rule="allocator", needs="--memory")
    elif int(found.retries.max(initial=0)) > 0:
        what = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
        yield change("allocator", share, Check.SAME_BITS, what, what)
