"""What the columns of ranks and collectives are."""

from __future__ import annotations

RANKS: dict[str, str] = {
    "rank": "Number of the process in the run.",
    "host": "Machine that it ran on.",
    "steps": "Number of steps; without steps, shares are of the whole recording.",
    "median step": "Median duration of a steady step.",
    "computing": "Share of time in operators (on GPUs in kernels) alone, without communication.",
    "overlap": "Share of time in which it computed and communicated.",
    "communicating": "Share of time in collectives alone.",
    "other": "Share of time in neither.",
    "waiting": "Time in collectives beyond that of the fastest rank of each.",
    "transfer": "Time of the fastest rank of each collective.",
    "began last by": "How much later than the next rank it began collectives, where it was the last, summed.",
    "more than others in": "Phase in which its steps take most longer than those of the other ranks.",
    "line": "Line in which it spends most more than the others outside of collectives, by samples.",
    "collective": "Range that the collective was asked for in.",
    "calls": "Number of them in each rank, as far as all ranks have them.",
    "size": "Size of the input tensors of all calls of one rank.",
    "time": "Time in them, mean of the ranks.",
    "mean time": "The same of one call.",
    "bus rate": "What a rank sends, by nccl-tests (for all_reduce 2(n-1)/n of the size), by transfer time.",
}
