"""What language_model.py runs, read from its source."""

from __future__ import annotations

from argparse import Namespace

from benchmarks.truth.entries import LINEAR_END, Entry

LAYERS = 2
PARAMETERS = 1 + 4 * LAYERS + 2  # embedding; two weights and two biases per layer; weight and bias

EMBEDDING = "x = self.embedding(words)"
DROPOUT = "x = self.dropout(x)"
LSTM = "x, state = self.lstm(x, state)"
DECODER = "scores = self.decoder(x)"
LOSS = "loss = functional.cross_entropy(scores.flatten(0, 1), following.flatten())"
CLIP = "nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)"
OPTIMIZER = "self.optimizer.step()"


def entries(args: Namespace) -> list[Entry]:
    """The table for these arguments. oneDNN runs an LSTM layer as one operator for each window."""
    steps = args.epochs * args.windows
    layers = steps * LAYERS
    loss = "cross_entropy_loss _log_softmax nll_loss_forward"
    loss_backward = "_log_softmax_backward_data nll_loss_backward"
    adam = "lerp_ addcmul_ sqrt addcdiv_"
    return [
        Entry(EMBEDDING, "embedding", steps, "embedding", "embedding_dense_backward", "Embedding"),
        Entry(DROPOUT, "dropout", steps, "dropout bernoulli_ mul", "mul", "Mul"),
        Entry(LSTM, "lstm", steps, "lstm"),
        Entry(LSTM, "lstm", layers, "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "MkldnnRnnLayer"),
        Entry(DECODER, "decoder", steps, "linear addmm", "mm mm sum", f"View T Addmm {LINEAR_END}"),
        Entry(LOSS, None, steps, loss, loss_backward, "View LogSoftmax NllLoss"),
        Entry("loss.backward()", None, steps, "ones_like", phase="other"),
        Entry(CLIP, None, steps, "_foreach_norm _foreach_mul_", phase="optimizer"),
        Entry(OPTIMIZER, None, steps * PARAMETERS, adam, phase="optimizer"),
    ]
