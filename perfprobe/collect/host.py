"""Facts about the machine and this process for a recording's meta, read from files. No command is run.

If a fact is not known, its key is omitted, or the result is None. The kernel's files are read below `root`,
so that tests can use made files.
"""

from __future__ import annotations

import os
import re
import sys
from os import stat
from time import monotonic_ns, process_time_ns, time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# By full name, because a secret may be called OMP_PASSWORD.
_ENVIRONMENT = {
    "OMP_": (
        *("AFFINITY_FORMAT", "ALLOCATOR", "CANCELLATION", "DEFAULT_DEVICE", "DISPLAY_AFFINITY"),
        *("DISPLAY_ENV", "DYNAMIC", "MAX_ACTIVE_LEVELS", "MAX_TASK_PRIORITY", "NESTED", "NUM_TEAMS"),
        *("NUM_THREADS", "PLACES", "PROC_BIND", "SCHEDULE", "STACKSIZE", "TARGET_OFFLOAD"),
        *("TEAMS_THREAD_LIMIT", "THREAD_LIMIT", "TOOL", "WAIT_POLICY"),
    ),
    "GOMP_": ("CPU_AFFINITY", "DEBUG", "SPINCOUNT", "STACKSIZE"),
    "KMP_": (
        *("AFFINITY", "ALL_THREADS", "BLOCKTIME", "CPUINFO_FILE", "DETERMINISTIC_REDUCTION"),
        *("DUPLICATE_LIB_OK", "DYNAMIC_MODE", "FORCE_REDUCTION", "FORKJOIN_BARRIER", "HW_SUBSET"),
        *("INHERIT_FP_CONTROL", "INIT_AT_FORK", "LIBRARY", "MONITOR_STACKSIZE", "PLAIN_BARRIER"),
        *("REDUCTION_BARRIER", "SETTINGS", "STACKSIZE", "TEAMS_THREAD_LIMIT", "TOPOLOGY_METHOD"),
        *("TPAUSE", "USER_LEVEL_MWAIT", "USE_YIELD", "VERSION"),
    ),
    "MKL_": (
        *("CBWR", "DEBUG_CPU_TYPE", "DISABLE_FAST_MM", "DOMAIN_NUM_THREADS", "DYNAMIC"),
        *("ENABLE_INSTRUCTIONS", "FAST_MEMORY_LIMIT", "INTERFACE_LAYER", "NUM_STRIPES", "NUM_THREADS"),
        *("SERVICE_FORCE_INTEL", "THREADING_LAYER", "VERBOSE"),
    ),
    "OPENBLAS_": ("CORETYPE", "DEFAULT_NUM_THREADS", "MAIN_FREE", "NUM_THREADS", "VERBOSE"),
    "NUMEXPR_": ("MAX_THREADS", "NUM_THREADS"),
    "PYTORCH_": ("ALLOC_CONF", "CUDA_ALLOC_CONF"),
    "CUDA_": ("LAUNCH_BLOCKING", "VISIBLE_DEVICES"),
    "": ("ATEN_CPU_CAPABILITY", "LD_PRELOAD", "TORCH_NUM_THREADS"),
}
_PACKAGES = (
    *("torch", "numpy", "scipy", "pandas", "PIL", "cv2", "triton", "torchvision", "torchaudio"),
    *("transformers", "tokenizers", "datasets", "accelerate", "lightning", "pytorch_lightning", "deepspeed"),
)

_MOST_WRITTEN = 200  # files
_MOST_PROCESSORS = 65_536

_ours: set[str] = set()  # packages that may be loaded only because perfprobe imported them


def clock() -> dict[str, int]:
    """Returns one moment on both clocks, in ns, which converts the recording's times to dates."""
    before_ns = monotonic_ns()
    realtime_ns = time_ns()
    return {"monotonic_ns": (before_ns + monotonic_ns()) // 2, "realtime_ns": realtime_ns}


def moment() -> dict[str, int]:
    """Returns the present time of the monotonic clock and the CPU time of this process, both in ns."""
    return {"monotonic_ns": monotonic_ns(), "cpu_ns": process_time_ns()}


def host(root: str = "/") -> dict[str, object]:
    """Returns name, CPU model, cores (all, allowed by affinity, by the cgroup's quota), memory, kernel.

    Also the numbers of physical cores and of NUMA nodes that the allowed processors belong to. There are
    fewer physical cores than processors if two of them share a core (SMT).
    """
    system = os.uname()
    facts: dict[str, object | None] = {
        "name": system.nodename,
        "cpu_model": _field(f"{root}/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "cores_allowed": len(os.sched_getaffinity(0)),
        "cgroup_cores": cgroup_cores(root),
        "physical_cores": _physical_cores(root),
        "numa_nodes": _numa_nodes(root),
        "memory_bytes": _memory_bytes(root),
        "kernel": system.release,
    }
    return {name: value for name, value in facts.items() if value is not None}


def environment() -> dict[str, str] | None:
    """Returns the variables for threads, allocators and devices that are set."""
    names = [prefix + name for prefix, words in _ENVIRONMENT.items() for name in words]
    return {name: os.environ[name] for name in names if name in os.environ} or None


def rank() -> dict[str, int] | None:
    """Returns RANK, LOCAL_RANK and WORLD_SIZE of torchrun; None outside of a distributed run."""
    names = {"rank": "RANK", "local_rank": "LOCAL_RANK", "world_size": "WORLD_SIZE"}
    found = {key: os.environ[name] for key, name in names.items() if name in os.environ}
    if "rank" not in found or "world_size" not in found or not all(text.isdigit() for text in found.values()):
        return None
    return {key: int(text) for key, text in found.items()}


def gpus(root: str = "/") -> list[str] | None:
    """Returns the UUIDs of the NVIDIA GPUs, as the driver lists them."""
    found = _gpu_fields(root, "GPU UUID")
    return [uuid for uuid in found if uuid is not None and "?" not in uuid] or None


def code_folders(script: str | None) -> dict[str, object]:
    """Returns the folders of the standard library, of packages, of perfprobe and of the user's script."""
    site = {entry for entry in sys.path if os.path.basename(entry) in ("site-packages", "dist-packages")}
    module = sys.modules.get("site")
    site.update(module.getsitepackages() if module is not None else [])
    facts = {
        "stdlib": sorted({os.path.dirname(os.__file__), os.path.dirname(os.path.realpath(os.__file__))}),
        "site": sorted(site),
        "perfprobe": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "script": script,
        "temporary": os.path.realpath(os.environ.get("TMPDIR") or "/tmp"),
    }
    return {name: value for name, value in facts.items() if value is not None}


def written_modules(temporary: str, since_ns: int) -> list[str] | None:
    """Returns the files of modules that were written into the folder `temporary` and then imported.

    Libraries that write Python at run time write it there. No code of the modules is run.

    Args:
        since_ns: time of the realtime clock. Files that no longer exist count too.
    """
    namespaces = [vars(module) for module in list(sys.modules.values()) if type(module) is type(sys)]
    files = [names.get("__file__") for names in namespaces]
    found = [file for file in files if type(file) is str and file.startswith(f"{temporary}/")]
    return [file for file in found if _is_newer(file, since_ns)][:_MOST_WRITTEN] or None


def _is_newer(file: str, since_ns: int) -> bool:
    try:
        return stat(file).st_mtime_ns >= since_ns
    except OSError:
        return True


def versions(perfprobe: str) -> dict[str, str]:
    """Returns versions known at the start. Those of packages are added after the program has loaded them."""
    return {"python": sys.version.split()[0], "perfprobe": perfprobe}


def apart(step: Callable[[], str]) -> str:
    """Returns what `step` returns. Packages that it imports first do not count as the program's."""
    absent = {name for name in _PACKAGES if name not in sys.modules}
    try:
        return step()
    finally:
        _ours.update(absent.intersection(sys.modules))


def package_versions() -> dict[str, str]:
    """Returns versions of relevant packages that the program has imported, without running their code."""
    names = [name for name in _PACKAGES if name not in _ours]
    modules = {name: sys.modules[name] for name in names if sys.modules.get(name) is not None}
    found = {name: vars(module).get("__version__") for name, module in modules.items()}
    return {name: str(version) for name, version in found.items() if isinstance(version, str)}


def nvidia(root: str = "/") -> dict[str, object] | None:
    """Returns the version of NVIDIA's driver and the models of the GPUs; None without a driver."""
    words = (_text(f"{root}/proc/driver/nvidia/version") or "").split("\n")[0].split()
    numbers = [word for word in words if re.fullmatch(r"\d+\.\d+(\.\d+)?", word)]
    models = [model for model in _gpu_fields(root, "Model") if model is not None]
    return {"driver": numbers[0], "models": models} if numbers else None


def cgroup_cores(root: str = "/") -> float | None:
    """Returns how many cores the cgroup's quotas allow, the least of all levels; None without a quota."""
    quotas = [cores for cores, _ in (*_quotas_v2(root), *_quotas_v1(root))]
    return min(quotas) if quotas else None


def throttling(root: str = "/") -> str | None:
    """Returns the file that says how long that quota was exhausted; None without a quota."""
    quotas = [*_quotas_v2(root), *_quotas_v1(root)]
    return f"{min(quotas)[1]}/cpu.stat" if quotas else None


def _quotas_v2(root: str) -> list[tuple[float, str]]:
    quotas = []
    for step in _ancestors(_cgroup_path(root, "")):
        folder = f"{root}/sys/fs/cgroup{step}"
        words = (_text(f"{folder}/cpu.max") or "").split()
        if len(words) == 2 and words[0].isdigit() and int(words[1]) > 0:
            quotas.append((int(words[0]) / int(words[1]), folder))
    return quotas


def _quotas_v1(root: str) -> list[tuple[float, str]]:
    quotas = []
    for step in _ancestors(_cgroup_path(root, "cpu")):
        for folder in (f"{root}/sys/fs/cgroup/cpu{step}", f"{root}/sys/fs/cgroup/cpu,cpuacct{step}"):
            quota_us = _number(f"{folder}/cpu.cfs_quota_us")
            period_us = _number(f"{folder}/cpu.cfs_period_us")
            if quota_us is not None and period_us is not None and quota_us > 0 and period_us > 0:
                quotas.append((quota_us / period_us, folder))
    return quotas


def _cgroup_path(root: str, controller: str) -> str:
    # Lines are "number:controllers:path". The unified hierarchy of version 2 has no controllers.
    for line in (_text(f"{root}/proc/self/cgroup") or "").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and controller in parts[1].split(","):
            return parts[2]
    return "/"


def _ancestors(path: str) -> list[str]:
    """Returns `/a/b`, `/a` and the empty path for `/a/b`. Inside a container only the last exists."""
    parts = [part for part in path.split("/") if part]
    return ["".join(f"/{part}" for part in parts[:count]) for count in range(len(parts), -1, -1)]


def _physical_cores(root: str) -> int | None:
    """Returns the number of physical cores of the allowed processors, None if not known."""
    folder = f"{root}/sys/devices/system/cpu"
    found = {_text(f"{folder}/cpu{at}/topology/thread_siblings_list") for at in os.sched_getaffinity(0)}
    return None if None in found or not found else len(found)


def _numa_nodes(root: str) -> int | None:
    """Returns the number of NUMA nodes of the allowed processors, None if not known."""
    folder, allowed = f"{root}/sys/devices/system/node", os.sched_getaffinity(0)
    try:
        nodes = [name for name in os.listdir(folder) if name.startswith("node")]
    except OSError:
        return None
    near = (_listed(_text(f"{folder}/{name}/cpulist") or "") for name in nodes)
    return sum(not allowed.isdisjoint(processors) for processors in near) or None


def _listed(text: str) -> set[int]:
    """Returns the numbers in a list as the kernel writes it: `0-3,8` is 0, 1, 2, 3 and 8."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit() and int(last or first) < _MOST_PROCESSORS:
            found.update(range(int(first), int(last or first) + 1))
    return found


def _memory_bytes(root: str) -> int | None:
    words = (_field(f"{root}/proc/meminfo", "MemTotal") or "").split()
    return int(words[0]) * 1024 if len(words) == 2 and words[0].isdigit() else None


def _gpu_fields(root: str, name: str) -> list[str | None]:
    folder = f"{root}/proc/driver/nvidia/gpus"
    try:
        devices = sorted(os.listdir(folder))
    except OSError:
        return []
    return [_field(f"{folder}/{device}/information", name) for device in devices]


def _field(path: str, name: str) -> str | None:
    for line in (_text(path) or "").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip() or None
    return None


def _number(path: str) -> int | None:
    text = (_text(path) or "").strip()
    return int(text) if text.removeprefix("-").isdigit() else None


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None
