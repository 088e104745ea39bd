"""What verdicts and their modifiers mean."""

from __future__ import annotations

from perfprobe.models.verdicts import MEANING as VERDICTS

MODIFIERS: dict[str, str] = {
    "pure copy": "The call only copies, at full bandwidth: only avoiding it gains time.",
    "slower with threads": "The call was faster with one thread.",
    "poorly parallel": "Threads gain little: less than 1.3x on two, less than 60 % of their number on more.",
    "serial kernel": "Only one thread worked.",
    "one thread": "The program used one thread; the figure is the gain with all threads.",
    "layout-bound": "With contiguous or channels-last operands the call is faster.",
    "shape-bound": "With padded sizes the call is faster.",
    "value-sensitive": "The time depends on the values in the tensors.",
    "denormal results": "Numbers near 0 slow it down; `torch.set_flush_denormal(True)` avoids them.",
    "nested copy_": "Much of the time is a copy inside the operator.",
    "dtype-bound": "With a smaller dtype the call is faster. Accuracy was not compared.",
    "fresh memory": "With memory used again in place of new memory the call is faster.",
    "page faults": "The program's memory has more or fewer page faults than the call by itself.",
}

__all__ = ["MODIFIERS", "VERDICTS"]
