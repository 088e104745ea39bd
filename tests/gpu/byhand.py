"""Builds the native modules with only a C++ compiler, if neither CMake nor pybind11 is installed.

A last resort: torch ships pybind11's headers. Does the same as csrc/CMakeLists.txt, in short.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.gpu import process, tree

_FLAGS = [
    "-O2",
    "-std=c++20",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-DNDEBUG",
    "-w",
]


def build(root: Path, folder: Path, limit_s: float) -> process.Ended | str:
    """Builds both extension modules, the injection library and, with nvcc, the CUDA kernels."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        return "no g++ here"
    found = subprocess.run(
        [sys.executable, root / "csrc/find_torch.py"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        return found.stderr.strip()
    torch = json.loads(found.stdout)
    tree.copy_package(root, tree.site(folder))
    end_s = time.monotonic() + limit_s
    sources = sorted({path for paths in linked(root).values() for path in paths})
    flags = [compiler, *_FLAGS, *definitions(root, torch)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        compiled = list(
            pool.map(lambda path: compile_one(flags, path, root, folder, end_s - time.monotonic()), sources)
        )
    failed = [ended for ended in compiled if ended.status != 0]
    return failed[0] if failed else link_all(compiler, root, folder, torch, end_s)


def definitions(root: Path, torch: dict[str, str]) -> list[str]:
    """Further arguments for the compiler. NVTX only if its headers are found."""
    includes = [f"{torch['directory']}/include", f"{torch['directory']}/include/torch/csrc/api/include"]
    includes.append(sysconfig.get_path("include"))
    words = [f"-D_GLIBCXX_USE_CXX11_ABI={torch['cxx11_abi']}"]
    words.append(f'-DPERFPROBE_TORCH_VERSION="{torch["version"]}"')
    finder = root / "csrc/find_nvtx.py"
    if finder.exists():
        nvtx = subprocess.run([sys.executable, finder], capture_output=True, text=True, check=False)
        if nvtx.returncode == 0 and nvtx.stdout.strip():
            words.append("-DPERFPROBE_NVTX")
            includes.append(nvtx.stdout.strip())
    return [*words, f"-I{root / 'csrc'}", *(word for path in includes for word in ("-isystem", path))]


def object_of(path: Path, root: Path, folder: Path) -> Path:
    """The path of a source's object file."""
    return folder / "objects" / f"{'_'.join(path.relative_to(root / 'csrc').parts)}.o"


def compile_one(flags: Sequence[str], path: Path, root: Path, folder: Path, limit_s: float) -> process.Ended:
    """Compiles one source."""
    made = object_of(path, root, folder)
    made.parent.mkdir(exist_ok=True)
    return process.run([*flags, "-c", path, "-o", made], limit_s, folder)


def link_all(compiler: str, root: Path, folder: Path, torch: dict[str, str], end_s: float) -> process.Ended:
    """Links the libraries of objects by folder."""
    package = tree.site(folder) / "perfprobe"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    objects = {
        name: [object_of(path, root, folder) for path in sources] for name, sources in linked(root).items()
    }
    libraries = [f"{torch['directory']}/lib/lib{name}.so" for name in ("torch_python", "torch_cpu", "c10")]
    targets: dict[str, Sequence[str | Path]] = {
        f"_core{suffix}": [*objects["_core"], "-Wl,-z,nodelete"],
        f"_observer{suffix}": [*objects["_observer"], "-Wl,--allow-shlib-undefined", *libraries],
        "libperfprobe_inject.so": objects["libperfprobe_inject"],
    }
    ended = process.Ended(0, "", 0.0)
    for name, inputs in targets.items():
        words = [compiler, "-shared", "-o", package / name, *inputs, "-lpthread", "-ldl"]
        ended = process.run(words, end_s - time.monotonic(), folder)
        if ended.status != 0:
            return ended
    stamp = {"torch": torch["version"], "cxx11_abi": torch["cxx11_abi"]}
    (package / "_observer_stamp.json").write_text(json.dumps(stamp), encoding="utf-8")
    missing = cuda_kernels(root, package, folder, end_s)
    (package / "_build.json").write_text(json.dumps({"libperfprobe_cuda": missing}), encoding="utf-8")
    return ended


def linked(root: Path) -> dict[str, list[Path]]:
    """The sources of each library."""

    def of(*folders: str) -> list[Path]:
        return [path for name in folders for path in sorted((root / "csrc" / name).glob("*.cpp"))]

    bindings = [path for path in of("bindings") if path.name != "observer_module.cpp"]
    return {
        "_core": [*of("core", "gpu", "python", "cpu", "cpu/peak", "cpu/perf", "read"), *bindings],
        "_observer": [root / "csrc/observer_unit.cpp"],
        "libperfprobe_inject": of("gpu/injections"),
    }


def cuda_kernels(root: Path, package: Path, folder: Path, end_s: float) -> str | None:
    """Builds the kernels; returns why they were not built, None if they were."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        return "no nvcc was found"
    sources = sorted((root / "csrc/cuda").glob("*.cu"))
    words = [nvcc, "-shared", "-std=c++17", "-Xcompiler=-fPIC,-fvisibility=hidden", "-cudart=static"]
    words += ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]
    words += [f"-I{root / 'csrc'}", "-o", str(package / "libperfprobe_cuda.so"), *map(str, sources)]
    ended = process.run(words, end_s - time.monotonic(), folder)
    return None if ended.status == 0 else f"{ended.how()}: {ended.last_line()}"
