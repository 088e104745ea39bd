"""A training loop that times its own steps: prints their median in ns, and samples a second, warm."""

import json
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader

WIDTH, BATCH, WARM_UP = 192, 64, 10

torch.manual_seed(0)
layers = [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()] * 6
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.SGD(model.parameters(), 1e-4)
until = time.perf_counter() + float(sys.argv[1])
ends = []
for batch in DataLoader(torch.rand(WIDTH).expand(5_000_000, WIDTH), batch_size=BATCH, collate_fn=torch.stack):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    ends.append(time.perf_counter_ns())
    if time.perf_counter() > until:
        break
steps = [after - before for before, after in zip(ends[WARM_UP:-1], ends[WARM_UP + 1 :], strict=True)]
print(json.dumps([statistics.median(steps), BATCH * 1e9 * len(steps) / sum(steps)]))
