from __future__ import annotations

import os
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from perfprobe.collect import git, host

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def put(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_modules_written_during_the_run_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun_ns = time.time_ns()
    for name, age_s in (("old_one", 10), ("written_one", -1), ("gone_one", None)):
        file = tmp_path / f"{name}.py"
        module = types.ModuleType(name)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)
        if age_s is not None:
            file.write_text("")
            os.utime(file, ns=(begun_ns, begun_ns - age_s * 10**9))
    outside = types.ModuleType("elsewhere")
    outside.__file__ = "/elsewhere/x.py"
    monkeypatch.setitem(sys.modules, "elsewhere", outside)
    found = host.written_modules(str(tmp_path), begun_ns)
    assert found == [str(tmp_path / "written_one.py"), str(tmp_path / "gone_one.py")]


def test_both_clocks_are_read_together() -> None:
    early = time.monotonic_ns(), time.time_ns()
    pair = host.clock()
    late = time.monotonic_ns(), time.time_ns()
    assert early[0] <= pair["monotonic_ns"] <= late[0]
    assert early[1] <= pair["realtime_ns"] <= late[1]


def test_cores_that_share_one_and_nodes_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5})
    for processor, siblings in ((0, "0,4"), (1, "1,5"), (4, "0,4"), (5, "1,5"), (6, "6")):
        put(tmp_path, f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list", f"{siblings}\n")
    for node, processors in ((0, "0-3"), (1, "4-5,8"), (2, "6-7\n")):
        put(tmp_path, f"sys/devices/system/node/node{node}/cpulist", processors)
    facts = host.host(str(tmp_path))
    assert (facts["cores_allowed"], facts["physical_cores"], facts["numa_nodes"]) == (3, 2, 2)
    assert {"physical_cores", "numa_nodes"}.isdisjoint(host.host(str(tmp_path / "absent")))


def test_host_facts_come_from_the_kernels_files(tmp_path: Path) -> None:
    put(tmp_path, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n\nmodel name\t: Other\n")
    put(tmp_path, "proc/meminfo", "MemTotal:       16000 kB\nMemFree:  1 kB\n")
    facts = host.host(str(tmp_path))
    assert facts["cpu_model"] == "Some CPU @ 2.0GHz"
    assert facts["memory_bytes"] == 16000 * 1024
    assert facts["cores_allowed"] == len(os.sched_getaffinity(0))
    assert facts["name"] == os.uname().nodename
    assert "cgroup_cores" not in facts


def test_missing_files_leave_out_their_keys(tmp_path: Path) -> None:
    facts = host.host(str(tmp_path))
    assert not {"cpu_model", "memory_bytes", "cgroup_cores"} & facts.keys()
    assert host.gpus(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"sys/fs/cgroup/cpu.max": "what is this\n"}, None),
        (
            {
                "proc/self/cgroup": "0::/job/step\n",
                "sys/fs/cgroup/job/cpu.max": "100000 100000\n",
                "sys/fs/cgroup/job/step/cpu.max": "300000 100000\n",
            },
            1.0,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/docker/abc\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
            None,
        ),
    ],
)
def test_cgroup_quota(files: dict[str, str], cores: float | None, tmp_path: Path) -> None:
    for path, text in files.items():
        put(tmp_path, path, text)
    assert host.cgroup_cores(str(tmp_path)) == cores


def test_gpus_are_named_by_uuid(tmp_path: Path) -> None:
    folder = "proc/driver/nvidia/gpus"
    put(tmp_path, f"{folder}/0000:00:01.0/information", "Model: \t X\nGPU UUID: \t GPU-1234-ab\n")
    put(tmp_path, f"{folder}/0000:00:02.0/information", "GPU UUID: \t GPU-????????-????\n")
    assert host.gpus(str(tmp_path)) == ["GPU-1234-ab"]


def test_only_set_variables_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    assert host.environment() is None
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for name in ("SECRET_TOKEN", "OMP_PASSWORD", "MKL_NUM_THREADS_TOKEN"):
        monkeypatch.setenv(name, "x")
    assert host.environment() == {"OMP_NUM_THREADS": "3"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"RANK": "1"}, None),
        ({"RANK": "x", "WORLD_SIZE": "2"}, None),
        ({"RANK": "1", "WORLD_SIZE": "2"}, {"rank": 1, "world_size": 2}),
        (
            {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"},
            {"rank": 3, "local_rank": 1, "world_size": 4},
        ),
    ],
)
def test_the_rank_comes_from_the_environment(
    variables: dict[str, str], expected: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert host.rank() == expected


def test_roots_are_the_folders_of_this_python() -> None:
    roots = host.code_folders("/somewhere")
    assert os.path.dirname(os.__file__) in roots["stdlib"]  # type: ignore[operator]
    assert os.path.dirname(os.path.dirname(pytest.__file__)) in roots["site"]  # type: ignore[operator]
    assert roots["perfprobe"] == os.path.dirname(os.path.dirname(os.path.abspath(host.__file__)))
    assert roots["script"] == "/somewhere"


def run_git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=trunk"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_git_head_agrees_with_git(tmp_path: Path) -> None:
    repository, tree, deep = tmp_path / "repository", tmp_path / "tree", tmp_path / "repository" / "a" / "b"
    deep.mkdir(parents=True)
    run_git(repository, "init")
    assert git.head(str(deep)) is None  # there is no commit yet
    run_git(repository, "commit", "--allow-empty", "-m", "one")
    commit = run_git(repository, "rev-parse", "HEAD")
    assert git.head(str(deep)) == {"commit": commit, "branch": "trunk"}
    run_git(repository, "worktree", "add", "-b", "feature/x", str(tree))
    assert git.head(str(tree)) == {"commit": commit, "branch": "feature/x"}
    run_git(repository, "pack-refs", "--all")
    assert git.head(str(deep)) == {"commit": commit, "branch": "trunk"}
    assert git.head(str(tree)) == {"commit": commit, "branch": "feature/x"}
    run_git(repository, "checkout", "--detach")
    assert git.head(str(deep)) == {"commit": commit}


def test_no_repository_or_a_damaged_one_gives_no_head(tmp_path: Path) -> None:
    assert git.head(str(tmp_path)) is None
    put(tmp_path, ".git/HEAD", "nonsense\n")
    assert git.head(str(tmp_path)) is None
    put(tmp_path, ".git/HEAD", COMMIT + "\n")
    assert git.head(str(tmp_path)) == {"commit": COMMIT}


def test_the_nvidia_driver_and_models_are_read(tmp_path: Path) -> None:
    assert host.nvidia(str(tmp_path)) is None
    line = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release\n"
    put(tmp_path, "proc/driver/nvidia/version", line + "GCC version:  gcc version 13.2.0\n")
    put(tmp_path, "proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 5\n")
    assert host.nvidia(str(tmp_path)) == {"driver": "570.86.15", "models": ["NVIDIA H200"]}


def test_only_imported_packages_have_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    class Strange(types.ModuleType):
        def __getattr__(self, name: str) -> str:
            raise AssertionError("the program's code must not run")

    monkeypatch.setitem(sys.modules, "triton", Strange("triton"))
    monkeypatch.setitem(sys.modules, "scipy", None)
    numpy = types.ModuleType("numpy")
    numpy.__version__ = "9.9"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numpy", numpy)
    found = host.package_versions()
    assert found["numpy"] == "9.9"
    assert not {"triton", "scipy"} & found.keys()


def test_packages_imported_by_perfprobe_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_ours", set())
    for name in ("deepspeed", "triton"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def loaded(name: str) -> str:
        module = types.ModuleType(name)
        module.__version__ = "1.2"  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
        return name

    loaded("deepspeed")
    assert host.apart(lambda: loaded("triton") + loaded("deepspeed")) == "tritondeepspeed"
    found = host.package_versions()
    assert found["deepspeed"] == "1.2"
    assert "triton" not in found
