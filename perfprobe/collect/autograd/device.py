"""Reads what Kineto recorded of GPUs, into the tables that our own CUPTI client fills otherwise.

Kineto's events have CUPTI's names, times and correlation ids. Other facts are in a piece of JSON for each
event, which torch has since 2.10. What Kineto does not report is -1 in the rows and a loss: see `losses`.
"""

from __future__ import annotations

import json

from perfprobe.collect.autograd.columns import Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from perfprobe.collect.autograd.kineto import Raw
    from perfprobe.collect.autograd.names import Names
    from perfprobe.native import Recorder

    _Event = tuple[str, Any, Mapping[str, Any]]  # kind, event and facts

_KERNEL, _COPY, _FILL, _CALL, _WAIT = "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_sync"
_KINDS = {kind: kind for kind in (_KERNEL, _COPY, _FILL, _CALL, _WAIT)} | {"cuda_driver": _CALL}
# Without activity_type (before torch 2.13), the first of these facts decides the kind.
_FACTS = {"cbid": _CALL, "cid": _CALL, "cuda_sync_kind": _WAIT, "grid": _KERNEL}
_NAMES = {"Memcpy ": _COPY, "Memset ": _FILL}
_FILL_KIND = 100  # tables.gpu.CopyKind; torch reports these words, not numbers
_COPIES = ("HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")  # numbered from 1
_MEMORY = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static")
_WAITS = ("Unknown", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
_GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch")
_SIZE = ("grid", "block")
_LAUNCH = (*(f"{name}_{axis}" for name in _SIZE for axis in "xyz"), "registers")
_MOST_BLOCKS = 1e12  # for each multiprocessor
_SUMS = {"shared_bytes": "shared memory", "occupancy_percent": "est. achieved occupancy %"}
_REMEDY = "record with the observer"
_TABLES = (
    "launches",
    "kineto_launches",
    "kernels",
    "copies",
    "api_calls",
    "gpu_waits",
)  # referred-to tables first


class DeviceReader:
    """Reads one session after another. Each recording needs its own object."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._launches: dict[tuple[int, ...], int] = {}
        self._waits = self._graph_launches = self._without_graph = self._without_facts = 0
        self.events = 0  # kernels, copies and fills

    def split(self, events: Sequence[Any]) -> tuple[list[Any], list[_Event]]:
        """Separates events of the CPU from events of GPUs and CUDA calls; the latter with kind and facts.

        Both number their events from 1, so they must be kept apart.
        """
        host, device = [], []
        for event in events:
            found = _kind(event)
            if found is None:
                host.append(event)
            else:
                device.append((found[0], event, found[1]))
        return host, device

    def write(self, recorder: Recorder, raw: Raw, device: Sequence[_Event]) -> None:
        """Writes the events that `split` found. Calls after `raw.last_unix_ns` are not the program's."""
        tables = {name: Rows() for name in _TABLES}
        for kind, event, facts in device:
            known = {
                "start_ns": raw.to_monotonic(event.start_ns()),
                "end_ns": raw.to_monotonic(event.end_ns()),
                "correlation": int(facts.get("correlation", event.correlation_id())),
            }
            if kind == _CALL:
                if event.start_ns() <= raw.last_unix_ns:
                    tables["api_calls"].add(**known, **self._call(event), result=-1, stack=-1)
            elif kind == _WAIT:
                self._waits += 1
                tables["gpu_waits"].add(
                    **known,
                    kind=_word(_WAITS, facts.get("cuda_sync_kind")),
                    context=_id(facts.get("context")),
                    stream=_id(facts.get("stream")),
                )
            else:
                self._add_work(tables, kind, event, facts, known)
        for name, rows in tables.items():
            if len(rows):
                rows.write(recorder, name)

    def _add_work(
        self,
        tables: Mapping[str, Rows],
        kind: str,
        event: Any,
        facts: Mapping[str, Any],
        known: Mapping[str, int],
    ) -> None:
        """Adds a kernel, a copy or a fill. known: its times and correlation."""
        self.events += 1
        self._without_facts += not facts
        graph, name = _number(facts, "graph id"), str(event.name())
        self._without_graph += graph < 0
        row = {
            **known,
            "device": _id(event.device_index()),
            "context": _id(facts.get("context")),
            "stream": _id(event.device_resource_id()),
            "graph": graph,
            "graph_node": _number(facts, "graph node id"),
        }
        if kind == _KERNEL:
            launch = self._launch(facts, tables)
            tables["kernels"].add(**row, name=self._names.text(name), launch=launch)
        else:
            size_bytes = _number(facts, "bytes")
            tables["copies"].add(**row, **_move(name), is_async=-1, size_bytes=size_bytes, peer_device=-1)

    def losses(self) -> Iterator[tuple[str, int, str]]:
        """Yields what Kineto does not report: reason, count (-1 if not known) and remedy."""
        if not self.events:
            return
        unknown = "results of CUDA calls, local memory of launches, and which copies were async"
        yield f"{unknown}: Kineto does not report them", -1, _REMEDY
        if not self._waits:
            yield "waits for the GPU, by line: Kineto does not report them", -1, _REMEDY
        if self._graph_launches and self._without_graph:
            yield "nodes of CUDA graphs: Kineto does not report them", self._graph_launches, _REMEDY
        if self._without_facts:
            reason = "bytes of copies and sizes of launches: this torch's Kineto does not report them"
            yield reason, self._without_facts, _REMEDY

    def _call(self, event: Any) -> dict[str, int]:
        """Returns the row of the calling thread, and the function's name."""
        name = str(event.name())
        self._graph_launches += name.startswith(_GRAPH_LAUNCHES)
        thread = self._names.thread_of_system(int(event.device_resource_id()))
        return {"thread": thread, "name": self._names.text(name)}

    def _launch(self, facts: Mapping[str, Any], tables: Mapping[str, Rows]) -> int:
        """Returns the row of a launch; -1 if not known. Kineto reports shared memory as one sum."""
        if any(name not in facts for name in _SIZE):
            return -1
        sizes = [int(size) for name in _SIZE for size in facts[name]]
        own = (*sizes, _number(facts, "registers per thread"))
        sums = (*(_number(facts, name) for name in _SUMS.values()), _millionths(facts.get("blocks per SM")))
        key = (*own, *sums)
        if key not in self._launches:
            self._launches[key] = len(self._launches)
            read = dict(zip(_LAUNCH, own, strict=True))
            tables["launches"].add(**read, static_shared_bytes=-1, dynamic_shared_bytes=-1, local_bytes=-1)
            columns = (*_SUMS, "blocks_per_sm_millionths")
            tables["kineto_launches"].add(**dict(zip(columns, sums, strict=True)))
        return self._launches[key]


def _kind(event: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Returns the kind of an event of a GPU or of CUDA's API, with its facts; None for other events."""
    read = getattr(event, "activity_type", None)
    text = read() if read is not None else None
    if isinstance(text, str):
        return (_KINDS[text], _facts(event)) if text in _KINDS else None
    facts = _facts(event)
    named = next((kind for name, kind in _NAMES.items() if event.name().startswith(name)), None)
    kind = next((kind for fact, kind in _FACTS.items() if fact in facts), named)
    return None if kind is None else (kind, facts)


def _facts(event: Any) -> Mapping[str, Any]:
    """Returns the facts of an event. Kineto writes the content of a JSON object without braces."""
    read = getattr(event, "metadata_json", None)
    try:
        found = json.loads(f"{{{read()}}}") if read is not None else {}
    except ValueError:  # the name of the event has quotes
        return {}
    return found if isinstance(found, dict) else {}


def _number(facts: Mapping[str, Any], name: str) -> int:
    value = facts.get(name)
    return int(value) if isinstance(value, (int, float)) else -1


def _millionths(value: object) -> int:
    return round(value * 1e6) if isinstance(value, (int, float)) and 0 <= value < _MOST_BLOCKS else -1


def _id(value: object) -> int:
    """Returns a number from the driver; -1 for none, which may have all bits set."""
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else -1


def _word(words: Sequence[str], word: object) -> int:
    return words.index(word) if isinstance(word, str) and word in words else 0


def _move(name: str) -> dict[str, int]:
    """Returns kind and memory types of "Memcpy HtoD (Pageable -> Device)" or "Memset (Device)"."""
    what, _, memory = name.partition(" (")
    source, _, destination = memory.rstrip(")").partition(" -> ")
    if what == "Memset":
        return {"kind": _FILL_KIND, "source": 0, "destination": _word(_MEMORY, source)}
    return {
        "kind": _word(("", *_COPIES), what.removeprefix("Memcpy ")),
        "source": _word(_MEMORY, source),
        "destination": _word(_MEMORY, destination),
    }
