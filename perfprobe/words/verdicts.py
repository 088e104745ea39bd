"""What verdicts and their modifiers mean."""

from __future__ import annotations

from perfprobe.models.verdicts import MEANING as VERDICTS

MODIFIERS: dict[str, str] = {
    "faster form": "Another way to compute the same result took less time here, on operands made for this. "
    "What must hold, or is lost, stands in brackets.",
    "pure copy": "The call only copies, at full bandwidth: only avoiding the call saves time.",
    "slower with threads": "The call was faster with one thread.",
    "poorly parallel": "Threads gain little: less than 1.3x on two, less than 60 % of their number on more.",
    "serial kernel": "Only one thread worked.",
    "one thread": "The program used one thread. The figure is the speed-up with all threads.",
    "layout-bound": "The call is faster with contiguous or channels-last operands.",
    "shape-bound": "The call is faster with padded sizes.",
    "value-sensitive": "The time depends on the values in the tensors.",
    "denormal results": "Numbers near 0 slow it down; `torch.set_flush_denormal(True)` avoids them.",
    "nested copy_": "Much of the time is a copy inside the operator.",
    "dtype-bound": "The call is faster with a smaller dtype. Accuracy was not compared.",
    "fresh memory": "The call is faster with reused memory than with new memory.",
    "page faults": "The call has more, or fewer, page faults in the program than by itself.",
}

__all__ = ["MODIFIERS", "VERDICTS"]
