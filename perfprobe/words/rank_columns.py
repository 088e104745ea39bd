"""What the columns of ranks and collectives mean."""

from __future__ import annotations

RANKS: dict[str, str] = {
    "rank": "Number of the process in the run.",
    "host": "Machine that it ran on.",
    "steps": "Number of steps. Without steps, shares refer to the whole recording.",
    "median step": "Median duration of a steady step.",
    "computing": "Share of time in operators (on GPUs in kernels), without communication.",
    "overlap": "Share of time during which it computed and communicated at once.",
    "communicating": "Share of time in collectives only.",
    "other": "Share of time without computing and communicating.",
    "waiting": "Time in collectives beyond the time of the fastest rank, summed over collectives.",
    "transfer": "Time of the fastest rank in each collective, summed.",
    "began last by": "How much later than all other ranks it began collectives, summed over those in which "
    "it was the last.",
    "more than others in": "Phase that takes longer than in other ranks by the largest amount.",
    "line": "Line that takes longer than in other ranks by the largest amount, outside of collectives.",
    "collective": "Range that started the collective.",
    "group": "Name of its process group, if recorded.",
    "calls": "Number of calls in each rank. Only calls that all ranks have count.",
    "size": "Size of the input tensors of all calls of one rank; in traces, size of the messages.",
    "time": "Time in these calls, mean over the ranks.",
    "mean time": "Mean time of one call.",
    "bus rate": "Bytes that a rank sends, as nccl-tests counts them (all_reduce: 2(n-1)/n of the size), "
    "divided by the transfer time.",
}
