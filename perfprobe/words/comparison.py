"""The lines of `perfprobe compare`."""

from __future__ import annotations

COMPARISON: dict[str, str] = {
    "NOTE": "What is not the same for both: torch, CPU, GPU, threads, batch, how it was recorded. The last "
    "one, and less than half of the time in parts that both have, make the step not comparable.",
    "STEP": "The mean step of A and of B, without waiting for a processor (`--measure`), and how much slower "
    "B is: the mean ratio of the pairs with its 95 % interval. With fewer than five pairs there is no "
    "verdict: two runs of one program differ too.",
    "WHERE": "The line with most of the difference, and how much of it; the operator if it has nearly all of "
    "that line's. Or the phase, if no line has as much. With pairs only what is certain, all rows counted.",
    "WHY": "How its calls differ: more of them, or each as many times as long, with what each adds; and the "
    "first input that is not the same.",
    "ALSO": "The next largest differences, and start-up, memory, evaluations or compilation if they changed.",
    "GPU": "Kernels of a step, the mean copy from host to device, the part of the time in which it was idle.",
    "COUNTS": "What differs and has no noise: one run of each is enough, unless steps are not alike.",
    "SAME": "Phases that changed by less than 1 % of the step.",
    "LIMIT": "The smallest change of the step that these runs could have shown.",
    "GATE": "What came of each `--fail-on`. *failed*: larger than the limit, and certain. *cannot tell*: the "
    "runs do not say; it passes, unless `--fail-on-unknown` is given.",
}
