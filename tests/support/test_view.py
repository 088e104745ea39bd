from typing import Any

import pytest

from perfprobe.support.errors import UsageError
from perfprobe.support.view import View


def test_valid_values_are_accepted() -> None:
    view = View(top=0, sort="p95", group="op", focus=r"a\.b", columns="all")
    assert vars(View(**vars(view))) == vars(view)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sort": "name"}, "there is no sort order 'name'; choose from self, total,"),
        ({"group": "file"}, "there is no grouping 'file'"),
        ({"columns": "few"}, "there is no set of columns 'few'"),
        ({"top": -1}, "a table cannot have -1 rows"),
        ({"top": "3"}, "top is '3'; give a whole number"),
        ({"top": True}, "top is True"),
        ({"top": 2.0}, "top is 2.0"),
        ({"sort": ["self"]}, "there is no sort order ['self']"),
        ({"group": None}, "there is no grouping None"),
        ({"focus": b"mm"}, "focus is b'mm'; give a regular expression as text"),
        (
            {"focus": "a(b"},
            r"not a regular expression (missing ), unterminated subpattern at position 1): a(b; escape",
        ),
        (
            {"view": "paddle.model", "focus": "mm"},
            "paddle.model covers all operators and takes no focus; leave out",
        ),
        ({"sort": "GPUMax"}, "these rows have no column gpu-max; use it with --view paddle.operator"),
        ({"group": "line", "sort": "median"}, "a line has no median: its calls are of different operators"),
    ],
)
def test_invalid_values_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        View(**options)
    assert said in str(error.value)
