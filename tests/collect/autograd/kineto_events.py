"""Traces written by torch.profiler, as the events from which it wrote them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TYPES = {  # names in traces of 2020 and in later ones
    **{
        name: name
        for name in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync")
    },
    **{"memcpy": "gpu_memcpy", "memset": "gpu_memset", "runtime": "cuda_runtime", "operator": "cpu_op"},
}
_OF_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync")


class KinetoEvent:
    """The used part of `torch._C._autograd._KinetoEvent` in torch 2.11. Times are Unix ns."""

    def __init__(self, entry: dict[str, Any], kind: str) -> None:
        self._entry, self.kind = entry, kind

    def name(self) -> str:
        return str(self._entry["name"])

    def start_ns(self) -> int:
        return round(self._entry["ts"] * 1000)

    def end_ns(self) -> int:
        return self.start_ns() + round(self._entry["dur"] * 1000)

    def correlation_id(self) -> int:
        args = self._entry["args"]
        return int(args.get("correlation", args.get("External id", args.get("external id", 0))))

    def device_index(self) -> int:
        return int(self._entry["args"]["device"]) if self.kind in _OF_DEVICE else 4711

    def device_resource_id(self) -> int:
        args = self._entry["args"]
        return int(args["stream"]) if self.kind in _OF_DEVICE else int(self._entry["tid"])

    def metadata_json(self) -> str:
        args = {name: value for name, value in self._entry["args"].items() if name.lower() != "external id"}
        return json.dumps(args)[1:-1]


class NewKinetoEvent(KinetoEvent):
    """As in torch 2.13."""

    def activity_type(self) -> str:
        return self.kind


class OldKinetoEvent(KinetoEvent):
    """Without the methods that torch 2.10 added."""

    metadata_json = None  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        if name == "metadata_json":
            raise AttributeError(name)
        return super().__getattribute__(name)


def events(path: Path, kind: type[KinetoEvent]) -> Iterator[KinetoEvent]:
    """All events of a trace that a session would have."""
    with gzip.open(path) as file:
        entries = json.load(file)["traceEvents"]
    for entry in entries:
        category = str(entry.get("cat", "")).lower()
        if entry.get("ph") == "X" and category not in ("trace", "python_function"):
            entry.setdefault("args", {})
            yield kind(entry, _TYPES.get(category, category))
