"""Reads the settings of a sweep, as they are typed."""

from __future__ import annotations

from perfprobe.support.errors import UsageError
from perfprobe.tables.sweep import SweepSetting

_WORDS = {
    "active": ("OMP_WAIT_POLICY", "active"),
    "passive": ("OMP_WAIT_POLICY", "passive"),
    "close": ("OMP_PROC_BIND", "close"),
    "spread": ("OMP_PROC_BIND", "spread"),
}
AS_IT_IS = SweepSetting("as it is")
WORKERS = "{workers}"  # stands for the number of workers in the arguments of the program


def settings(threads: str, workers: str | None = None) -> tuple[SweepSetting, ...]:
    """Returns the program as it is, then each setting of `threads` with each number of `workers`.

    Args:
        threads: settings as in `1,2,2+passive`.
        workers: numbers of workers as in `0,2,4`; None to leave them as they are.

    Raises:
        UsageError: a word is not a setting.
    """
    words = [] if workers is None else workers.split(",")
    numbers: list[int | None] = [*(_whole(word, 0) for word in words)] or [None]
    found = [_setting(word.strip(), number) for word in threads.split(",") for number in numbers]
    as_it_is = AS_IT_IS if workers is None else SweepSetting(AS_IT_IS.name, {}, numbers[0])
    return as_it_is, *found


def _setting(text: str, workers: int | None) -> SweepSetting:
    first, *words = text.split("+")
    number = str(_whole(first, 1))
    variables = {"OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number}
    for word in words:
        if word not in _WORDS:
            raise UsageError(
                "unknown setting of threads", word, f"known: {', '.join(_WORDS)}, as in 2+passive"
            )
        variables |= [_WORDS[word]]
    how = "".join(f" {word}" for word in words)
    many = "" if workers is None else f", {workers} workers"
    name = f"{number} thread{'' if number == '1' else 's'}{how}{many}"
    return SweepSetting(name, variables, workers)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) >= least):
        raise UsageError("not a number of threads or workers", text, "write them as in --sweep 1,2,4")
    return int(text)
