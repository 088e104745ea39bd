"""What the columns about native code mean, by title."""

from __future__ import annotations

_OF = "of its CPU time"

NATIVE: dict[str, str] = {
    "of CPU": "Its part of the CPU time of all threads, by samples of the instruction address.",
    "CPU": "CPU time of the operator itself on all threads, with that of the team members that work for it.",
    "math": f"Part {_OF} in kernels of MKL, oneDNN, FBGEMM and other math libraries, and in code that they "
    "generate.",
    "loops": f"Part {_OF} in torch's own vectorised loops, or those of torch.compile.",
    "wait": f"Part {_OF} in which threads wait in OpenMP's library: they spin, or go to sleep and wake up.",
    "copy": f"Part {_OF} in memcpy, memset and torch's copy loops.",
    "memory": f"Part {_OF} in malloc and free, in mapping memory, and in page faults wherever they happen.",
    "dispatch": f"Part {_OF} in torch's other code: dispatcher, autograd, checks, the binding to Python.",
    "Python": f"Part {_OF} in the interpreter.",
    "system": f"Part {_OF} in the kernel for system calls, except those for memory.",
    "perfprobe": f"Part {_OF} that recording takes.",
    "other": f"Part {_OF} in code of other libraries, which **function** names.",
    "samples": "Number of samples.",
    "what": "To which part the function belongs.",
    "function": "Symbol of the library. `a..b`: the library does not name it, it lies between these two. "
    "`-`: the library has no symbols.",
    "library": "File of the code.",
    "most in": "The function with most of the operator's CPU time.",
    "operator": "The innermost operator that ran. Members of a team count for another thread's operator.",
    "signature": "Inputs of the operator.",
    "line": "Line of the program.",
}

COUNTERS: dict[str, str] = {
    "CPU": "CPU time of the thread, or of the operator's thread in the readings that it filled.",
    "CPI": "Cycles for an instruction that was completed. VTune calls more than 1 high; dense kernels reach "
    "0.5 and less.",
    "reading": "What CPI means: good (0.5 and less), fair (up to 1) or high, and which counts explain it.",
    "faults": "Page faults, minor and major.",
    "switches": "How often the thread left its processor: it waited, or another thread took it.",
    "migrations": "How often it went on on another processor.",
    "instructions": "Instructions that were completed.",
    "branch misses": "Branches that were predicted wrongly.",
    "cache misses": "Accesses that the last level of cache did not have.",
    "L1 misses": "Loads that the first level of cache did not have.",
    "front stalls": "Cycles without instructions to begin.",
    "back stalls": "Cycles in which instructions waited for data or for units of the processor.",
    "thread": "Name of the thread.",
    "operator": "Operator that filled the time between readings.",
    "signature": "Inputs of the operator.",
    "line": "Line of the program.",
}
