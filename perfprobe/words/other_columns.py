"""What the columns about Python, steps, processes, GPUs and losses mean, by section and by title."""

from __future__ import annotations

_LINE = "Line of the program."
_OPERATOR = "Operator that launched it."
_OPERATOR_ALONE = "Operator whose calls are long enough to fill the time between two samples."
_MEAN = "Mean duration."
_LONGEST = "Longest duration."


BENCHMARK: dict[str, str] = {
    "measure": "**batch_cost**: time of a whole step. **reader_cost**: time of the step in the loader's "
    "`next`. **ips**: samples per second, or steps per second if the batch size is not known.",
    "median": "Half of the steps have at most this value.",
    "interval": "95 % confidence interval of the median, by order statistics; `-` with fewer than six steps.",
    "average": "Mean over the steps. For ips: all samples divided by the total time.",
    "p95": "95 % of the steps have at most this value.",
    "min": "Smallest value of a step.",
    "max": "Largest value of a step.",
    "unit": "Unit of ips.",
}


WORKERS: dict[str, str] = {
    "dataset": "Class of the dataset.",
    "workers": "Number of worker processes and their start method.",
    "batches": "Number of batches that they made.",
    "a batch": "Time that a worker takes for one batch.",
    "dataset's part": "Share of the workers' time spent in the dataset.",
    "reading": "Share of the workers' time spent reading files in the dataset, by samples.",
    "transform": "Share of the workers' time spent in transforms, by samples.",
    "collate": "Share of the workers' time spent combining items into batches.",
    "put": "Share of the workers' time spent putting batches into the queue.",
    "idle": "Share of the workers' time without a batch to make.",
    "sending": "Time of the queue's own thread, which sends batches in the background.",
    "start-up": "Time until the workers were ready.",
    "CPU": "CPU time of the workers.",
    "queued": "Mean number of finished batches in the queue.",
    "most of dataset": "Line of the dataset with most of its time, by samples.",
}


SLOW_STEPS: dict[str, str] = {
    "step": "Number of the step, counted from 0.",
    "at": "Time of day at which it began.",
    "took": "Duration of the step.",
    "more": "How much longer it took than the median of all steps.",
    "line with most of it": "The line that exceeds its time in an ordinary step the most, and by how much: "
    "by samples of the loop's thread, in short steps by operators. Then the operator with most of that time.",
    "more of": "What took longer than in an ordinary step: waiting for data, waiting for a processor, "
    "garbage collection, running, or being blocked (anything else, such as a sleep, a lock or a disk).",
    "in phase": "The phases that took longer.",
    "from": "When this stretch of time began.",
    "steps": "Number of steps.",
    "median": "Median of their durations.",
    "p95": "95th percentile of their durations.",
    "max": "The longest.",
    "slow": "Number of slow steps.",
}
