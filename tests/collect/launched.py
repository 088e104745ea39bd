"""A program that uses a GPU outside of operators, and stand-ins for the parts of Triton that it uses."""

from __future__ import annotations

from pathlib import Path

# With the signatures and call paths of Triton 3.6.
JIT = '''
import ctypes, os

gpu = ctypes.CDLL(os.environ["STANDIN"])
gpu.standin_launch_by_driver.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint32]


class KernelInterface:
    def warmup(self, *args, grid, **kwargs):
        return self.run(grid=grid, warmup=True, *args, **kwargs)

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError("run not implemented")

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)


class JITFunction(KernelInterface):
    def __init__(self, fn):
        self.fn, self.__name__ = fn, fn.__name__

    def run(self, *args, grid, warmup, **kwargs):
        """Launch."""
        if callable(grid):
            raise ValueError("no grid")
        if not warmup:
            gpu.standin_launch_by_driver(self.__name__.encode(), 1000, 7)
        return self
'''
AUTOTUNER = """
from triton.runtime.jit import KernelInterface


class Autotuner(KernelInterface):
    def __init__(self, fn):
        self.fn, self.best = fn, None

    def _bench(self, *args, **kwargs):
        for _ in range(3):
            self.fn.run(*args, **kwargs)

    def run(self, *args, **kwargs):
        if self.best is None:
            self._bench(*args, **kwargs)
            self.best = self.fn
        return self.fn.run(*args, **kwargs)
"""

# As inductor writes it for a graph on a GPU, without the kernel itself.
GENERATED = """
import torch
from made import tuner
triton_poi_fused_add_relu_0 = tuner("triton_poi_fused_add_relu_0", 2)
scale_kernel_0 = tuner("scale_kernel_0", 1, custom_kernel=True)

def call(args):
    arg0_1, = args
    stream0 = 7
    if True:
        buf0 = arg0_1
        triton_poi_fused_add_relu_0.run(arg0_1, buf0, 1024, stream=stream0)
        scale_kernel_0.run(arg0_1, buf0, 1024, stream=stream0)
    return (buf0, )
"""

# Objects of inductor's class that can be made without a GPU.
MADE = """
import threading
import torch
from types import SimpleNamespace
from torch._inductor.runtime import triton_heuristics
from triton.runtime.jit import gpu


class Tuner(triton_heuristics.CachingAutotuner):
    def get_device_interface(self):
        return SimpleNamespace(get_raw_stream=lambda device: 7, current_device=lambda: 0)

    def maybe_clone_args(self, exclude, *args, **kwargs):
        return args, kwargs

    def __getattr__(self, name):
        return None  # what else this torch's has: empty or not known


def tuner(name, configs, custom_kernel=False):
    made = Tuner.__new__(Tuner)
    launchers = [launcher(name) for _ in range(configs)]
    vars(made).update(
        _plugins=[], _cache_eligible=True, configs=[], launchers=launchers, triton_meta={},
        inductor_meta={"kernel_name": name}, fn=SimpleNamespace(__name__="triton_"),
        custom_kernel=custom_kernel, device_props=SimpleNamespace(type="cpu"), cpu_kernel_saved=True,
        lock=threading.Lock(), mutated_arg_names=[], reset_to_zero_arg_names=[], benchmark_failure_reasons={},
        precompile_time_taken_ns=0,
        coordesc_tuner=SimpleNamespace(cache_benchmark_result=lambda *result: None),
    )
    return made


def launcher(name):
    def launch(*args, stream):
        gpu.standin_launch_by_driver(name.encode(), 1000, stream)

    launch.config, launch.n_spills, launch.n_regs, launch.shared = SimpleNamespace(), 0, 0, 0
    launch.store_cubin, launch.cache_hash = False, "0"
    return launch
"""


def write(folder: Path) -> None:
    """Writes the program's imports into a folder of libraries, and the generated module like inductor."""
    packages = folder / "site-packages"
    runtime = packages / "triton" / "runtime"
    runtime.mkdir(parents=True)
    for package in (runtime.parent, runtime):
        (package / "__init__.py").touch()
    (runtime / "jit.py").write_text(JIT)
    (runtime / "autotuner.py").write_text(AUTOTUNER)
    (packages / "made.py").write_text(MADE)
    generated = folder / "cache" / "ab"
    generated.mkdir(parents=True)
    (generated / "cabc.py").write_text(GENERATED)
