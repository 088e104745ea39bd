import pytest

from perfprobe.report import shorten


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("", ""),
        ("f32[64,128] f32[128,64]", "f32[64,128] f32[128,64]"),
        ("f32[64,128]{1,64} dim=1", "f32[64,128].T dim=1"),
        ("f32[8,64,128]{8192,1,64}", "f32[8,64,128].T"),
        ("f32[1,64,128]{7,1,64}@cuda:0", "f32[1,64,128].T@cuda:0"),
        ("f32[64,128]{2,128}", "f32[64,128]{2,128}"),
        ("f32[64,128]{0,0}", "f32[64,128]{0,0}"),
        ("f32[2,2]{9}", "f32[2,2]{9}"),
        ("(f32[2],f32[3],f32[4]) alpha=1", "(f32[2],f32[3],f32[4]) alpha=1"),
        ("(f32[2,3],f32[2,3],f32[2,3],f32[2,3])", "(4x f32[2,3])"),
        ("(f32[2,3],f32[2],f32[2,3],f32[2,3]) x=1", "(4: f32[2,3], f32[2], …) x=1"),
        ("(f32[2,3]{1,2},f32[2],f32[2],f32[2])", "(4: f32[2,3].T, f32[2], …)"),
        ("(f32[2],f32[2],f32[2],f32[3])", "(4: f32[2], f32[3], …)"),
        ("size=(1,2,3)", "size=(1,2,3)"),
        ("size=(1,2,3,4,5,6)", "size=(1,2,3,4,5,6)"),
        ("size=(1,2,3,4,5,6,7)", "size=(1,2,3,...)"),
        ('mode="a b,(c" f32[2]', 'mode="a b,(c" f32[2]'),
        ('mode="a\\" b" (i64[],i64[],i64[],i64[])', 'mode="a\\" b" (4x i64[])'),
        ("((f32[2],f32[2]),-)", "((f32[2],f32[2]),-)"),
        ("f32[2", "f32[2"),
        (")))((", ")))(("),
    ],
)
def test_signatures_are_shortened(text: str, short: str) -> None:
    assert shorten.signature(text) == short


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("ab cdef", 4, "ab…"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        ("漢字漢字", 5, "漢字…"),
    ],
)
def test_texts_are_cut(text: str, width: int, short: str) -> None:
    assert shorten.cut(text, width) == short


def test_file_names_are_as_short_as_possible_but_distinct() -> None:
    files = ["/a/b/net.py", "/a/c/net.py", "/a/train.py", "net.py", "/x/b/net.py"]
    assert shorten.file_names(files) == {
        "/a/b/net.py": "a/b/net.py",
        "/a/c/net.py": "c/net.py",
        "/a/train.py": "train.py",
        "net.py": "net.py",
        "/x/b/net.py": "x/b/net.py",
    }
