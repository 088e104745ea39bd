from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.merge.module_paths import module_paths
from tests.build import Program


def test_module_paths(tmp_path: Path) -> None:
    program = Program()
    net = program.module("", "Transformer")
    encoder = program.module("encoder", "Encoder", net)
    layers = program.module("layers", "ModuleList", encoder)
    layer = program.module("3", "Layer", layers)
    program.module("attn", "Attention", layer)
    texts, _, same = module_paths(program.recording(tmp_path))
    assert texts == ["Transformer", "encoder", "encoder.layers", "encoder.layers.3", "encoder.layers.3.attn"]
    assert same.tolist() == [0, 1, 2, 3, 4]


def test_equal_paths_of_different_models_show_the_model(tmp_path: Path) -> None:
    program = Program()
    for kind in ("Generator", "Critic"):
        program.module("conv", "Conv2d", program.module("", kind))
    texts = module_paths(program.recording(tmp_path)).texts
    assert texts == ["Generator", "Generator.conv", "Critic", "Critic.conv"]


def models(folder: Path, count: int) -> list[str]:
    program = Program()
    for at in range(count):
        net = program.row("modules", -1, program.string(""), program.string("Net"), anew=True)
        program.stack(("/p/a.py:1 f", program.module("fc", "Linear", net)))
        program.module(f"own{at}", "Linear", net)
    return module_paths(program.recording(folder)).texts


def test_models_of_one_class_are_distinguished(tmp_path: Path) -> None:
    assert models(tmp_path, 2) == ["Net", "Net.fc", "own0", "Net#2", "Net#2.fc", "own1"]


def test_repeatedly_made_models_are_not_distinguished(tmp_path: Path) -> None:
    assert {text for text in models(tmp_path, 9) if not text.startswith("own")} == {"Net", "fc"}


def test_a_module_that_is_made_again_has_the_id_of_the_first(tmp_path: Path) -> None:
    program = Program()
    for _ in range(2):
        program.row("modules", -1, program.string(""), program.string("Net"), anew=True)
    texts, _, same = module_paths(program.recording(tmp_path))
    assert texts == ["Net", "Net"]
    assert same.tolist() == [0, 0]


def test_the_path_of_a_long_chain_of_modules_is_limited(tmp_path: Path) -> None:
    program = Program()
    parent = program.module("", "Net")
    for _ in range(300):
        parent = program.module("x" * 50, "Block", parent)
    texts = module_paths(program.recording(tmp_path)).texts
    assert max(len(text) for text in texts) < 600


WRAPPERS = [
    ("OptimizedModule", "_orig_mod"),
    ("FullyShardedDataParallel", "_fsdp_wrapped_module"),
    ("CheckpointWrapper", "_checkpoint_wrapped_module"),
    ("DistributedDataParallel", "module"),
    ("DataParallel", "module"),
]


@pytest.mark.parametrize(("kind", "name"), WRAPPERS)
def test_torchs_wrappers_are_not_in_paths(tmp_path: Path, kind: str, name: str) -> None:
    program = Program()
    outer = program.module("", kind)
    net = program.module(name, "Net", outer)
    fc = program.module("fc", "Linear", net)
    program.module("weight", "Norm", fc)
    texts, types, same = module_paths(program.recording(tmp_path))
    assert texts == ["Net", "Net", "fc", "fc.weight"]
    assert types == ["Net", "Net", "Linear", "Norm"]
    assert same.tolist() == [0, 0, 2, 3]


def test_nested_wrappers_and_wrappers_around_parts(tmp_path: Path) -> None:
    program = Program()
    compiled = program.module("_orig_mod", "DataParallel", program.module("", "OptimizedModule"))
    net = program.module("module", "Net", compiled)
    block = program.module("0", "CheckpointWrapper", program.module("layers", "ModuleList", net))
    inner = program.module("_checkpoint_wrapped_module", "Block", block)
    program.module("fc", "Linear", inner)
    texts, types, same = module_paths(program.recording(tmp_path))
    assert texts == ["Net", "Net", "Net", "layers", "layers.0", "layers.0", "layers.0.fc"]
    assert types == ["Net", "Net", "Net", "ModuleList", "Block", "Block", "Linear"]
    assert same.tolist() == [0, 0, 0, 3, 4, 4, 6]


def test_a_part_of_the_program_named_module_is_in_paths(tmp_path: Path) -> None:
    program = Program()
    program.module("fc", "Linear", program.module("module", "Net", program.module("", "AveragedModel")))
    assert module_paths(program.recording(tmp_path)).texts == ["AveragedModel", "module", "module.fc"]


def test_a_model_and_another_compiled_model_are_distinguished(tmp_path: Path) -> None:
    program = Program()
    plain = program.module("", "Net")
    compiled = program.module("_orig_mod", "Net", program.module("", "OptimizedModule"))
    for net in (plain, compiled):
        program.stack(("/p/a.py:1 f", program.module("fc", "Linear", net)))
    trace = link(program.recording(tmp_path))
    assert trace.module_texts == ["Net", "Net#2", "Net#2", "Net.fc", "Net#2.fc"]
