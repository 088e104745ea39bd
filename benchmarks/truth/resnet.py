"""What resnet.py runs, read from its source."""

from __future__ import annotations

from argparse import Namespace

from benchmarks.truth.entries import Entry

BLOCKS, PROJECTIONS = 8, 3  # each stage but the first begins with a projection
# Convolutions have a weight; norms and the linear layer also have a bias.
PARAMETERS = (1 + 2 * BLOCKS + PROJECTIONS) * 3 + 2

CONVOLUTION, CONVOLUTION_BACKWARD = "conv2d mkldnn_convolution", "convolution_backward"
NORM, NORM_BACKWARD = "batch_norm native_batch_norm add_", "native_batch_norm_backward"  # add_ counts batches
NORM_NODE = "NativeBatchNorm"

FIRST = "x = self.norm(self.convolution(images))"
FIRST_RELU = "x = functional.relu(x)"
MEAN = "x = x.mean(dim=(2, 3))"
CLASSIFY = "scores: Tensor = self.classify(x)"
LOSS = "loss = functional.cross_entropy(scores, kinds)"
OPTIMIZER = "self.optimizer.step()"
INNER1 = "inner = self.norm1(self.convolution1(x))"
INNER_RELU = "inner = functional.relu(inner)"
INNER2 = "inner = self.norm2(self.convolution2(inner))"
JOINED = "joined = inner + self.shortcut(x)"
LAST_RELU = "return functional.relu(joined)"


def entries(args: Namespace) -> list[Entry]:
    """The table for these arguments."""
    steps = args.epochs * -(-args.images // args.batch)
    loss = "cross_entropy_loss _log_softmax nll_loss_forward"
    loss_backward = "_log_softmax_backward_data nll_loss_backward"
    return [
        Entry(FIRST, "convolution", steps, CONVOLUTION, CONVOLUTION_BACKWARD, "Convolution"),
        Entry(FIRST, "norm", steps, NORM, NORM_BACKWARD, NORM_NODE),
        Entry(FIRST_RELU, "ResNet", steps, "relu", "threshold_backward", "Relu"),
        *block(steps * BLOCKS, steps * PROJECTIONS),
        # Dividing by a number calls division by a tensor.
        Entry(MEAN, "ResNet", steps, "mean", "expand div div", "MeanBackward1"),
        Entry(CLASSIFY, "classify", steps, "linear addmm", "mm mm sum", "T Addmm"),
        Entry(LOSS, None, steps, loss, loss_backward, "LogSoftmax NllLoss"),
        Entry("loss.backward()", None, steps, "ones_like", phase="other"),
        *optimizer(steps),
    ]


def block(times: int, projected: int) -> list[Entry]:
    """x is used twice, so its gradients are summed (add_), at convolution1, which comes last in backward."""
    here = "blocks.*"
    conv1, conv2, projection = f"{here}.convolution1", f"{here}.convolution2", f"{here}.shortcut.*"
    return [
        Entry(INNER1, conv1, times, CONVOLUTION, f"{CONVOLUTION_BACKWARD} add_", "Convolution"),
        Entry(INNER1, f"{here}.norm1", times, NORM, NORM_BACKWARD, NORM_NODE),
        Entry(INNER_RELU, here, times, "relu", "threshold_backward", "Relu"),
        Entry(INNER2, conv2, times, CONVOLUTION, CONVOLUTION_BACKWARD, "Convolution"),
        Entry(INNER2, f"{here}.norm2", times, NORM, NORM_BACKWARD, NORM_NODE),
        Entry(JOINED, projection, projected, CONVOLUTION, CONVOLUTION_BACKWARD, "Convolution"),
        Entry(JOINED, projection, projected, NORM, NORM_BACKWARD, NORM_NODE),
        Entry(JOINED, here, times, "add", "", "Add"),
        Entry(LAST_RELU, here, times, "relu", "threshold_backward", "Relu"),
    ]


def optimizer(steps: int) -> list[Entry]:
    """Weight decay (add) and the step (add_); from the second step on also the momentum (mul_, add_)."""
    return [
        Entry(OPTIMIZER, None, steps * PARAMETERS, "add add_", phase="optimizer"),
        Entry(OPTIMIZER, None, (steps - 1) * PARAMETERS, "mul_ add_", phase="optimizer"),
    ]
