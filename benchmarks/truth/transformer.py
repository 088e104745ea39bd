"""What transformer.py runs, read from its source, with the window mean as operator in C++."""

from __future__ import annotations

from argparse import Namespace

from benchmarks.truth.entries import LINEAR_END, Entry

# A linear layer over [batch, length, width]: one product over all positions, with views before and after.
LINEAR = "linear addmm"
LINEAR_BACKWARD = "mm mm sum"  # gradients of input, weight and bias
LINEAR_NODES = f"View T Addmm {LINEAR_END}"
DROPOUT = "dropout bernoulli_ mul"
NORM, NORM_BACKWARD = "layer_norm native_layer_norm", "native_layer_norm_backward"
EMBEDDING_BACKWARD = "embedding_dense_backward"
WINDOW_NODE = "torch::autograd::CppNode<workloads::WindowMean>"
STEM_PARAMETERS, LAYER_PARAMETERS, CLASSIFY_PARAMETERS = 8, 16, 2

PADDED = "padded = residues.eq(PADDING).unsqueeze(1).expand(batch, length, length)"
REPEATED = "padded = padded.repeat_interleave(self.heads, dim=0)"
CLASSIFY = "scores: Tensor = self.classify(x)"
LOSS = "loss = functional.cross_entropy(scores.reshape(-1, LABELS), labels.reshape(-1))"
OPTIMIZER = "self.optimizer.step()"

EMBEDDING = "x = self.embedding(residues)"
POSITIONS = "x = x + self.positions(torch.arange(residues.shape[1]))"
PROFILE = "x = x + self.profile(profile)"
CONVOLUTION = "near = self.convolution(x.transpose(1, 2)).transpose(1, 2)"
WINDOW = "return torch.ops.workloads.window_mean(x, RADIUS)"
STEM_SUM = "x = x + near + self.window_mean(x)"
STEM_NORM = "normed: Tensor = self.norm(x)"

SPLIT = "x = x.view(batch, length, self.heads, self.head_width).transpose(1, 2)"
SPLIT_COPY = "return x.reshape(batch * self.heads, length, self.head_width)"
JOIN = "x = x.view(batch, self.heads, length, self.head_width).transpose(1, 2)"
JOIN_COPY = "return x.reshape(batch, length, self.heads * self.head_width)"
QUERY = "query = self.split_heads(self.query(x))"
KEY = "key = self.split_heads(self.key(x))"
VALUE = "value = self.split_heads(self.value(x))"
SCORES = "scores = torch.bmm(query, key.transpose(1, 2))"
DIVISION = "scores = scores / math.sqrt(self.head_width)"
MASK = "scores = scores.masked_fill_(padded, -1e9)"
SOFTMAX = "weights = functional.softmax(scores, dim=-1)"
WEIGHTS_DROPOUT = "weights = functional.dropout(weights, self.dropout, self.training)"
MIXED = "mixed = self.join_heads(torch.bmm(weights, value), x.shape[0])"
OUTPUT = "mixed = functional.dropout(self.output(mixed), self.dropout, self.training)"
ATTENTION_NORM = "normed: Tensor = self.norm(mixed + x)"

EXPAND = "inner = torch.relu(self.expand(x))"
CONTRACT = "inner = functional.dropout(self.contract(inner), self.dropout, self.training)"
FEED_FORWARD_NORM = "normed: Tensor = self.norm(inner + x)"


def entries(args: Namespace) -> list[Entry]:
    """The table for these arguments."""
    steps = args.epochs * args.steps
    layer = steps * args.layers
    return [*ends(steps, args.layers), *stem(steps), *attention(layer), *feed_forward(layer)]


def ends(steps: int, layers: int) -> list[Entry]:
    """Before and after the layers. Adam iterates over the parameters."""
    parameters = STEM_PARAMETERS + LAYER_PARAMETERS * layers + CLASSIFY_PARAMETERS
    loss = "cross_entropy_loss _log_softmax nll_loss_forward"
    loss_backward = "_log_softmax_backward_data nll_loss_backward"
    adam = "lerp_ mul_ addcmul_ sqrt addcdiv_"
    return [
        Entry(PADDED, "Transformer", steps, "eq"),
        Entry(REPEATED, "Transformer", steps, "repeat_interleave"),
        Entry(CLASSIFY, "classify", steps, LINEAR, LINEAR_BACKWARD, LINEAR_NODES),
        Entry(LOSS, None, steps, loss, loss_backward, "View LogSoftmax NllLoss"),
        Entry("loss.backward()", None, steps, "ones_like", phase="other"),
        Entry(OPTIMIZER, None, steps * parameters, adam, phase="optimizer"),
    ]


def stem(steps: int) -> list[Entry]:
    """The profile has no gradient. x is used three times: its gradients are summed at the latest (add_)."""
    return [
        Entry(EMBEDDING, "stem.embedding", steps, "embedding", EMBEDDING_BACKWARD, "Embedding"),
        Entry(POSITIONS, "stem.positions", steps, "embedding", EMBEDDING_BACKWARD, "Embedding"),
        Entry(POSITIONS, "stem", steps, "add", "sum", "Add"),  # broadcast over the batch
        Entry(PROFILE, "stem.profile", steps, LINEAR, "mm sum", f"T Addmm {LINEAR_END}"),
        Entry(PROFILE, "stem", steps, "add", "", "Add"),
        Entry(
            CONVOLUTION,
            "stem.convolution",
            steps,
            "mkldnn_convolution",
            "convolution_backward",
            "Convolution",
        ),
        Entry(CONVOLUTION, "stem", steps, "", "add_", "Transpose Transpose"),
        Entry(
            WINDOW, "stem", steps, "workloads::window_mean", "workloads::window_mean_backward", WINDOW_NODE
        ),
        Entry(STEM_SUM, "stem", steps, "add add", "add_", "Add Add"),
        Entry(STEM_NORM, "stem.norm", steps, NORM, NORM_BACKWARD, "NativeLayerNorm"),
    ]


def attention(layer: int) -> list[Entry]:
    """x is used four times. Backward reaches the residual first, then value, key and query (add_)."""
    here = "layers.*.attention"
    return [
        *(
            Entry(text, f"{here}.{name}", layer, LINEAR, f"{LINEAR_BACKWARD} add_", LINEAR_NODES)
            for text, name in ((QUERY, "query"), (KEY, "key"), (VALUE, "value"))
        ),
        Entry(SPLIT, here, 3 * layer, "", "", "View Transpose"),
        Entry(SPLIT_COPY, here, 3 * layer, "", "", "Clone UnsafeView"),
        Entry(SCORES, here, layer, "bmm", "bmm bmm", "Transpose Bmm"),
        Entry(DIVISION, here, layer, "div", "div", "Div"),
        Entry(MASK, here, layer, "masked_fill_", "masked_fill", "MaskedFill"),
        Entry(SOFTMAX, here, layer, "softmax _softmax", "_softmax_backward_data", "Softmax"),
        Entry(WEIGHTS_DROPOUT, here, layer, DROPOUT, "mul", "Mul"),
        Entry(MIXED, here, layer, "bmm", "bmm bmm", "Bmm"),
        Entry(JOIN, here, layer, "", "", "View Transpose"),
        Entry(JOIN_COPY, here, layer, "", "", "Clone UnsafeView"),
        Entry(OUTPUT, f"{here}.output", layer, LINEAR, LINEAR_BACKWARD, LINEAR_NODES),
        Entry(OUTPUT, here, layer, DROPOUT, "mul", "Mul"),
        Entry(ATTENTION_NORM, here, layer, "add", "", "Add"),
        Entry(ATTENTION_NORM, f"{here}.norm", layer, NORM, NORM_BACKWARD, "NativeLayerNorm"),
    ]


def feed_forward(layer: int) -> list[Entry]:
    """x is used twice. Backward reaches the residual first, then expand (add_)."""
    here = "layers.*.feed_forward"
    return [
        Entry(EXPAND, f"{here}.expand", layer, LINEAR, f"{LINEAR_BACKWARD} add_", LINEAR_NODES),
        Entry(EXPAND, here, layer, "relu", "threshold_backward", "Relu"),
        Entry(CONTRACT, f"{here}.contract", layer, LINEAR, LINEAR_BACKWARD, LINEAR_NODES),
        Entry(CONTRACT, here, layer, DROPOUT, "mul", "Mul"),
        Entry(FEED_FORWARD_NORM, here, layer, "add", "", "Add"),
        Entry(FEED_FORWARD_NORM, f"{here}.norm", layer, NORM, NORM_BACKWARD, "NativeLayerNorm"),
    ]
