"""Module paths in forward and backward: containers, shared and late modules, parametrizations, recurrence."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.collect.attribution import Marks, linked_backward, named
from tests.collect.recorded import Row

at = Marks(__file__)


def modules(rows: list[Row], name: str) -> list[str]:
    return [row.module for row in named(rows, name)]


class Containers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.many = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.by_name = nn.ModuleDict({"left": nn.Linear(3, 3), "right": nn.Linear(3, 3)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for layer in self.many:
            x = layer(x)
        return self.by_name["left"](x) + self.by_name["right"](x)


def test_parts_of_containers(recorded: Any) -> None:
    model = Containers()
    rows = recorded(lambda: model(torch.ones(1, 3)).sum().backward())
    paths = ["first.0", "many.0", "many.1", "by_name.left", "by_name.right"]
    assert modules(rows, "aten::linear") == paths
    assert modules(rows, "AddmmBackward0") == paths[::-1]
    assert modules(rows, "aten::tanh_backward") == ["first.1"]


def test_two_models_of_one_class(recorded: Any) -> None:
    teacher, student = Containers(), Containers()

    def step() -> None:
        with torch.no_grad():
            goal = teacher(torch.ones(1, 3))
        (student(torch.ones(1, 3)) - goal).sum().backward()

    rows = recorded(step)
    paths = ["first.0", "many.0", "many.1", "by_name.left", "by_name.right"]
    assert modules(rows, "aten::linear") == [
        *(f"Containers.{path}" for path in paths),
        *(f"Containers#2.{path}" for path in paths),
    ]
    assert modules(rows, "AddmmBackward0") == [f"Containers#2.{path}" for path in paths[::-1]]


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.Linear(3, 3)
        self.one = nn.Sequential(layer, nn.Tanh())
        self.two = nn.ModuleDict({"same": layer})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.one(x)  # first place
        return self.two["same"](y)  # second place


def test_a_shared_module_has_the_first_path_and_the_line_of_each_call(recorded: Any) -> None:
    model = Shared()
    (path,) = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    rows = recorded(lambda: model(torch.ones(1, 3)).sum().backward())
    assert modules(rows, "aten::linear") == [path, path] == ["one.0", "one.0"]
    places = [at("first place", "forward"), at("second place", "forward")]
    assert [row.line for row in named(rows, "aten::linear")] == places
    assert [row.line for row in named(rows, "AddmmBackward0")] == places[::-1]
    assert modules(rows, "AddmmBackward0") == [path, path]


class Growing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(self, "late"):
            self.late = nn.Sequential(nn.Linear(3, 3))
        return self.late(x)


def test_modules_added_after_the_first_call(recorded: Any) -> None:
    model = nn.Sequential(Growing(), nn.LazyLinear(2))
    rows = recorded(lambda: [model(torch.ones(1, 3)).sum().backward() for _ in range(2)])
    assert modules(rows, "aten::linear") == ["0.late.0", "1"] * 2
    assert modules(rows, "AddmmBackward0") == ["1", "0.late.0"] * 2


@pytest.mark.parametrize("make", [parametrizations.weight_norm, parametrizations.spectral_norm])
def test_parametrizations_are_modules(recorded: Any, make: Any) -> None:
    model = nn.Sequential(make(nn.Linear(3, 3)))
    path = next(name for name, _ in model.named_modules() if name.endswith("weight.0"))

    def step() -> None:
        model(torch.ones(1, 3)).sum().backward()  # parametrized

    model(torch.ones(1, 3))
    rows = recorded(step)
    found = {row.module for row in rows if row.phase == "forward" and row.module}
    assert found == {"0", path}
    assert {row.module for row in linked_backward(rows)} == {"", "0", path}
    assert {row.line for row in linked_backward(rows)} == {at("parametrized", "step")}


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_nets(recorded: Any, make: Any, packed: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = make(4, 5, num_layers=2, bidirectional=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not packed:
                return self.rnn(x)[0]  # plain
            inputs = pack_padded_sequence(x, [3, 2])
            outputs = self.rnn(inputs)[0]  # packed
            return pad_packed_sequence(outputs)[0]  # padded

    model, x = Net(), torch.ones(3, 2, 4, requires_grad=True)

    def step() -> None:
        y = model(x)
        torch.autograd.backward(y, torch.ones_like(y))

    rows = recorded(step)
    outermost = {"LSTM": "aten::lstm", "GRU": "aten::gru", "RNN": "aten::rnn_tanh"}[make.__name__]
    line = at("packed" if packed else "plain", "forward")
    assert [(row.line, row.module) for row in named(rows, outermost)] == [(line, "rnn")]
    backward = linked_backward(rows)
    assert all(row.line for row in backward)
    assert {row.line for row in backward if row.module == "rnn"} == {line}
    assert all(row.module == "rnn" for row in backward if row.line == line)
    assert any(row.name == "torch::autograd::CopySlices" for row in backward) == packed


def encoder() -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2)


def test_multihead_attention_and_encoder_layers(recorded: Any) -> None:
    model = encoder()

    def step() -> None:
        model(torch.ones(2, 3, 8)).sum().backward()  # encoded

    rows = recorded(step)
    attention = [f"layers.{layer}.self_attn" for layer in (0, 1)]
    assert modules(rows, "aten::scaled_dot_product_attention") == attention
    feed_forward = [f"layers.{layer}.linear{part}" for layer in (0, 1) for part in (1, 2)]
    assert [module for module in modules(rows, "aten::linear") if "linear" in module] == feed_forward
    assert all(row.line == at("encoded", "step") for row in linked_backward(rows))
    normed = [f"layers.{layer}.norm{part}" for layer in (1, 0) for part in (2, 1)]
    assert modules(rows, "NativeLayerNormBackward0") == normed


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_the_encoders_fast_path(recorded: Any) -> None:
    model = encoder().eval()

    def step() -> None:
        with torch.inference_mode():
            model(torch.ones(2, 3, 8))  # inferred

    rows = recorded(step)
    fast = named(rows, "aten::_transformer_encoder_layer_fwd")
    assert [(row.phase, row.module) for row in fast] == [("forward", "layers.0"), ("forward", "layers.1")]
    assert {row.line for row in fast} == {at("inferred", "step")}


def test_modules_called_by_modules_outside_their_tree(recorded: Any) -> None:
    helpers = [nn.Linear(3, 3)]

    class Caller(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return helpers[0](x)  # outside

    rows = recorded(lambda: Caller()(torch.ones(1, 3)).sum().backward())
    (linear,) = named(rows, "aten::linear")
    assert (linear.line, linear.phase) == (at("outside", "forward"), "forward")
    assert modules(rows, "aten::linear") == modules(rows, "AddmmBackward0") == ["Linear"]


class Agent(nn.Module):
    """Its parts are called, but it never is itself."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        self.critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def value(self, x: torch.Tensor) -> torch.Tensor:
        return self.critic(x)


class Runner:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.agents = {"only": [agent]}

    def act(self, x: torch.Tensor) -> torch.Tensor:
        return self.agent.actor(x)

    def act_all(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [agent.actor(x) for agent in self.agents["only"]]


shared = Runner(Agent())  # a test sets its agent


def act_global(agent: Agent, x: torch.Tensor) -> None:
    shared.agent = agent
    del agent
    shared.agent.actor(x)


def act_in_closure(agent: Agent, x: torch.Tensor) -> None:
    def act() -> torch.Tensor:
        return agent.actor(x)

    act()


CALLS: dict[str, Callable[[Agent, torch.Tensor], Any]] = {
    "variable": lambda agent, x: agent.actor(x),
    "method": lambda agent, x: agent.value(x),
    "attribute": lambda agent, x: Runner(agent).act(x),
    "container": lambda agent, x: Runner(agent).act_all(x),
    "global": act_global,
    "closure": act_in_closure,
}


@pytest.mark.parametrize("call", CALLS)
def test_parts_of_an_uncalled_module_are_named_by_it(recorded: Any, call: str) -> None:
    agent = [Agent()]
    names = [name for name, part in agent[0].named_modules() if isinstance(part, nn.Linear)]
    rows = recorded(lambda: CALLS[call](agent.pop(), torch.ones(1, 4)))
    assert modules(rows, "aten::linear") == [
        name for name in names if ("critic" in name) == (call == "method")
    ]


def test_all_parts_of_an_uncalled_module_are_in_one_tree(recorded: Any) -> None:
    runner = Runner(Agent())

    def step() -> None:
        x = torch.ones(1, 4)
        (runner.act(x).sum() + runner.agent.value(x).sum()).backward()

    rows = recorded(step)
    assert modules(rows, "aten::linear") == ["actor.0", "actor.2", "critic.0", "critic.2"]
    assert sorted(modules(rows, "AddmmBackward0")) == ["actor.0", "actor.2", "critic.0", "critic.2"]


def test_the_outermost_reachable_module_names_the_tree(recorded: Any) -> None:
    algorithm = nn.Module()
    algorithm.policy = Agent()

    def step(policy: Agent, owner: nn.Module) -> None:
        policy.actor(torch.ones(1, 4))

    rows = recorded(lambda: step(algorithm.policy, algorithm))
    assert modules(rows, "aten::linear") == ["policy.actor.0", "policy.actor.2"]


class Bait:
    """Counts look-ups of missing attributes and of a property."""

    asked = 0

    def __init__(self, agent: Agent) -> None:
        self.__dict__["agent"] = agent

    def __getattr__(self, name: str) -> Any:
        Bait.asked += 1
        raise AttributeError(name)

    @property
    def actor(self) -> None:
        Bait.asked += 1

    def __eq__(self, other: object) -> bool:
        Bait.asked += 1
        return False

    def __hash__(self) -> int:
        Bait.asked += 1
        return 1


def test_the_search_for_an_owner_runs_no_user_code_and_keeps_no_object(recorded: Any) -> None:
    Bait.asked = 0
    gone = []

    def step() -> None:
        bait = Bait(Agent())
        baits = {bait: bait}
        asked = Bait.asked
        bait.agent.actor(torch.ones(1, 4))
        assert Bait.asked == asked
        gone.extend([weakref.ref(bait), weakref.ref(bait.agent)])
        del bait, baits
        assert [ref() for ref in gone] == [None, None]

    rows = recorded(step)
    assert modules(rows, "aten::linear") == ["actor.0", "actor.2"]


def test_the_owner_of_repeatedly_made_modules_is_searched_a_few_times(recorded: Any) -> None:
    def step() -> None:
        for _ in range(300):
            agent = Agent()
            agent.actor(torch.ones(1, 4))

    names = modules(recorded(step), "aten::linear")
    assert names[:512] == ["actor.0", "actor.2"] * 256
    assert set(names[512:]).isdisjoint(names[:512])
    assert len(names) == 600
