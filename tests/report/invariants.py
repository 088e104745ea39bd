"""What must hold for every first screen, read from the JSON of a report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Row = Mapping[str, Any]
_STANDS_OUT = 0.2
_WAITS_OF_GPU = dict.fromkeys(("operators", "python", "launch", "allocator"), "cpu")
_WAITS_OF_GPU |= dict.fromkeys(("sync", "pageable_copy"), "sync")
_WAITS = ("data", "collection", "compile", "import", "ranks", "lock", "gpu")


def violations(tables: Mapping[str, Any]) -> list[str]:
    """What does not hold; nothing for a program without steps, or where no first screen was asked for."""
    if not tables.get("account") or not tables.get("first_screen"):
        return []
    return list(_of_gpu(tables) if tables.get("gpu_account") else _found(tables))


def _found(tables: Mapping[str, Any]) -> Iterator[str]:
    rows = {row["label"]: row for row in reversed(tables["first_screen"])}
    slow, judged, account = rows["SLOW"], tables["diagnoses"], tables["account"]
    own_ns = sum(row["time_ns"] for row in account if row["kind"] != "processor")
    sums_ns = _parts_ns(account)
    yield from _of_account(account, own_ns)
    yield from _of_parts(rows.get("PARTS"))
    if judged and judged[0]["stands_out"] and judged[0]["base"] != "steps":
        return  # what takes more than all steps, or is judged by a GPU's own time, is no part of the account
    largest, time_ns = max(sums_ns.items(), key=lambda part: part[1])
    if slow["text"].startswith("nothing stands out"):
        if time_ns >= _STANDS_OUT * own_ns:
            yield f"nothing stands out, but {largest} has {time_ns / own_ns:.0%}"
        return
    first = judged[0]
    if not first["stands_out"]:
        yield f"SLOW is {slow['text']}, but no diagnosis stands out"
    yield from _of_gain(rows.get("GAIN"), first)
    then = rows.get("THEN", {}).get("share") or 0
    if first["share"] + then > 1 + first["error"] + 1e-6:
        yield f"SLOW {first['share']:.2f} and THEN {then:.2f} are more than 1"
    if first["cause"] == "line":
        wait_ns = max((sums_ns[kind, None] for kind in _WAITS), default=0)
        if wait_ns >= _STANDS_OUT * own_ns:
            yield f"SLOW is a line, but a wait has {wait_ns / own_ns:.0%}"


def _of_gpu(tables: Mapping[str, Any]) -> Iterator[str]:
    """Steps that are judged by a GPU: SLOW, GAIN, THEN and PARTS are of its time."""
    rows = {row["label"]: row for row in reversed(tables["first_screen"])}
    first, account = tables["diagnoses"][0], tables["gpu_account"]
    whole_ns, sums_ns = sum(row["time_ns"] for row in account), _gpu_parts_ns(account)
    yield from _of_parts(rows.get("PARTS"))
    if abs(sum(row["share"] for row in account) - 1) > 1e-6 or any(row["time_ns"] < 0 for row in account):
        yield "the GPU's parts do not sum to its time"
    if not first["base"].startswith("gpu"):
        return  # start-up or evaluations take more than all steps
    waits = {what: time_ns for what, time_ns in sums_ns.items() if what[0] == "wait"}
    if rows["SLOW"]["text"].startswith("nothing stands out"):
        large = [what for what, time_ns in sums_ns.items() if time_ns >= _STANDS_OUT * whole_ns]
        yield from (f"nothing stands out, but {what} does" for what in large)
        return
    yield from _of_gain(rows.get("GAIN"), first)
    if first["share"] + (rows.get("THEN", {}).get("share") or 0) > 1 + 1e-6:
        yield f"SLOW {first['share']:.2f} and THEN are more than 1: {rows['THEN']}"
    known_ns = max((time_ns for what, time_ns in waits.items() if what[1] != "unknown"), default=0)
    if first["cause"] in ("line", "gpu-operator") and known_ns >= _STANDS_OUT * whole_ns:
        yield f"SLOW is {first['cause']}, but the GPU waits for {known_ns / whole_ns:.0%}"


def _gpu_parts_ns(account: list[Row]) -> Counter[tuple[object, ...]]:
    """The time of each wait, and of each line or operator without one."""
    sums_ns: Counter[tuple[object, ...]] = Counter()
    for row in account:
        what: tuple[object, ...] = "wait", _WAITS_OF_GPU.get(row["cause"], row["cause"] or row["kind"])
        if row["kind"] == "kernel":
            what = "kernel", row["file"], row["line"] or row["operator"] or row["kernel"]
        sums_ns[what] += row["time_ns"]
    return sums_ns


def _parts_ns(account: list[Row]) -> Counter[tuple[str, object]]:
    """The time of each wait, and of each line over all phases."""
    sums_ns: Counter[tuple[str, object]] = Counter()
    for row in account:
        if row["kind"] != "processor":
            at = (row["file"], row["line"]) if row["kind"] == "line" and row["line"] else None
            sums_ns[row["kind"], at] += row["time_ns"]
    sums_ns["line", None] = 0  # of no line in particular
    return sums_ns


def _of_account(account: list[Row], own_ns: int) -> Iterator[str]:
    if own_ns <= 0 or any(row["time_ns"] < 0 for row in account):
        yield f"the account has negative parts, or none: {own_ns}"
    if any(row["operators_ns"] > row["time_ns"] + 1000 for row in account):
        yield "operators have more time than the part that they are in"


def _of_parts(parts: Row | None) -> Iterator[str]:
    percents = [int(text) for text in re.findall(r"(\d+) %", parts["text"])] if parts else [100]
    if sum(percents) != 100:
        yield f"PARTS do not sum to 100: {parts}"


def _of_gain(gain: Row | None, first: Row) -> Iterator[str]:
    if gain is None:
        return
    said, bound = re.search(r"([\d.]+)x", gain["text"]), 1 / (1 - first["share"])
    if said is None and bound < 49:
        yield f"GAIN gives no number for {bound:.1f}"
    if said is not None and abs(float(said[1]) - bound) > 0.06 * bound:
        yield f"GAIN {said[1]} is not 1 / (1 - {first['share']:.2f})"
