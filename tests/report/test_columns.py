import io

from rich.console import Console

from perfprobe.report.render.columns import fit, table
from perfprobe.report.render.paragraph import paragraph
from perfprobe.report.section.block import Column

LONG = "x" * 50


def test_all_columns_are_kept_if_there_is_room() -> None:
    columns = [Column("a", ["1", "22"]), Column("b", ["333"], rank=5)]
    assert [(column.title, width) for column, width in fit(columns, 20)] == [("a", 2), ("b", 3)]


def test_optional_columns_are_dropped_before_others_get_narrow() -> None:
    columns = [
        Column("a", [LONG], least=5, wish=20),
        Column("b", ["bb"], rank=4),
        Column("c", ["cc"], rank=6),
    ]
    assert [column.title for column, _ in fit(columns, 28)] == ["a", "b", "c"]
    assert [column.title for column, _ in fit(columns, 27)] == ["a", "b"]
    assert [column.title for column, _ in fit(columns, 10)] == ["a"]


def test_other_columns_are_dropped_only_at_minimum_widths() -> None:
    columns = [Column("a", [LONG], least=5, wish=20), Column("b", ["bb"], rank=3)]
    assert [(column.title, width) for column, width in fit(columns, 9)] == [("a", 5), ("b", 2)]
    assert [(column.title, width) for column, width in fit(columns, 8)] == [("a", 8)]


def test_required_columns_stay_even_without_room() -> None:
    assert [width for _, width in fit([Column("a", [LONG])], 8)] == [50]


def test_spare_room_is_shared() -> None:
    columns = [Column("a", [LONG], least=5), Column("b", [LONG], least=7), Column("c", ["c"])]
    placed = fit(columns, 41)
    assert sum(width for _, width in placed) + 2 * 2 == 41
    assert [width for _, width in placed] == [17, 19, 1]


def test_a_cell_may_have_its_own_style() -> None:
    text = io.StringIO()
    columns = [Column("a", ["1", "2"], style="cyan", styles=["bold", ""]), Column("b", ["x", "y"])]
    Console(file=text, width=80, force_terminal=True, color_system="standard").print(table(fit(columns, 20)))
    lines = text.getvalue().splitlines()
    assert lines[1:] == ["\x1b[1;36m1  \x1b[0mx", "\x1b[36m2  \x1b[0my"]


def test_each_line_of_a_cell_is_cut() -> None:
    text = io.StringIO()
    columns = [Column("title", [f"{LONG}\nshort"], least=8), Column("n", ["7"])]
    Console(file=text, width=80).print(table(fit(columns, 11)))
    assert [line.rstrip() for line in text.getvalue().splitlines()] == ["title     n", "xxxxxxx…  7", "short"]


def test_unused_width_goes_to_other_columns() -> None:
    columns = [
        Column("a", [LONG], least=5),
        Column("b", ["file.py:1 in function"], least=9, shorten=lambda text, _: text.split(" ")[0]),
    ]
    assert [width for _, width in fit(columns, 30)] == [19, 9]


def test_a_figure_stays_with_its_unit() -> None:
    assert paragraph("perfprobe took 12 ms", 17).plain == "perfprobe took\n12 ms"
    assert paragraph("perfprobe took 12 steps", 17).plain == "perfprobe took 12\nsteps"
