"""Tables fit the terminal, lists are written as they come, words are styled only where that can be seen."""

import json
import subprocess
import sys

import pytest

from leftoff.agents import claude
from leftoff.cli import output
from leftoff.cli.columns import fold
from leftoff.cli.main import run
from leftoff.cli.output import columns_of
from leftoff.platform import paths
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

HEADINGS = ["", "agent", "project", "first prompt", "used"]
ROW = ("1", "claude", "millrace", "The nightly expire of subscriptions takes too long", " 17 %")


def drawn(capsys, monkeypatch, columns, **options):
    monkeypatch.setenv("COLUMNS", str(columns))
    output.table(HEADINGS, [ROW], **options)
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [30, 40, 60, 80, 200])
def test_a_table_is_never_wider_than_the_terminal(capsys, monkeypatch, columns):
    """Columns are folded or left out if the table would be too wide."""
    out = drawn(capsys, monkeypatch, columns, spare=["project", "agent"])
    assert max(map(len, out.splitlines())) <= columns


def test_on_a_very_narrow_terminal_cells_are_below_each_other_and_no_word_is_cut(capsys, monkeypatch):
    out = drawn(capsys, monkeypatch, 30)
    assert set(" ".join(ROW).split()) <= set(out.split())
    assert "first prompt: The nightly" in out


def test_a_narrow_terminal_is_spared_the_least_important_columns_first(capsys, monkeypatch):
    """Columns are dropped one by one, and only as many as necessary."""

    def headings(columns):
        out = drawn(capsys, monkeypatch, columns, spare=["project", "agent"])
        return {heading for heading in HEADINGS if heading and heading in out}

    assert headings(80) == {"agent", "project", "first prompt", "used"}
    assert headings(48) == {"agent", "first prompt", "used"}
    assert headings(38) == {"first prompt", "used"}


def test_short_cells_are_not_folded_where_a_long_one_can_be(capsys, monkeypatch):
    """A number broken over two lines is read as two."""
    for columns in (40, 60):
        out = drawn(capsys, monkeypatch, columns, spare=["project", "agent"])
        assert " 17 %" in out


def test_short_columns_that_do_not_fit_side_by_side_are_folded(capsys, monkeypatch):
    """Folding keeps every word of every column."""
    monkeypatch.setenv("COLUMNS", "24")
    output.table(["the summary lost", "we would have kept"], [("12 of 20 commands", "11 of the commands")])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 24
    assert {"summary", "lost", "would", "have", "kept", "12", "20", "11", "commands"} <= {*out.split()}


def test_of_equally_wide_columns_all_give_way(capsys, monkeypatch):
    monkeypatch.setattr(output, "width", lambda: 43)
    output.table(["x", "y"], [("word " * 6, "noun " * 6)])
    row = capsys.readouterr().out.splitlines()[3]
    assert row.split() == ["word"] * 4 + ["noun"] * 4


def test_a_table_without_rows_has_its_headings(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    output.table(["a", "b"], [])
    assert "a" in capsys.readouterr().out


def test_text_of_two_columns_a_letter_is_counted_so(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    output.table(["words", "n"], [("日本語日本語日", "1"), ("日本語", "2")], spare=["n"])
    assert "n" in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "19")
    output.table(["words", "n"], [("日本語日本語日", "1")], spare=["n"])
    assert "n" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "values", [[], [1], [{"a": "two\nlines", "b": [1, {"c": None}]}, "x", []], ["\ud800"]]
)
def test_a_list_written_as_it_comes_is_the_list(capsys, values):
    """The output is byte for byte the same as if it were written at once."""
    output.as_json(values)
    whole = capsys.readouterr().out
    output.as_json_list(iter(values))
    assert json.loads(found := capsys.readouterr().out) == values
    # Which another writer has to write, who indents an empty list alike.
    assert found == whole or values == ["\ud800"]


def test_each_element_of_a_list_is_written_before_the_next_is_asked_for(capsys):
    """Output appears at once and needs little memory."""

    def values():
        yield "first"
        assert '"first"' in capsys.readouterr().out
        yield "second"

    output.as_json_list(values())


def test_a_list_that_breaks_off_is_closed(capsys):
    """What came before can be parsed; the error is reported separately."""

    def values():
        yield 1
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        output.as_json_list(values())
    assert json.loads(capsys.readouterr().out) == [1]


@pytest.mark.parametrize("columns", [40, 50, 110])
def test_sessions_and_status_are_readable_on_a_narrow_terminal(isolated_home, capsys, monkeypatch, columns):
    """Nothing is wider than the terminal, and number, prompt, usage and age are always shown."""
    path = isolated_home / ".claude" / "projects" / "-slug" / "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11.jsonl"
    path.parent.mkdir(parents=True)
    story = Story(project="/a/project-with-a-long-name", model="claude-sonnet-4-5").asked(
        "Fix the login of users"
    )
    write_transcript(claude.here(), story.replied("Done.", used=83_500).script(), path)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(["sessions"]) == 0
    listed = capsys.readouterr().out
    assert max(map(len, listed.splitlines())) <= columns
    row = next(line for line in listed.splitlines() if "Fix the login" in line)
    assert row.split()[0] == "1"
    assert " 50 %" in row
    assert ("claude" in row) == (columns >= 50)
    assert run(["status", str(path)]) == 0
    gauge = capsys.readouterr().out
    assert max(map(len, gauge.splitlines())) <= columns
    assert "claude 0b54f7aa" in gauge
    assert "83,500 of 167,000 tokens, 50.0 %" in gauge


def test_numbers_are_aligned_to_the_right(capsys, monkeypatch):
    """So that a glance compares them; a column with other text is aligned to the left."""
    monkeypatch.setenv("COLUMNS", "80")
    output.table(["what", "tokens", "line"], [["a", "1,024", "7"], ["b", "~9", "near 8"]])
    _, heading, _, first, second, _ = capsys.readouterr().out.split("\n")[:6]
    assert heading == " what   tokens   line"
    assert first == " a       1,024   7"
    assert second == " b          ~9   near 8"


def test_a_number_and_its_percent_sign_stay_together():
    """A line that begins with % would look like a mistake."""
    assert fold("it is now 98 % full", 13) == ["it is now", "98 % full"]
    assert fold("98 % → 39 % of it", 10) == ["98 % →", "39 % of it"]


def test_words_are_wrapped_whole(monkeypatch):
    """A name is not broken at its hyphens."""
    monkeypatch.setenv("COLUMNS", "40")
    text = "goes on in the project with-a-rather-long-name here"
    assert output.wrap(text, indent="  ").splitlines() == [
        "  goes on in the project",
        "  with-a-rather-long-name here",
    ]


@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({"TERM": "xterm"}, "\x1b[31m\x1b[1mx\x1b[0m"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "x"),
        ({"TERM": "dumb"}, "x"),
    ],
)
def test_words_are_styled_on_a_terminal_that_wants_it(environment, seen):
    """Words are not styled with ``NO_COLOR`` or on a terminal without styles."""
    code = "from leftoff.cli import output as display; display.say('x', {'fg': 'red', 'bold': True})"
    ended = subprocess.run(
        ["script", "-qec", f'{sys.executable} -c "{code}"', "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        env=paths.environment() | environment,
    )
    assert ended.stdout.strip() == seen


def test_a_long_word_is_broken_and_scripts_of_double_width_are_counted(capsys, monkeypatch):
    """Every line fits, also in a list of many rows."""
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("1", "修复登录页面的错误" * 9, "1 d"), *[("22", "short", "2 h")] * 400]
    output.table(["no", "prompt", "age"], rows, title="Many")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Many"
    assert all(columns_of(line) <= 40 for line in lines)
    assert "".join(lines).count("修") == 9
    assert sum("short" in line for line in lines) == 400


def test_lines_are_wrapped_on_a_terminal_like_the_item_they_belong_to(monkeypatch):
    """Between words, and in scripts without spaces after any letter; a path stays whole, so that it can be copied."""
    monkeypatch.setenv("COLUMNS", "30")
    assert output.fit("  - one two three four five six seven") == "  - one two three four five\n    six seven"
    assert output.fit("short\n\nalso short") == "short\n\nalso short"
    path = "/home/somebody/projects/a-long-name/file.jsonl"
    assert output.fit(f"Wrote {path} now") == f"Wrote\n{path}\nnow"
    lines = output.fit("日本語の文はこの通りにお願いします。もう一度お試しください。").splitlines()
    assert [columns_of(line) <= 30 for line in lines] == [True] * 2
    assert "".join(lines) == "日本語の文はこの通りにお願いします。もう一度お試しください。"
    assert not lines[1].startswith("。")


def test_paths_are_short_for_people_and_whole_for_programs(monkeypatch, isolated_home, tmp_path):
    """What is in the working folder is named as seen from there."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert output.near_path(folder / "a" / "b.md") == "a/b.md"
    assert output.near_path(isolated_home / "x") == "~/x"
    assert output.short_path(isolated_home) == "~"
    assert output.full_path(isolated_home / "x") == str(
        isolated_home / "x"
    )  # standard output is no terminal here


def test_the_width_without_a_terminal_is_eighty(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "__stdout__", None)
    assert output.width() == 80


@pytest.mark.parametrize("value", ["\ud800", {"\udcff": "é\x1b\u202e"}, "é\x1b\u202e\x7f", "\U0001f600"])
def test_half_characters_and_those_that_turn_text_round_are_escaped(capsys, value):
    """Dangerous characters are escaped in JSON without changing its value."""
    output.as_json(value)
    written = capsys.readouterr().out
    assert json.loads(written) == value
    assert not {"\x1b", "\u202e", "\x7f"} & {*written}
