"""What the columns about native code mean, by title."""

from __future__ import annotations

_OF = "of its CPU time"

NATIVE: dict[str, str] = {
    "of CPU": "Share of the CPU time of all threads, by samples of the instruction address.",
    "CPU": "CPU time of the operator itself, including team members that work for it.",
    "math": f"Share {_OF} in kernels of MKL, oneDNN, FBGEMM and other math libraries, and in code that they "
    "generate.",
    "loops": f"Share {_OF} in torch's own vectorised loops, or those of torch.compile.",
    "wait": f"Share {_OF} that threads spend waiting in OpenMP's library: spinning, sleeping, waking up.",
    "copy": f"Share {_OF} in memcpy, memset and torch's copy loops.",
    "memory": f"Share {_OF} in malloc and free, in mapping memory, and in page faults wherever they happen.",
    "dispatch": f"Share {_OF} in torch's other code: dispatcher, autograd, checks, the binding to Python.",
    "Python": f"Share {_OF} in the interpreter.",
    "system": f"Share {_OF} in system calls, except those that map memory.",
    "perfprobe": f"Share {_OF} that recording takes.",
    "other": f"Share {_OF} in other libraries; **function** and **library** show which.",
    "samples": "Number of samples.",
    "what": "The kind of code that the function belongs to.",
    "function": "Symbol of the library. `a..b`: a function without a name, between these two. `-`: the "
    "library has no symbols.",
    "library": "File name of the library.",
    "most in": "The function with most of the operator's CPU time.",
    "operator": "The innermost operator that ran. Team members count for the operator they work for.",
    "signature": "Inputs of the operator.",
    "line": "Line of the program.",
}

COUNTERS: dict[str, str] = {
    "CPU": "CPU time of the thread. For an operator: CPU time of its thread between readings that it filled.",
    "CPI": "Cycles per completed instruction. VTune calls more than 1 high; dense kernels reach 0.5 or less.",
    "reading": "The CPI is good (0.5 or less), fair (up to 1) or high, with the counts that explain it.",
    "faults": "Page faults, minor and major.",
    "switches": "Context switches: how often the thread left its processor, to wait or for another thread.",
    "migrations": "How often the thread moved to another processor.",
    "instructions": "Completed instructions.",
    "branch misses": "Mispredicted branches.",
    "cache misses": "Misses of the last-level cache.",
    "L1 misses": "Loads that missed the first-level data cache.",
    "front stalls": "Cycles in which the front end delivered no instructions.",
    "back stalls": "Cycles in which instructions waited for data or for execution units.",
    "thread": "Name of the thread.",
    "operator": "Operator that filled the time between two readings.",
    "signature": "Inputs of the operator.",
    "line": "Line of the program.",
}
