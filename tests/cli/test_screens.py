"""What people see at 80, 100 and 120 columns: nothing is cut in the middle, and copies are below their originals."""

import json
import re
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from leftoff.agents import claude
from leftoff.cli import output
from leftoff.cli.main import COMMANDS, GROUPS, cli, run
from leftoff.core.session_ids import short_id
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b{:02}"
PROMPT = (
    "Move the billing tables to the new ledger and keep every audit row, then backfill the last ninety days"
)


@pytest.fixture
def said(capsys, monkeypatch):
    """Run a command at a width; return its exit code and output."""

    def say(*arguments, columns=80, code=0):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert run([*arguments]) == code
        return capsys.readouterr().out

    return say


@pytest.fixture
def sessions(isolated_home):
    """Three sessions of this project; the first is large enough to trim."""
    folder = isolated_home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    for number, used in enumerate((150_000, 40_000, 2_000)):
        story = Story(session_id=ID.format(number), project=str(Path.cwd()), model="claude-sonnet-4-5")
        story = story.asked(f"{PROMPT}, part {number}")
        story = story.replied(
            "I look.", call("Bash", {"command": "cat ledger.sql"}, "row of the ledger\n" * 3_000)
        )
        for step in range(4):
            story = story.replied(f"Step {step} is done.").asked("And now the next step, please.")
        write_transcript(
            claude.here(), story.replied("Done.", used=used).script(), folder / f"{ID.format(number)}.jsonl"
        )
    return folder


@pytest.mark.parametrize("command", [["--help"], ["search", "--help"], ["log", "--help"], ["help", "all"]])
def test_help_fits_a_terminal_of_forty_columns(said, command):
    """click would stop at 50; only examples, which are to be copied, may be longer."""
    text = said(*command, columns=40).partition("Example:")[0]
    assert max(map(len, text.splitlines())) <= 40


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_the_help_fits_and_names_every_group(said, columns):
    """No line is wider than the terminal, and no summary is cut."""
    text = said("--help", columns=columns)
    assert max(map(len, text.splitlines())) <= columns
    assert "..." not in text.replace("[ARGS]...", "")
    for title, group in GROUPS.items():
        assert f"\n{title}:\n" in text
        for name, entry in group.items():
            assert (f"  {name} " in text) != entry.is_rare
            assert entry.is_rare or entry.summary in text


@pytest.mark.parametrize("group", ["log", "pause", "project", "archive"])
def test_the_help_of_a_group_cuts_no_summary(said, group):
    """Neither at 80 columns nor on a narrow terminal."""
    for columns in (80, 60):
        text = said(group, "--help", columns=columns)
        assert max(map(len, text.splitlines())) <= columns
        assert "..." not in text.replace("[ARGS]...", "")


def test_help_all_lists_every_command(said):
    """Also the rare ones and those inside groups."""
    text = said("help", "all")
    assert max(map(len, text.splitlines())) <= 80
    for name in (*COMMANDS, "log save", "pause start", "project init", "archive list"):
        assert re.search(rf"^  {name} ", text, re.MULTILINE), name
    listed = json.loads(said("help", "--json"))
    assert {"command": "log save", "group": "Logs", "summary": "save the resume log of SESSION"} in listed


def test_help_explains_one_command(said):
    """As its option does."""
    assert said("help", "log", "save") == said("log", "save", "--help")
    assert said("help") == said("--help")
    said("help", "log", "svae", code=2)
    said("help", "trim", "x", code=2)


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_sessions_fit_on_one_line_each(sessions, said, columns):
    """Number, age, agent, project and gauge are always there; the prompt uses what is left."""
    head, *rows = said("sessions", columns=columns).splitlines()
    assert head.split() == ["#", "age", "agent", "project", "first", "prompt", "used"]
    assert len(rows) == 3
    for number, row in enumerate(rows, start=1):
        assert output.columns_of(row) in {columns - 1, columns}
        assert re.match(rf"{number}  now  claude  work     Move the billing", row)
        assert re.search(r" \d+ % [█░┊]+$", row)


def test_a_list_says_how_many_there_are(sessions, said):
    """But not where all of them are shown."""
    assert "2 of 3 sessions; --all lists every one." in said("sessions", "--limit", "2")
    assert "The newest; --all lists every one." in said("sessions", "--limit", "2", "--project", ".")
    for arguments in (["--limit", "3"], ["--all"], ["--limit", "4"]):
        assert "--all" not in said("sessions", *arguments)


def test_copies_are_listed_below_their_original(sessions, said):
    """In a search, where they are one result, they are counted; the numbers fit what is shown."""
    trimmed = json.loads(said("trim", ID.format(0), "--threshold", "500", "--json"))["session_id"]
    rows = said("sessions").splitlines()[1:]
    at = next(number for number, row in enumerate(rows) if "part 0" in row or "└" in rows[number + 1])
    assert "└ trimmed copy" in rows[at + 1]
    shown = json.loads(said("status", str(at + 2), "--json"))
    assert shown["session_id"] == trimmed
    assert "(+ 1 copy)" in said("search", "ledger")
    found = {each["session_id"] for each in json.loads(said("search", "ledger", "--json"))["hits"]}
    assert len(found & {trimmed, ID.format(0)}) == 1


def test_an_untrimmed_copy_is_listed_as_one(sessions, said):
    """It has everything back, so it is not called trimmed."""
    trimmed = json.loads(said("trim", ID.format(0), "--threshold", "500", "--json"))["session_id"]
    said("untrim", trimmed)
    said("sessions")
    listed = said("sessions")
    assert "└ untrimmed copy" in listed
    assert "└ trimmed copy" in listed


def test_advice_names_prices_only_where_one_is_known(sessions, said):
    """A column of question marks says nothing."""
    assert "first prompt costs" in said("advise", ID.format(0), columns=120)
    transcript = sessions / f"{ID.format(0)}.jsonl"
    transcript.write_text(
        transcript.read_text(encoding="utf-8").replace("claude-sonnet-4-5", "unheard-of-1"), encoding="utf-8"
    )
    text = said("advise", ID.format(0), columns=120)
    assert "tokens freed" in text
    assert "first prompt costs" not in text
    assert "?" not in text


def test_on_a_narrow_terminal_a_match_has_a_line_of_its_own(sessions, said):
    """Beside its label there would be room for two words."""
    lines = said("search", "billing", "--limit", "1", columns=40).splitlines()
    at = next(number for number, line in enumerate(lines) if "prompt" in line)
    assert "billing" not in lines[at]
    assert "billing" in lines[at + 1]
    assert max(map(len, lines[: at + 2])) <= 40


@pytest.mark.parametrize("columns", [80, 120])
def test_plans_and_advice_give_whole_reasons(sessions, said, columns):
    """Reasons are folded between words and never cut."""
    for arguments in (["trim", ID.format(0), "--dry-run"], ["advise", ID.format(0)]):
        text = said(*arguments, columns=columns)
        assert max(map(output.columns_of, text.splitlines())) <= columns
        assert "…" not in text
    plan = json.loads(said("trim", ID.format(0), "--dry-run", "--json"))
    text = " ".join(said("trim", ID.format(0), "--dry-run", columns=columns).split())
    assert plan["cuts"]
    assert all(cut["rationale"].partition(", more than ")[0] in text for cut in plan["cuts"])


def test_doctor_shows_problems_first(said, isolated_home):
    """Then notes, then what is in order, each with paths as people write them."""
    settings = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  thresholds: {cauton: 0.6}\n", encoding="utf-8")
    (isolated_home / ".claude").mkdir()
    text = " ".join(said("doctor", code=1).split())
    places = [text.index(title) for title in ("1 problem to fix:", "Worth knowing:", "In order:")]
    assert places == sorted(places)
    assert text.index("thresholds.cauton is not a setting") < places[1]
    assert "→ leftoff install claude" in text[places[1] : places[2]]
    assert "~/.config/leftoff" in text[places[2] :]
    assert str(isolated_home) not in text


def test_a_session_that_has_no_reply_yet_is_not_a_wall_of_question_marks(isolated_home, said):
    """Also as the latest session of the project."""
    path = isolated_home / ".claude" / "projects" / "-work" / f"{ID.format(0)}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), Story(project=str(Path.cwd())).asked("hello").script(), path)
    for arguments in ([], ["status"], ["sessions"]):
        assert "?" not in said(*arguments)


@pytest.mark.parametrize("columns", [80, 120])
def test_matches_fit_on_one_line_and_show_what_was_found(sessions, said, columns):
    """The part around the match is shown, wherever in a long text it is."""
    lines = said("search", "ninety", columns=columns).splitlines()
    assert max(map(output.columns_of, lines)) <= columns
    assert any("ninety" in line for line in lines if line.startswith("     line"))


def test_a_mistyped_id_is_answered_with_the_nearest(sessions, capsys):
    """Words are sent to the search instead."""
    assert run(["show", "0b54f8aa-6d0c-4c7b-9d57-3f6c9d9a3b01"]) == 1
    assert f"Did you mean {ID.format(1)}?" in capsys.readouterr().err
    assert run(["show", "billing"]) == 1
    assert "leftoff search billing" in capsys.readouterr().err
    assert run(["show", "dddddddd"]) == 1
    assert "leftoff sessions" in capsys.readouterr().err


def completions(*words):
    """What the Tab key offers after these words."""
    complete = ShellComplete(cli, {}, "leftoff", "_LEFTOFF_COMPLETE")
    return [item.value for item in complete.get_completions([*words[:-1]], words[-1])]


def test_the_shell_completes_commands_agents_sessions_and_settings(sessions):
    """Session ids are as short as they can be."""
    assert completions("sm") == ["smart-trim"]
    assert completions("log", "sa") == ["save"]
    assert {"claude", "codex"} <= {*completions("install", "")}
    assert completions("show", "lat") == ["latest"]
    assert {*completions("show", "0b54")} == {ID.format(number) for number in range(3)}
    assert completions("show", "zz") == []
    assert completions("config", "thresholds.c") == ["thresholds.caution", "thresholds.critical"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell, said):
    assert "_LEFTOFF_COMPLETE" in said("completion", shell)
    assert json.loads(said("completion", shell, "--json"))["shell"] == shell


def test_the_version_names_the_commit(said):
    """This test runs in a checkout, or in a package that was built from one."""
    assert re.fullmatch(r"leftoff \S+ \(commit [0-9a-f]{9}\)\n", said("--version"))


def test_short_ids_tell_sessions_of_one_minute_apart():
    """The ids of some agents begin with the time."""
    one, other = "01a1e47c-aa3a-7000-8000-000000000001", "01a1e47c-5f81-7000-8000-000000000002"
    assert short_id(one) != short_id(other)


def test_every_summary_fits(said):
    """Beside the longest name, at 80 columns."""
    for name, entry in COMMANDS.items():
        assert len(entry.summary) <= 64, name
        assert isinstance(cli.get_command(click.Context(cli), name), click.Command)


def test_the_levels_of_smart_trim_fit(said, sessions):
    """Each level has one line, and the one of this plan is marked; where none frees anything, there is one sentence."""
    assert said("smart-trim", ID.format(0), "--dry-run", code=3).count("\n") == 1
    story = Story(session_id=ID.format(9), project=str(Path.cwd()), model="claude-sonnet-4-5").asked(PROMPT)
    for step in range(12):
        story = story.replied(
            f"Run {step}.", call("Bash", {"command": "make test"}, f"line of run {step}\n" * 900)
        )
        story = story.replied("Done.").asked("And once more, please.")
    write_transcript(
        claude.here(), story.replied("Done.", used=150_000).script(), sessions / f"{ID.format(9)}.jsonl"
    )
    text = said("smart-trim", ID.format(9), "--dry-run")
    listed = [line for line in text.splitlines() if line.startswith("  --level ")]
    assert [line.split()[1] for line in listed] == ["careful", "normal", "strong"]
    assert [line.endswith("<- this plan") for line in listed] == [False, True, False]
    assert "--level " not in said("smart-trim", ID.format(9), "--dry-run", "--keep", "1"), (
        "of whole levels, not of this plan"
    )
    assert max(map(len, text.splitlines())) <= 80
