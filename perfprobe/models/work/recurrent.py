"""Recurrent layers: LSTM, GRU and plain ones, for whole sequences or one step.

A step multiplies input [B,I] and state [B,H] with weights of G*H rows, where G is the number of gates (4, 3
or 1). It does about 10, 8 or 2 operations for each element of the state (see torch.nn.LSTM). Weights count
once; whether they stay in a cache between steps depends on the machine.
"""

from __future__ import annotations

from perfprobe.models.work.call import Call, Elements, Model, Work, least
from perfprobe.models.work.touched import Operand, require

_GATES = {"2": 4, "3": 3, "0": 1, "1": 1}  # torch.nn's numbers of modes (at::native::ideep::RNNParams)
_ELEMENTWISE = {4: 10, 3: 8, 1: 2}
# Sigmoids (an exp and a division) and hyperbolic tangents for each element of the state.
_KINDS: dict[int, Elements] = {
    4: (("exp", 3), ("div", 3), ("tanh", 2)),
    3: (("exp", 2), ("div", 2), ("tanh", 1)),
    1: (("tanh", 1),),
}


def _flops(batch: int, inputs: int, hidden: int, gates: int) -> int:
    """Returns the operations of one step."""
    return 2 * batch * (inputs + hidden) * gates * hidden + _ELEMENTWISE[gates] * batch * hidden


def _elements(count: int, gates: int) -> Elements:
    return tuple((kind, each * count) for kind, each in _KINDS[gates])


def _layer(call: Call) -> Work:
    """`mkldnn_rnn_layer`: one layer over all steps of [T,B,I]; writes all states and the last ones.

    The workspace for backward is not counted, because the library decides its size.
    """
    image, *weights = call.tensors[:5]
    states = [tensor for tensor in (call.given(5), call.given(6)) if tensor is not None]
    gates, hidden = _gates(call), call.integer("hidden_size")
    steps, batch, inputs = image.sizes
    output = Operand(image.dtype, (steps, batch, hidden))
    last = [Operand(state.dtype, state.sizes) for state in states[: 2 if gates == 4 else 1]]
    return least(
        [image, *weights, *states],
        [output, *last],
        flops=steps * _flops(batch, inputs, hidden, gates),
        dtype=image.dtype,
        is_product=True,
        elements=_elements(output.count, gates),
    )


def _gates(call: Call) -> int:
    mode = call.value("mode")
    require(mode in _GATES)
    return _GATES[mode or ""]


def _layer_backward(call: Call) -> Work:
    """`mkldnn_rnn_layer_backward`: two products for each product of forward.

    Reads input, weights, states, output, the given gradients and the workspace; writes the gradients of
    input, weights, both biases and states.
    """
    image, first, second, *biases = (call.tensor(slot) for slot in range(5))
    gates, hidden = _gates(call), call.integer("hidden_size")
    steps, batch, inputs = image.sizes
    states = [tensor for tensor in (call.given(5), call.given(6)) if tensor is not None]
    given = [call.given(slot) for slot in range(7, len(call.slots))]
    made = [Operand(tensor.dtype, tensor.sizes) for tensor in (image, first, second, *biases, *states)]
    return least(
        [image, first, second, *states, *given],
        made,
        flops=2 * steps * _flops(batch, inputs, hidden, gates),
        dtype=image.dtype,
        is_product=True,
    )


def _network(gates: int) -> Model:
    """`lstm.input`, `gru.input`, `rnn_tanh.input`: all layers and directions of [T,B,I] or [B,T,I].

    Between layers, the states are written and read again.
    """

    def work(call: Call) -> Work:
        require(call.overload == "input")
        image = call.tensor(0)
        states = call.tensor_list(1) if gates == 4 else [call.tensor(1)]
        weights = call.tensor_list(2)
        places = image.count // max(image.sizes[-1], 1)
        require(len(image.sizes) == 3 and bool(weights))
        hidden = states[0].sizes[-1]
        both = 2 if call.value("bidirectional") == "True" else 1
        layers = call.integer("num_layers")
        inputs = [image.sizes[-1], *[both * hidden] * (layers - 1)]
        flops = both * sum(_flops(places, width, hidden, gates) for width in inputs)
        between = Operand(image.dtype, (places, both * hidden))
        return least(
            [image, *states, *weights, *[between] * (layers - 1)],
            [between] * layers + [Operand(state.dtype, state.sizes) for state in states],
            flops=flops,
            dtype=image.dtype,
            is_product=True,
            elements=_elements(both * layers * places * hidden, gates),
        )

    return work


def _cell(gates: int) -> Model:
    """`lstm_cell`, `gru_cell`, `rnn_tanh_cell`: one step of [B,I]."""

    def work(call: Call) -> Work:
        image = call.tensor(0)
        states = call.tensor_list(1) if gates == 4 else [call.tensor(1)]
        weights = [call.given(slot) for slot in range(2, len(call.slots))]
        batch, inputs = image.sizes
        hidden = states[0].sizes[-1]
        return least(
            [image, *states, *weights],
            [Operand(state.dtype, state.sizes) for state in states],
            flops=_flops(batch, inputs, hidden, gates),
            dtype=image.dtype,
            is_product=True,
            elements=_elements(batch * hidden, gates),
        )

    return work


MODELS: dict[str, Model] = {
    "mkldnn_rnn_layer": _layer,
    "mkldnn_rnn_layer_backward": _layer_backward,
    "lstm": _network(4),
    "gru": _network(3),
    "rnn_tanh": _network(1),
    "lstm_cell": _cell(4),
    "gru_cell": _cell(3),
    "rnn_tanh_cell": _cell(1),
}
