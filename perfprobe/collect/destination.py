"""Names a recording, and creates it without ever overwriting a file."""

from __future__ import annotations

import errno
import os
import time

from perfprobe.collect import own_folder
from perfprobe.collect.program import current_folder
from perfprobe.support.errors import EnvironmentLack, PerfprobeError, UsageError
from perfprobe.support.scarcity import scarcity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perfprobe.native import Recorder

SUFFIX = ".perfprobe"
_MOST_NAMES = 1000


def default_path(stem: str, rank: dict[str, int] | None) -> str:
    """Returns `.perfprobe/<stem>-<date>-<pid>.perfprobe` in the current folder.

    Under torchrun host and rank precede the PID. If the current folder was removed, the folder for temporary
    files is used.
    """
    parts = [stem, time.strftime("%Y%m%d-%H%M%S")]
    if rank is not None:
        parts += [os.uname().nodename, f"rank{rank['rank']}"]
    here = current_folder()
    folder = os.environ.get("TMPDIR") or "/tmp" if here is None else os.path.join(here, own_folder.FOLDER)
    return os.path.join(folder, "-".join([*parts, str(os.getpid())]) + SUFFIX)


def with_rank(path: str, rank: dict[str, int] | None) -> str:
    """Adds this rank to the path that a user named: `out.perfprobe` becomes `out-rank1.perfprobe`."""
    return path if rank is None or rank["world_size"] < 2 else inserted(path, f"rank{rank['rank']}")


def inserted(path: str, word: str) -> str:
    """Puts a word before the suffix: `out.perfprobe` becomes `out-word.perfprobe`."""
    stem, suffix = os.path.splitext(path)
    return f"{stem}-{word}{suffix}"


def create(
    recorder: type[Recorder], path: str, buffer_bytes: int, *, named: bool, in_ns: bool = False
) -> tuple[Recorder, str]:
    """Creates the recording at `path`, which must not exist; returns it with the path used.

    Args:
        named: whether the user chose the name. A default name gets a number if it exists, and its folder
            `.perfprobe/` is made if it is missing.
        in_ns: whether times of operators are read in ns from the clock, so that others may use them at once.

    Raises:
        UsageError: the named file exists, or is a folder.
        EnvironmentLack: the file cannot be written, or there is no memory or thread for recording.
    """

    def made(file: str) -> Recorder:
        # As bytes, because a file name need not be text. pybind11 converts them to a std::string.
        return recorder(os.fsencode(file), buffer_bytes, in_ns=in_ns)  # type: ignore[arg-type]

    for candidate in [path] if named else _numbered(path):
        try:
            return made(candidate) if named else _in_its_folder(made, candidate), candidate
        except FileExistsError:
            continue
        except (OSError, MemoryError) as error:
            raise _refusal(error, candidate) from error
    if os.path.isdir(path):
        raise UsageError("this is a folder", path, "name a file in it")
    raise UsageError("the recording exists already", path, "name another file, or remove it")


def _in_its_folder(made: Callable[[str], Recorder], path: str) -> Recorder:
    """The recorder of this file. `.perfprobe/` is made for it, and not left behind empty."""
    if not own_folder.is_in_own_folder(path):
        return made(path)
    for is_last in (False, False, True):
        try:
            own_folder.make_folder_of(path)
            return made(path)
        except FileNotFoundError:
            if is_last:
                raise
            # Another run that did not start removed the folder just now.
        except BaseException:
            own_folder.remove_if_empty(os.path.dirname(path))
            raise
    raise AssertionError


def _numbered(path: str) -> Iterator[str]:
    yield path
    for number in range(2, _MOST_NAMES):
        yield inserted(path, str(number))


def _refusal(error: OSError | MemoryError, path: str) -> PerfprobeError:
    scarce = scarcity(error)
    if scarce is not None or isinstance(error, MemoryError):
        return EnvironmentLack("nothing can be recorded", *(scarce or ()))
    if error.errno == errno.EISDIR:
        return UsageError("the recording's name is a folder", path, "name a file")
    remedies = {
        errno.ENOSPC: "free some space, or name a file on another disk",
        errno.EDQUOT: "free some space, or name a file on another disk",
        errno.ENOENT: "create the folder, or name a file elsewhere",
    }
    remedy = remedies.get(error.errno or 0, "name a file elsewhere")
    return EnvironmentLack(f"the recording cannot be written ({error.strerror})", path, remedy)
