"""A value is computed once for each argument, and is not kept longer than the argument."""

import gc
import weakref

from perfprobe.support.once import once


class Argument:
    pass


def test_each_argument_is_computed_once() -> None:
    seen: list[Argument] = []

    @once
    def made(argument: Argument) -> int:
        seen.append(argument)
        return len(seen)

    first, second = Argument(), Argument()
    assert [made(first), made(second), made(first)] == [1, 2, 1]
    assert seen == [first, second]


def test_a_value_does_not_keep_its_argument_alive() -> None:
    made = once(lambda argument: 0)
    argument = Argument()
    made(argument)
    alive = weakref.ref(argument)
    del argument
    gc.collect()
    assert alive() is None
