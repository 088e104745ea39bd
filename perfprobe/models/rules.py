"""The rules that propose a change: what each says, checks and does not know. `diagnose/advice` applies them.

Reports word remedies by `change`, and `perfprobe explain` prints the rest, so that no two texts disagree.
"""

from __future__ import annotations

from collections.abc import Mapping

from perfprobe.support import units
from perfprobe.support.frozen import frozen


@frozen(kw_only=True)
class Rule:
    """What a rule says and knows.

    Attributes:
        change: what to do, in a few words.
        checks: when it speaks, and when it is silent.
        caution: what to look at before the change is kept, and what the rule does not know.
        source: where the change is from.
        part: of the time that the change is about, the most that is known to be saved by it.
    """

    change: str
    checks: str
    caution: str
    source: str
    part: float = 1.0

    def explained(self) -> str:
        """All of it, in sentences of Markdown."""
        percent = units.whole_percent(self.part)
        bound = "" if self.part == 1 else f" At most {percent} % of that time is saved, as far as known."
        return f"{self.checks}{bound} {self.caution} Source: {self.source}."


_BENCH = "`perfprobe bench`, which makes this change on the operator alone, in the same rounds"
_TORCH_TUNING = "torch's Performance Tuning Guide"

RULES: Mapping[str, Rule] = {
    "threads": Rule(
        change="as many threads as cores",
        checks="torch has more threads than the process may use processors (mask, quota), and they waited "
        "for each other for 10 % of the time or were throttled. Silent if other processes are what they wait "
        "for.",
        caution="Sums over other parts of an array may differ in their last digits.",
        source="ThreadProblems of the recording; torch's CPU threading notes",
    ),
    "more-threads": Rule(
        change="more torch threads",
        checks="torch has fewer threads than there are idle processors, and at least 30 % of a step is in "
        "operators of 50 us or more; silent if `perfprobe bench` measured that threads do not help them.",
        caution="Sums over other parts of an array may differ in their last digits.",
        source="docs/bench.md: 1.7 to 1.9x for such operators on two cores",
        part=0.9,
    ),
    "worker-threads": Rule(
        change="no torch.set_num_threads in workers",
        checks="DataLoader's workers have teams of threads that together are more than the processors, they "
        "waited for 20 % of their CPU time, and the steps wait for data. torch itself gives a worker one "
        "thread.",
        caution="Some line in the workers sets more threads: a dataset, a transform, a library at its "
        "import.",
        source="the workers' own recordings",
    ),
    "wait-policy": Rule(
        change="OMP_WAIT_POLICY=passive, no GOMP_SPINCOUNT",
        checks="Members of a team run while no operator does, and threads of the program wait for processors "
        "meanwhile. Silent where nobody needs the processors that they waste.",
        caution="Waking threads costs time too: for short operators the change may make steps slower.",
        source="NativeTimes and the sampler; OpenMP's OMP_WAIT_POLICY",
    ),
    "workers": Rule(
        change="load data in other processes",
        checks="The loop takes 5 % of a step or more from a DataLoader without workers, while a processor is "
        "idle. Silent if none is, if a batch takes less than 0.5 ms (receiving one from a worker takes 0.3), "
        "or for an IterableDataset that does not share its items among workers.",
        caution="Random transforms draw other numbers in workers. Spawned workers need `if __name__ == "
        '"__main__":` in the script. A trace does not say whether a processor is idle.',
        source=f"{_TORCH_TUNING}; the TensorBoard plugin, which does not look for idle processors",
    ),
    "more-workers": Rule(
        change="one more worker",
        checks="The steps wait for DataLoader's workers, which are busy: one more could save 5 % of the "
        "steps, no finished batch is in the queue, and a processor is idle.",
        caution="With more workers than processors all of them become slower.",
        source="the workers' own times",
    ),
    "receiving": Rule(
        change="try num_workers=0, or larger batches",
        checks="Finished batches wait in the queue while the steps wait for data: receiving takes the time.",
        caution="Random transforms draw other numbers outside of workers.",
        source="the queue's length when batches were put",
    ),
    "persistent-workers": Rule(
        change="persistent_workers=True starts them once",
        checks="Workers are started again in each epoch, and the steps wait for that for 3 % of their time. "
        "Silent for one epoch.",
        caution="The loader draws one random number less in each later epoch, so a shuffled order differs.",
        source="the time in which workers were being started; torch/utils/data/dataloader.py",
    ),
    "no-grad": Rule(
        change="no_grad missing",
        checks="Autograd recorded a graph in evaluations, or in calls of a model that is not trained, that "
        "no backward used. Silent if a backward follows.",
        caution="Without a graph the values are the same. It can be tried where the model is in eval().",
        source="nodes of autograd without a backward; 1.05 to 1.3x are known, and less memory",
        part=0.25,
    ),
    "unused-forward": Rule(
        change="leave it out, or no_grad",
        checks="Forward that autograd recorded and no backward used takes 10 % of a training step.",
        caution="Only its values can be needed: leave it out if they are not.",
        source="nodes of autograd without a backward",
    ),
    "optimizer": Rule(
        change="foreach=True, or fused=True if it has that",
        checks="The optimizer takes 8 % of a step and calls 32 or more operators, one after another for each "
        "parameter. Silent if it is foreach or fused already.",
        caution="The last digits of parameters may differ.",
        source="torch.optim's documentation; 1.5 to 5x of the phase",
        part=0.8,
    ),
    "set-to-none": Rule(
        change="set gradients to None",
        checks="Gradients are filled with zeros for 1 % of a step: `zero_grad(set_to_none=False)`.",
        caution="Code that reads `.grad` before backward finds None. Measured gains are mostly none.",
        source=_TORCH_TUNING,
        part=0.2,
    ),
    "compile": Rule(
        change="torch.compile",
        checks="The step consists of short operators, whose fixed costs take the time; or `perfprobe bench` "
        "found operators with 40 % of it to be mostly overhead. Silent if something "
        "is compiled already, or if single values are read in between, which breaks a graph.",
        caution="The first call takes long, and each new shape compiles again. Results differ in the last "
        "digits.",
        source="PyTorch 2 (ASPLOS 2024): 1.41x in training, 2.27x in inference on average",
        part=0.67,
    ),
    "larger-batches": Rule(
        change="larger batches",
        checks="The step consists of short operators, whose fixed costs take the time, and it has batches.",
        caution="In training, look at learning rate and accuracy again. A call takes longer, but does more.",
        source="work on data is a small part of the step",
    ),
    "tolist": Rule(
        change="tolist() reads all at once",
        checks="A tenth of all operators of a step of short operators read single values, such as `.item()`.",
        caution="The values are the same.",
        source="calls of `_local_scalar_dense` by line",
    ),
    "bf16": Rule(
        change="autocast to bfloat16",
        checks="Operators with 30 % of a step are 1.5x as fast in bfloat16, as `perfprobe bench` measured. "
        "Silent if they compute in 16 bits already.",
        caution="Eight bits of precision: look at the loss of a whole training.",
        source=_BENCH,
    ),
    "channels-last": Rule(
        change="channels_last",
        checks="Convolutions take 30 % of a step, and are faster in channels_last, as `perfprobe bench` "
        "measured.",
        caution="Other operators may convert back and forth.",
        source=_BENCH,
    ),
    "huge-pages": Rule(
        change="huge pages for tensors",
        checks="Page faults on new memory take 30 % of operators that have 5 % of a step, as `perfprobe "
        "bench` measured.",
        caution="Memory is used in pieces of 2 MiB.",
        source=f"THP_MEM_ALLOC_ENABLE of torch's allocator; {_BENCH}",
        part=0.8,
    ),
    "denormals": Rule(
        change="flush denormal numbers to zero",
        checks="Operators are faster if tiny results become zero, as `perfprobe bench` measured.",
        caution="Numbers below 1.2e-38 become 0.",
        source=f"torch.set_flush_denormal; {_BENCH}",
    ),
    "faster-form": Rule(
        change="another form of the operator",
        checks="`perfprobe bench` computed the same result in another way, on operands made for the call, "
        "and the time that it saved there is 3 % of a step.",
        caution="What must hold, or is lost (a gradient, indices), stands in brackets.",
        source=_BENCH,
    ),
    "float64": Rule(
        change="float32 takes about half",
        checks="20 % of a step on a CPU computes in float64, and in no other dtype.",
        caution="Seven digits instead of sixteen. Model and inputs need the same dtype: look at both.",
        source="dtypes of operators, and conversions to float64 by line",
        part=0.5,
    ),
    "float16": Rule(
        change="float32 is faster on most CPUs",
        checks="20 % of a step on a CPU computes in float16, and in no other dtype.",
        caution="Processors with instructions for float16 may be as fast.",
        source="dtypes of operators, and conversions to float16 by line",
    ),
    "attention": Rule(
        change="scaled_dot_product_attention",
        checks="A product, a softmax and a product follow each other in one function or module and take 10 % "
        "of a step. Silent if the weights themselves are returned.",
        caution="A mask, a scale or dropout are arguments of it; whether the weights are used elsewhere is "
        "known only where the source can be read.",
        source="FlashAttention (NeurIPS 2022); 1.2 to 2.5x of these operators on a CPU",
        part=0.6,
    ),
    "cat-in-loop": Rule(
        change="collect the parts, cat once",
        checks="Calls of `cat` at one line copy the result of the call before, for 20 % of a step.",
        caution="The result is the same.",
        source="sizes of the inputs, call by call",
    ),
    "conversions": Rule(
        change="without contiguous()",
        checks="Copies by `.contiguous()` at one line take 5 % of a step, in each step.",
        caution="What uses the result may be slower on strided memory: `perfprobe bench` says by how much.",
        source="copies from strided memory by line, and the text of that line",
    ),
    "nested-threads": Rule(
        change="one torch thread for each Python thread",
        checks="Several Python threads call operators, each with a team of its own, together more than the "
        "processors, and they waited for each other for 10 % of the time.",
        caution="An operator that one thread alone calls becomes slower.",
        source="teams of OpenMP by the thread that calls",
    ),
    "lock": Rule(
        change="processes instead of threads",
        checks="The loop's thread waits for Python's global lock for 10 % of the steps or more.",
        caution="Processes share no objects. torch's operators and most of numpy run without the lock.",
        source="samples of threads that wait for the lock",
    ),
    "recomputed": Rule(
        change="only if memory is short",
        checks="Backward computes forward again for 10 % of a step (torch.utils.checkpoint), and the memory, "
        "with `--memory`, shows room: of a GPU less than half is used. Silent where more is.",
        caution="Without it all activations are kept: look at the memory.",
        source="forward operators within backward",
    ),
    "mode": Rule(
        change="switch it off",
        checks="A mode of torch that makes steps slower was left on for 20 % of them.",
        caution="Keep it where its answers are needed.",
        source="hooks of torch's modes, and steps with and without; torch.profiler is known to cost 4.5x",
        part=0.8,
    ),
    "collection": Rule(
        change="gc.freeze() after start-up",
        checks="Python's garbage collection takes 1 % of the steps or more.",
        caution="What is frozen is never freed; reference cycles made later are still found.",
        source="Python's gc callbacks, or its samples",
    ),
    "logging": Rule(
        change="log and save in every 10th step",
        checks="Logging and saving take 3 % of the steps or more.",
        caution="Fewer points in the logs.",
        source="code of writers, progress bars and torch.save",
        part=0.9,
    ),
    "recompiled": Rule(
        change="compile once, with dynamic shapes",
        checks="torch.compile compiled in later steps, which take 20 % of the loop.",
        caution="Code for any shape may be slower than code for one.",
        source="dynamo's own counts and guards",
    ),
    "pinned": Rule(
        change="pinned memory, copied without waiting",
        checks="Copies from pageable memory to a GPU take 3 % of its time, or let it wait for that long. "
        "Silent on a CPU, where pinning only copies once more.",
        caution="Pinning takes memory that cannot be paged out, and time of a thread.",
        source=f"CUPTI's kind of memory of each copy; {_TORCH_TUNING}",
    ),
    "images-as-bytes": Rule(
        change="images as bytes",
        checks="Images are copied to a GPU as floats, for 3 % of its time.",
        caution="The dataset must give bytes, and what it computed with floats moves to the GPU.",
        source="sizes and dtypes of what operators on images get; uint8 has a quarter of the bytes",
        part=0.75,
    ),
    "reads": Rule(
        change="read values later",
        checks="A GPU is idle for 3 % of its time after waits for it that most steps have, such as "
        "`.item()`. Silent if they are in few steps.",
        caution="Code that decides by the value needs it at once.",
        source="idle time of the GPU by what the host did before",
    ),
    "tf32": Rule(
        change="TF32 for products",
        checks="Products of float32 without tensor cores take 10 % of a GPU's time, which has TF32 (from "
        "compute capability 8 on). Silent if they compute in 16 bits already.",
        caution="Ten bits of precision in products: look at the loss of a whole training.",
        source="names of kernels, and dtypes of operators",
        part=0.67,
    ),
    "allocator": Rule(
        change="segments that grow",
        checks="torch's allocator emptied its cache because an allocation did not fit, and the GPU waited "
        "for it for 3 % of its time.",
        caution="Less memory (a smaller batch, checkpoints) is the other cure.",
        source="counts of torch's allocator (`--memory`)",
    ),
}


def thread_setting(number: int, by_program: bool) -> str:
    """What gives torch this number of threads: a variable does nothing if the program itself sets it."""
    return f"torch.set_num_threads({number})" if by_program else f"OMP_NUM_THREADS={number}"
