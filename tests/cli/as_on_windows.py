"""Runs perfprobe's command line without what Windows has not, and without the C++ extension."""

from __future__ import annotations

import os
import signal
import sys

import numpy  # noqa: F401, its half for Linux asks for os.uname when it is imported

# https://docs.python.org/3.14/library/os.html and signal.html: "Availability: Unix". Left out is what the
# half for Unix of the standard library itself asks for when it is imported (os.WNOHANG, _posixsubprocess).
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
OF_OS = """
    O_CLOEXEC O_DIRECTORY O_DSYNC O_NDELAY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH O_SYNC O_TMPFILE
    chown chroot confstr ctermid fchdir fchmod fchown fdatasync fork forkpty fpathconf fstatvfs get_blocking
    getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getsid getuid killpg lchown
    memfd_create mkfifo mknod nice openpty pathconf pipe2 posix_fadvise posix_fallocate posix_spawn pread
    posix_spawnp preadv pwrite pwritev readv register_at_fork sched_getaffinity sched_setaffinity sched_yield
    sendfile set_blocking setpgid setsid statvfs sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 waitid
    writev
"""
OF_SIGNAL = """
    SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGUSR1
    SIGUSR2 alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigtimedwait
    sigwait
"""


class Refusing:
    """An import hook that refuses these modules."""

    def find_spec(self, name: str, *_: object) -> None:
        if name in MODULES or name == "perfprobe._core":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def leave_out() -> None:
    """Takes them away."""
    sys.meta_path.insert(0, Refusing())
    for name in MODULES:
        sys.modules.pop(name, None)
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL), (sys.modules["_signal"], OF_SIGNAL)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)


if __name__ == "__main__":
    leave_out()
    from perfprobe.cli import main

    status = main(sys.argv[1:])
    assert not {"perfprobe._core", *MODULES} & set(sys.modules)
    sys.exit(status)
