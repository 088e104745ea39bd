"""Programs with one planted problem of threads each, and one without. `# here` marks its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MARK = "# here"


class Planted(NamedTuple):
    """A program, and what must be said of it.

    Attributes:
        problem: as `perfprobe threads --json` names it; "" for a healthy program.
        variables: of the environment.
        quota: processors that a cgroup allows it, 0 for as many as there are.
        busy: processes that only compute beside it.
        of_program: whether the problem is one of the program.
    """

    problem: str
    text: str
    variables: Mapping[str, str] = {}
    prefix: Sequence[str] = ()
    quota: float = 0
    busy: int = 0
    of_program: bool = True


HEAD = """
import time
import torch

a, b = torch.randn(900, 900), torch.randn(900, 900)
big = torch.empty(4_000_000)


def runs(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield

"""
PRODUCTS = HEAD + "for _ in runs(3):\n    torch.relu(a @ b).sum()  # here\n"
# MKL's products never use more threads than there are cores, and torch takes no larger OMP_NUM_THREADS.
POINTWISE = HEAD + "torch.set_num_threads(6)\nfor _ in runs(3):\n    torch.sin(big)  # here\n"
NESTED = (
    HEAD
    + """
from concurrent.futures import ThreadPoolExecutor

def work(_):
    for _ in runs(3):
        torch.relu(a @ b).sum()  # here

with ThreadPoolExecutor(3) as pool:
    list(pool.map(work, range(3)))
"""
)
WORKERS = (
    HEAD
    + """
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, at):
        for _ in range(12):
            found = torch.relu(a @ b).sum()  # here
        return found

if __name__ == "__main__":
    team = lambda _: torch.set_num_threads(4)
    loader = DataLoader(Data(), batch_size=2, num_workers=2, worker_init_fn=team)
    for batch in loader:
        batch.sum()
"""
)
SERIAL = HEAD + "huge = torch.ones(40_000_000)\nfor _ in runs(3):\n"
SERIAL += "    huge.cumsum(0)  # here\n    torch.sin(big)\n"
MASKED = PRODUCTS.replace("\na, b", "\ntorch.set_num_threads(2)\na, b")
ACTIVE = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite"}
SPINNING = HEAD + "for _ in runs(3):\n    a @ b\n    time.sleep(0.06)  # here\n"
SHORT_SPINNING = HEAD + "for _ in runs(3):\n    a[:300] @ b\n    time.sleep(0.004)  # here\n"
LOCK = """
import threading
import torch

def count(turns):
    total = 0
    for at in range(turns):
        total += at * at % 7  # here
    return total

both = [threading.Thread(target=count, args=(30_000_000,)) for _ in range(2)]
for each in both:
    each.start()
for each in both:
    each.join()
"""

PLANTED = {
    "healthy": Planted("", PRODUCTS),
    "more threads than cores": Planted("oversubscription", POINTWISE),
    "workers with a team each": Planted("workers", WORKERS),
    "a serial operator": Planted("serial", SERIAL),
    "a pool of threads with a team each": Planted("nested", NESTED),
    "a busy neighbour": Planted("other_processes", PRODUCTS, busy=2, of_program=False),
    "an affinity mask": Planted("affinity", MASKED, prefix=("taskset", "--cpu-list", "0")),
    "a cgroup's quota": Planted("quota", PRODUCTS, quota=0.8),
    "spinning by a setting": Planted("spinning", SPINNING, ACTIVE),
    "threads that need the global lock": Planted("lock", LOCK),
    "spinning by default": Planted("spinning", SHORT_SPINNING),
}
