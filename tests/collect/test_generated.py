from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

from perfprobe.collect import compiled, generated
from perfprobe.collect.launches import KernelNames

MODULE = """\
import torch
cpp_fused_add_0 = async_compile.cpp_pybinding(['float*'], r'''
extern "C"  void  kernel(float* out_ptr0)
''')

    def call(self, args):
        buf0 = empty_strided_cpu((32, 128), (128, 1), torch.float32)
        extern_kernels.addmm(primals_2, primals_3, out=buf0)
        del primals_1
        buf1 = empty_strided_cpu((32, 128), (128, 1), torch.float32)
        cpp_fused_add_0(buf0, buf1)
        buf2 = torch.ops.aten.mm.default(buf1, buf1)
        cpp_fused_sum_1(buf0, buf1)
        return (buf2, )
"""


# The calls as written by `codegen/wrapper.py` of torch 2.11 to 2.15.
TRITON = """\
    def call(self, args):
        with torch.cuda._DeviceGuard(0):
            buf0 = empty_strided_cuda((32, 128), (128, 1), torch.float32)
            stream0 = get_raw_stream(0)
            triton_poi_fused_add_0.run(arg0_1, buf0, 4096, stream=stream0)
            buf1 = buf0; del buf0  # reuse
            extern_kernels.mm(buf1, arg1_1, out=buf2)
            triton_red_fused_sum_1.run(buf2, buf3, 32, 128, stream=stream0)
        return (buf3, )
"""


def test_nodes_belong_to_launches_of_triton_kernels() -> None:
    noted = [(4, "add"), (6, "mm"), (8, "sum")]
    found = generated.call_traces(TRITON, {"triton_poi_fused_add_0", "triton_red_fused_sum_1"}, noted)
    assert found == {"triton_poi_fused_add_0": ["add"], "triton_red_fused_sum_1": ["sum"]}


def test_nodes_belong_to_the_call_they_were_noted_for() -> None:
    # By line of MODULE: the addmm's node, two of the first kernel, that of the mm, one of the second kernel.
    noted = [(7, "addmm"), (9, "add"), (10, "mul"), (11, "mm"), (13, "sum")]
    found = generated.call_traces(MODULE, {"cpp_fused_add_0", "cpp_fused_sum_1"}, noted)
    assert found == {"cpp_fused_add_0": ["add", "mul"], "cpp_fused_sum_1": ["sum"]}


def test_a_kernel_without_a_following_extern_call_keeps_all_its_nodes() -> None:
    noted = [(10, "add"), (11, "mul"), (12, "mm"), (13, None)]
    found = generated.call_traces(MODULE, {"cpp_fused_add_0", "cpp_fused_sum_1"}, noted)
    assert found == {"cpp_fused_add_0": ["add", "mul"], "cpp_fused_sum_1": [""]}


def test_places_are_the_innermost_outside_of_torch() -> None:
    stack = (
        '  File "/home/me/net.py", line 10, in forward\n    h = self.inner(x)\n'
        '  File "/lib/torch/nn/modules/linear.py", line 125, in forward\n    return F.linear(input)\n'
    )
    place = {"file": "/home/me/net.py", "line": 10, "function": "forward"}
    assert generated.places([stack, "", stack], "/lib/torch") == [place]


class Facts:
    """Replaces collect.base.Facts."""

    def __init__(self) -> None:
        self.losses: list[tuple[str, str]] = []
        self.known: dict[str, object] = {}

    def loss(self, source: str, reason: str, count: int, remedy: str) -> None:
        assert count == 1
        assert remedy
        self.losses.append((source, reason))

    def meta(self, key: str, value: object) -> None:
        self.known[key] = value

    def extend(self, key: str, **values: object) -> None:
        self.known[key] = values


def hooked(cache: type) -> tuple[compiled.CompiledKernels, Facts]:
    """The hook after it has seen a module like inductor's code cache that contains this class."""
    facts: Any = Facts()
    wrap = lambda name, kernel: SimpleNamespace(__wrapped__=kernel)  # noqa: E731
    kernels = compiled.CompiledKernels(facts, torch, wrap, KernelNames())
    codecache: Any = ModuleType("codecache")
    codecache.PyCodeCache = cache
    codecache.config = SimpleNamespace(cpp=SimpleNamespace(enable_kernel_profile=False))
    kernels._hook(codecache)
    return kernels, facts


def test_a_code_cache_without_the_hooked_function_is_a_loss() -> None:
    class PyCodeCache:
        modules: ClassVar[list[ModuleType]] = []

    kernels, facts = hooked(PyCodeCache)
    kernels.stop()
    ((source, reason),) = facts.losses
    assert source == "operators"
    assert "KeyError: 'load_by_key_path'" in reason


def test_an_unexpected_module_still_loads_and_runs(tmp_path: Path) -> None:
    class PyCodeCache:
        modules: ClassVar[list[ModuleType]] = []
        linemaps: ClassVar[dict[str, object]] = {}

        @classmethod
        def load_by_key_path(cls, key: str, path: str) -> ModuleType:
            if key == "missing":
                raise OSError(key)
            module: Any = ModuleType(key)
            module.__file__ = path
            module.cpp_fused_add_0 = abs
            module.cpp_flags = ["-O3"]
            return module

    load = vars(PyCodeCache)["load_by_key_path"]
    kernels, facts = hooked(PyCodeCache)
    with pytest.raises(OSError, match="missing") as error:
        PyCodeCache.load_by_key_path("missing", "")
    assert [entry.name for entry in error.traceback] == [
        "test_an_unexpected_module_still_loads_and_runs",
        "load_by_key_path",
    ]
    loaded: Any = [
        PyCodeCache.load_by_key_path(key, str(tmp_path / f"{key[1:3]}/{key}.py")) for key in ("one", "two")
    ]
    assert [module.cpp_fused_add_0.__wrapped__ for module in loaded] == [abs, abs]
    assert loaded[0].cpp_flags == ["-O3"]
    kernels.stop()
    assert [module.cpp_fused_add_0 for module in loaded] == [abs, abs]
    assert vars(PyCodeCache)["load_by_key_path"] is load
    ((source, reason),) = facts.losses  # there is no file from which to read the origins
    assert (source, reason.partition(":")[0]) == ("operators", "what compiled kernels were made from")
    assert facts.known == {"roots": {"inductor": [str(tmp_path)]}}
