"""What the columns of ranks and collectives mean."""

from __future__ import annotations

RANKS: dict[str, str] = {
    "rank": "Number of the process in the run.",
    "host": "Machine that it ran on.",
    "steps": "Number of steps; without steps, shares are of the whole recording.",
    "median step": "Median duration of a steady step.",
    "computing": "Share of time in operators (on GPUs in kernels) alone, without communication.",
    "overlap": "Share of time in which it computed and communicated at once.",
    "communicating": "Share of time in collectives alone.",
    "other": "Share of time without computing and communicating.",
    "waiting": "Time in collectives beyond that of the fastest rank of each.",
    "transfer": "Time of the fastest rank of each collective.",
    "began last by": "How much later than all others it began collectives, if it was the last; summed.",
    "more than others in": "Phase in which its steps exceed those of the other ranks the most.",
    "line": "Line in which its time outside of collectives exceeds that of the other ranks the most.",
    "collective": "Range that started the collective.",
    "group": "Name of its process group, if recorded.",
    "calls": "Number of calls in each rank that all ranks have.",
    "size": "Size of the input tensors of all calls of one rank; in traces, of their messages.",
    "time": "Time in these calls, as the mean over ranks.",
    "mean time": "Mean time of one call.",
    "bus rate": "Bytes that a rank sends, as nccl-tests counts them (all_reduce: 2(n-1)/n of the size), "
    "divided by the transfer time.",
}
