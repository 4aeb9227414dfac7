"""Long lists, drawn without rich."""

from leftoff.cli import display, long_table
from leftoff.cli.visible import columns_of


def test_every_row_is_one_line_that_fits():
    """The widest column gives way; scripts of double width are counted so."""
    columns = [("no", "1", "22"), ("prompt", "修复登录页面的错误" * 9, "short"), ("age", "1 d", "2 h")]
    drawn = [*long_table.lines(columns, 40)]
    assert len(drawn) == 3
    assert all(columns_of(line) <= 40 for line in drawn)
    assert drawn[0].split() == ["no", "prompt", "age"]
    assert drawn[2].split() == ["22", "short", "2", "h"]
    assert len({columns_of(line) - len("x h") for line in drawn[1:]}) == 1


def test_a_column_is_not_cut_to_nothing():
    """Where there is no room at all, lines are longer than the terminal."""
    assert [*long_table.lines([("aaaaaaaaaaaa",), ("bbbbbbbbbbbb",)], 5)] == ["aaaaaaa…  bbbbbbb…"]


def test_many_rows_are_drawn_plainly(capsys):
    """And all of them are there."""
    rows = [(str(number), "x") for number in range(long_table.MANY + 1)]
    display.table(("number", "letter"), rows, title="Many")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Many"
    assert len(lines) == len(rows) + 2
