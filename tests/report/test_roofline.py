from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfprobe.report.picture.roofline import draw
from perfprobe.report.picture.roofline_labels import place
from perfprobe.report.picture.roofline_points import points
from perfprobe.report.picture.roofline_roofs import roofs
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables.measurements import Estimate, Measurement, Measurements, Seen, Verdict, Wanted
from tests.bench.machines import machine


def row(operator: str, signature: str, us: float, flops: int | None, moved: int, share: float) -> Measurement:
    return Measurement(
        wanted=Wanted(operator, signature, threads=2),
        device="cpu",
        clock="cpu",
        seen=Seen(1, share, 1, 1, None),
        rotating=Estimate(us * 1e3, us * 1e3, us * 1e3),
        flops=flops,
        read_bytes=moved // 2,
        write_bytes=moved // 2,
        verdict=Verdict("memory-bound", ""),
    )


ROWS = (
    row("aten::mm", "f32[512,512] f32[512,512]", 2000, 2 * 512**3, 3 << 20, 0.3),
    row("aten::mm", "f32[256,1024] f32[1024,512]", 2000, 2 * 512**3, 3 << 20, 0.25),
    row("aten::copy_", "f32[1024,1024] f32[1024,1024]", 300, 0, 8 << 20, 0.2),
    row("aten::$x^2_{evil}$", "f32[64]", 5, 64, 512, 0.01),
    row("aten::strange", "f32[64]", 5, None, 512, 0.01),
    Measurement(Wanted("aten::gone", "f32[3]"), "cpu", "cpu", not_rebuilt="no reason"),
)
MEASURED = Measurements("A processor", "2.13.0", "train.perfprobe", ROWS)


def test_points_by_hand() -> None:
    mm, _, copy, _, _ = points(MEASURED)
    assert (mm.label, mm.flop_rate, mm.intensity) == ("mm 512x512", 2 * 512**3 / 2e-3, 2 * 512**3 / (3 << 20))
    assert (copy.label, copy.flop_rate, copy.byte_rate) == ("copy_", None, (8 << 20) / 300e-6)


def test_roofs_belong_to_the_operators() -> None:
    found = roofs(machine(), points(MEASURED))
    assert found.of == "f32, 2 threads"
    assert (found.product, found.peak) == (2e11, 2.4e11)
    assert found.levels == (("LLC", 1.8e11), ("DRAM", 6e10))
    assert found.others == ()
    assert [name for name, _ in roofs(machine(), ()).others] == ["f64", "f16"]


@pytest.mark.parametrize(
    ("end", "begin", "measured"),
    [("png", b"\x89PNG\r\n\x1a\n", MEASURED), ("pdf", b"%PDF", MEASURED), ("svg", b"<?xml", None)],
)
def test_the_roofline_is_drawn(end: str, begin: bytes, measured: Measurements | None, tmp_path: Path) -> None:
    path = tmp_path / f"roof.{end}"
    draw(machine(), measured, str(path))
    assert path.read_bytes().startswith(begin)


def test_labels_are_text_in_the_svg(tmp_path: Path) -> None:
    draw(machine(), MEASURED, str(tmp_path / "roof.svg"))
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / "roof.svg").read_text())
    for label in ("mm 512x512", "mm 256x1024", "copy_", "$x^2_{evil}$", "strange", "memory-bound"):
        assert label in texts
    assert "vfmadd231ps zmm" in " ".join(texts)


def test_without_ceilings_or_rows_there_is_no_picture(tmp_path: Path) -> None:
    bare = replace(machine(), ceilings=(), levels=())
    draw(bare, Measurements("m", "t", None, ()), str(tmp_path / "bare.png"))
    draw(bare, MEASURED, str(tmp_path / "rows.png"))


def test_labels_do_not_overlap() -> None:
    figure_type = pytest.importorskip("matplotlib.figure").Figure
    text_type = pytest.importorskip("matplotlib.text").Text  # an annotation's extent includes its arrow
    figure = figure_type(figsize=(8, 6), dpi=100)
    axes = figure.subplots()
    axes.set(xlim=(0, 10), ylim=(0, 10))
    at = [(5 + 0.1 * (number % 3), 5 + 0.1 * (number // 3)) for number in range(9)]
    figure.draw_without_rendering()
    place(axes, [f"operator {number}" for number in range(9)], at, [50.0] * 9)
    figure.draw_without_rendering()
    boxes = [text_type.get_window_extent(text).extents for text in axes.texts]
    assert len(boxes) == 9
    for number, one in enumerate(boxes):
        assert not [other for other in boxes[number + 1 :] if overlap(one, other)]


def test_labels_of_equally_fast_products_do_not_overlap(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """f16 and bf16 have the same rate on most processors."""
    text_type = pytest.importorskip("matplotlib.text").Text
    drawn: list[Any] = []
    figure_type = pytest.importorskip("matplotlib.figure").Figure

    class Kept(figure_type):  # type: ignore[misc, valid-type]
        def savefig(self, *of: Any, **more: Any) -> None:
            super().savefig(*of, **more)
            drawn.append(self)

    monkeypatch.setattr("matplotlib.figure.Figure", Kept)
    given = machine()
    (f16,) = (one for one in given.ceilings if (one.kind, one.dtype, one.threads) == ("gemm", "f16", 2))
    others = [replace(f16, dtype=dtype, rate=f16.rate) for dtype in ("bf16", "i8")]
    draw(replace(given, ceilings=(*given.ceilings, *others)), None, str(tmp_path / "roof.png"))
    texts = [text for text in drawn[0].axes[0].texts if "product" in text.get_text()]
    assert len(texts) >= 4
    boxes = [text_type.get_window_extent(text).extents for text in texts]
    for number, one in enumerate(boxes):
        assert not [other for other in boxes[number + 1 :] if overlap(one, other)]


def overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    slack = 0.5
    across = min(one[2], other[2]) - max(one[0], other[0])
    upright = min(one[3], other[3]) - max(one[1], other[1])
    return across > slack and upright > slack


def test_missing_matplotlib_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(EnvironmentLack, match="pip install matplotlib"):
        draw(machine(), None, str(tmp_path / "roof.png"))


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLack, match="cannot be written"):
        draw(machine(), None, str(tmp_path / "absent" / "roof.png"))
