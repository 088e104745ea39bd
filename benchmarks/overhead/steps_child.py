"""A training loop that times its own steps, in step with another one: it waits for a line when it is warm.

Prints, as JSON: median and tenth percentile of the steps in ns, samples a second, CPU time of a step in ns.
"""

import json
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader

WIDTH, BATCH, WARM_UP = 192, 64, 50

torch.manual_seed(0)
layers = [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()] * 6
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.SGD(model.parameters(), 1e-4)
until, ends, cpu_ns = float("inf"), [], 0
samples = torch.rand(WIDTH).expand(50_000_000, WIDTH)
for batch in DataLoader(samples, batch_size=BATCH, collate_fn=torch.stack):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    ends.append(time.perf_counter_ns())
    if len(ends) == WARM_UP:
        print("warm", flush=True)
        sys.stdin.readline()
        until, cpu_ns = time.perf_counter() + float(sys.argv[1]), time.process_time_ns()
    if time.perf_counter() > until:
        break
cpu_ns = time.process_time_ns() - cpu_ns
steps = [after - before for before, after in zip(ends[WARM_UP:-1], ends[WARM_UP + 1 :], strict=True)]
tenth = sorted(steps)[len(steps) // 10]
ips = BATCH * 1e9 * len(steps) / sum(steps)
print(json.dumps([statistics.median(steps), tenth, ips, cpu_ns / len(steps)]))
