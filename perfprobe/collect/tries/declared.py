"""The words of `--try`, each declared once."""

from __future__ import annotations

from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NUMBER = "N"  # stands for a whole number in `Try.values`
ENVIRONMENT, CLASSES, MODULE = "environment", "classes of torch", "outermost module"


class Try:
    """A change that can be put on a program.

    Args:
        means: what it does.
        put: how it is put on: a variable of the environment, which torch reads when it is loaded; torch's
            classes, changed when torch was imported; or around each call of a module that no other one calls.
        check: how much it may change what the program computes: the name of a `tables.advice.Check`.
        code: the same change in the program's source; {} stands for the value.
        values: what may follow =; () if nothing does. `NUMBER` stands for whole numbers.
        variables: of the environment.
        excludes: words that cannot be tried together with it.
        is_of_threads: whether threads or processes of the program compete in another way.
        argument: function or class ("" for any class) and the argument of it that makes the same change.
    """

    def __init__(  # noqa: PLR0913 (each is a separate fact)
        self,
        means: str,
        put: str,
        check: str,
        code: str,
        *,
        values: tuple[str, ...] = (),
        variables: tuple[str, ...] = (),
        excludes: tuple[str, ...] = (),
        is_of_threads: bool = False,
        argument: tuple[str, str] | None = None,
    ) -> None:
        self.means = means
        self.put = put
        self.check = check
        self.code = code
        self.values = values
        self.variables = variables
        self.excludes = excludes
        self.is_of_threads = is_of_threads
        self.argument = argument

    def code_with(self, value: str) -> str:
        """The same change in the program's source, with this value."""
        return self.code.replace("{}", value)


# In the order in which they are put on.
TRIES: Mapping[str, Try] = {
    "threads": Try(
        "Torch computes with N threads.",
        *(ENVIRONMENT, "CLOSE", "export OMP_NUM_THREADS={}"),
        values=(NUMBER,),
        variables=("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
        is_of_threads=True,
    ),
    "wait-policy": Try(
        "Threads of OpenMP sleep (passive) or spin (active) while they wait for work.",
        *(ENVIRONMENT, "SAME_BITS", "export OMP_WAIT_POLICY={}"),
        values=("passive", "active"),
        variables=("OMP_WAIT_POLICY",),
        is_of_threads=True,
    ),
    "thp": Try(
        "Torch asks the kernel for large pages when it allocates memory.",
        *(ENVIRONMENT, "SAME_BITS", "export THP_MEM_ALLOC_ENABLE=1"),
        variables=("THP_MEM_ALLOC_ENABLE",),
    ),
    "workers": Try(
        "Loaders have N workers. Left alone: those of an IterableDataset, which would repeat its data.",
        *(CLASSES, "SAME_BITS", "DataLoader(..., num_workers={})"),
        values=(NUMBER,),
        is_of_threads=True,
        argument=("DataLoader", "num_workers"),
    ),
    "persistent-workers": Try(
        "Workers of loaders live on from epoch to epoch.",
        *(CLASSES, "SAME_BITS", "DataLoader(..., persistent_workers=True)"),
        is_of_threads=True,
        argument=("DataLoader", "persistent_workers"),
    ),
    "prefetch": Try(
        "Each worker of a loader prepares N batches ahead.",
        *(CLASSES, "SAME_BITS", "DataLoader(..., prefetch_factor={})"),
        values=(NUMBER,),
        is_of_threads=True,
        argument=("DataLoader", "prefetch_factor"),
    ),
    "worker-threads": Try(
        "Workers of loaders compute with N threads.",
        *(CLASSES, "SAME_BITS", "torch.set_num_threads({}) in worker_init_fn"),
        values=(NUMBER,),
        is_of_threads=True,
    ),
    "fused": Try(
        "Optimizers update all parameters in one operator.",
        *(CLASSES, "CLOSE", "torch.optim.Adam(..., fused=True)"),
        excludes=("foreach",),
        argument=("", "fused"),
    ),
    "foreach": Try(
        "Optimizers update lists of parameters, not one after the other.",
        *(CLASSES, "CLOSE", "torch.optim.Adam(..., foreach=True)"),
        excludes=("fused",),
        argument=("", "foreach"),
    ),
    "set-to-none": Try(
        "zero_grad() drops gradients, where the program has it fill them with zeros.",
        *(CLASSES, "SAME_BITS", "optimizer.zero_grad(set_to_none=True)"),
        argument=("zero_grad", "set_to_none"),
    ),
    "flush-denormals": Try(
        "Numbers too small for a full mantissa (denormals) count as 0.",
        *(CLASSES, "CLOSE", "torch.set_flush_denormal(True)"),
    ),
    "gc": Try(
        "Garbage collections leave alone what existed at the first call of a module.",
        *(MODULE, "SAME_BITS", "gc.collect(); gc.freeze() before the loop"),
        values=("freeze",),
    ),
    "float32": Try(
        "Modules compute in float32, where the program has them compute in float64; what they return is "
        "float64 again.",
        *(MODULE, "DTYPE", "model.float(), and float32 inputs"),
        excludes=("bf16",),
    ),
    "channels-last": Try(
        "Modules with convolutions, and the images given to them, are laid out channels last.",
        *(MODULE, "CLOSE", "model.to(memory_format=torch.channels_last), and the same of each batch"),
    ),
    "no-grad": Try(
        "Modules in eval() make no graph for backward.",
        *(MODULE, "SAME_BITS", "with torch.no_grad(): around the evaluation"),
    ),
    "bf16": Try(
        "Modules compute under autocast to bfloat16; what they return is float32 again.",
        *(MODULE, "DTYPE", "with torch.autocast(device, torch.bfloat16): around the forward pass"),
        excludes=("float32",),
    ),
    "compile": Try(
        "Modules are compiled by torch.compile at their first call.",
        *(MODULE, "CLOSE", "model.compile()"),
    ),
}


class Asked:
    """A word as it was typed: `threads=2`. value: "" without one."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.name, self.has_value, self.value = word.partition("=")
        if self.name not in TRIES:
            from perfprobe.support.nearest import suggestion

            known = ", ".join(way for name in TRIES for way in usages(name))
            raise UsageError("there is no such try", word, suggestion(self.name, TRIES, f"known: {known}"))
        self.declared = TRIES[self.name]
        if not self._fits():
            raise UsageError("not a value of this try", word, f"write it as {' or '.join(usages(self.name))}")

    def _fits(self) -> bool:
        values = self.declared.values
        if NUMBER in values:
            least = 0 if self.name == "workers" else 1
            return self.value.isascii() and self.value.isdecimal() and least <= int(self.value) <= 1024
        return self.value in values if values else not self.has_value

    @property
    def code(self) -> str:
        """The same change in the program's source."""
        return self.declared.code_with(self.value)

    def variables(self) -> dict[str, str]:
        """What it sets in the environment."""
        return dict.fromkeys(self.declared.variables, self.value or "1")


def usages(name: str) -> list[str]:
    """The ways to type a word: `threads=N`."""
    return [f"{name}={value}" for value in TRIES[name].values] or [name]


def asked(words: Sequence[str]) -> list[Asked]:
    """The words that were typed, in the order in which they are put on.

    Raises:
        UsageError: there is no such word, or two exclude each other.
    """
    found = {one.name: one for one in map(Asked, words)}
    for one in found.values():
        for other in one.declared.excludes:
            if other in found:
                raise UsageError("these cannot be tried together", f"{one.name}, {other}", "leave one out")
    if len(found) < len(words):
        raise UsageError("the same is tried twice", " ".join(words), "leave one out")
    return [found[name] for name in TRIES if name in found]
