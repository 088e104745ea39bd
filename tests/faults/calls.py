"""Which system calls the commands make, by strace, and which kind of fault covers each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.faults.commands import Command

COVERED = {
    "open": ("open", "openat"),
    "read": ("read", "pread64", "readlink", "getrandom", "getcwd", "getdents64"),
    "write": ("write", "pwrite64", "ftruncate"),
    "status": ("stat", "lstat", "fstat", "newfstatat", "access", "faccessat2", "lseek"),
    "change": ("unlink", "unlinkat", "rename", "mkdir", "rmdir", "chmod", "fchmod"),
    "descriptor": ("fcntl", "dup", "dup2", "dup3", "eventfd2", "pipe", "pipe2", "flock"),
    "map": ("mmap", "mprotect", "mremap", "munmap"),
    "thread": ("clone", "clone3"),
    "fork": ("fork", "vfork", "execve"),
    "socket": ("socket", "socketpair", "bind", "listen", "connect"),
    "message": ("accept", "accept4", "sendto", "recvfrom", "sendmsg", "recvmsg"),
    "perf": ("perf_event_open", "ioctl"),
    "process": (
        *("process_vm_readv", "sched_getaffinity", "sched_setaffinity", "kill", "tgkill", "prctl"),
        *("timer_create", "timer_settime", "timer_delete", "rt_sigtimedwait"),
    ),
    "memory": ("brk", "madvise"),
}
# Made by libc or the interpreter for themselves, or without an error that a correct caller can meet.
APART = {
    *("arch_prctl", "clock_gettime", "clock_nanosleep", "close", "exit", "exit_group", "futex", "getpid"),
    *("getegid", "geteuid", "getgid", "getppid", "getrusage", "gettid", "getuid", "gettimeofday", "poll"),
    *("pselect6", "restart_syscall", "rseq", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sched_yield"),
    *("set_robust_list", "set_tid_address", "sigaltstack", "sysinfo", "times", "uname", "wait4", "waitid"),
    *(
        "prlimit64",
        "getsockname",
        "getpeername",
        "setsockopt",
        "getsockopt",
        "shutdown",
        "fadvise64",
        "umask",
    ),
    *("epoll_create1", "epoll_ctl", "epoll_wait", "ppoll", "select", "mbind", "get_mempolicy", "statfs"),
    *("setsid", "close_range", "link", "fallocate"),  # of a new process; of the program's DataLoader
}


def uncovered(command: Command, folder: Path) -> Counter[str]:
    """How often a command makes each system call that no kind covers. Needs strace."""
    log = folder / "strace"
    (folder / "program.py").write_text(command.program)
    (folder / "run.perfprobe").unlink(missing_ok=True)
    words = ["strace", "-f", "-qq", "-o", str(log), sys.executable, *command.words]
    subprocess.run(words, cwd=folder, capture_output=True, check=False)
    made = Counter(re.findall(r"^\d+ +(\w+)\(", log.read_text(errors="replace"), re.MULTILINE))
    known = APART.union(*COVERED.values())
    return Counter({name: count for name, count in made.items() if name not in known})
