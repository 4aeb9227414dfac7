"""trim, smart-trim, rollover, expand, untrim, lineage, export, advise and run as they are typed."""

import json
import re
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.platform import paths
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

FIRST = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
LONG = "the ledger keeps its amounts in cents\n" * 700


@pytest.fixture
def source(isolated_home):
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(12):
        story.asked(f"Step {turn}").replied(
            "Reading.",
            call("shell", {"command": f"cat {turn}"}, f"{turn} {LONG}"),
            used=100_000 + turn * 5_000,
        ).replied("Seen.", used=101_000 + turn * 5_000)
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{FIRST}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    return path


@pytest.fixture
def typed(capsys):
    """Types a command; gives exit code, what was said, and its JSON where that was asked for."""

    def type_it(*arguments):
        code = run(arguments)
        output = capsys.readouterr()
        return code, json.loads(output.out) if "--json" in arguments else output.out + output.err

    return type_it


SHAPE = [
    "session_id",
    "output_file",
    "parent_file",
    "tools_trimmed",
    "tokens_saved",
    "context_saved_percent",
    "percentage_before",
    "percentage_after",
    "resume_command",
    "nothing_to_trim",
]


@pytest.mark.parametrize("command", ["trim", "smart-trim", "rollover"])
def test_scripts_get_the_shape_they_rely_on(source, typed, command):
    """The exit code is 0 if a copy was written and 3 if there was nothing to trim."""
    code, output = typed(command, "--json")
    assert [*output] == SHAPE
    assert code == (3 if output["nothing_to_trim"] else 0)
    assert (output["session_id"] is None) == output["nothing_to_trim"]


def test_what_could_not_be_copied_is_named(isolated_home, typed, tmp_path):
    """Every command that writes a copy says what is missing, why, and that nothing is lost."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    story.asked("Go").delegated("Look around", "Nothing")
    for turn in range(4):
        story.asked(f"Step {turn}").replied("Reading.", call("shell", {"command": f"cat {turn}"}, LONG))
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{FIRST}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    (wrote,) = path.with_suffix("").glob("subagents/*.jsonl")
    copy = typed("trim", FIRST, "--json")[1]
    for own in (wrote, Path(copy["output_file"]).with_suffix("") / "subagents" / wrote.name):
        own.symlink_to(own.rename(tmp_path / own.parent.parent.name))
    for command in (
        ("trim", FIRST, "--threshold", "900"),
        ("untrim", copy["session_id"]),
        ("resume", FIRST, "--how", "as-is", "--here"),
        ("resume", FIRST, "--how", "trim", "--here"),
    ):
        code, output = typed(*command)
        words = " ".join(output.split())
        assert code == 0
        assert "Not taken along: what a subagent wrote (" in words
        assert "a symbolic link is where a file should be" in words
        assert "Nothing is lost: it is still with the session that this one was copied from." in words


def test_a_dry_run_shows_what_and_why_and_how_much(source, typed):
    """The output is a table or JSON, and nothing is written."""
    code, output = typed("trim", "--dry-run", "--threshold", "500")
    assert code == 0
    assert "Nothing was written." in output
    assert re.search(r"\d+ cuts free about [\d,]+ tokens, \d+ % → \d+ % of the window\. Nothing", output)
    code, output = typed("trim", "--dry-run", "--json")
    assert output["cuts"][0]["rationale"]
    assert [*source.parent.iterdir()] == [source]
    code, output = typed("rollover", "--dry-run")
    assert "[SESSION LINEAGE]" in output
    assert "Nothing was written." in output
    assert typed("rollover", "--dry-run", "--json")[1]["strategy"] == "rollover"


def test_a_trim_says_what_to_type_next(source, typed):
    """The copy, what it freed, the command; then everything else that can be asked of it."""
    code, output = typed("trim", FIRST)
    assert code == 0
    session = re.search(r"Continue in it:\n  claude --resume (\S+)", output)[1]
    code, output = typed("lineage", session)
    assert output.splitlines()[0].startswith(f"{FIRST[:8]}  original  claude")
    assert f"└─ {session[:8]}  trimmed  claude" in output
    assert output.rstrip().endswith("<- this one")
    assert typed("lineage", session, "--json")[1]["chain"][0]["session_id"] == FIRST
    key = re.search(
        r"leftoff expand (\S+?)\]", (source.parent / f"{session}.jsonl").read_text(encoding="utf-8")
    )[1]
    assert typed("expand", key)[1].startswith("0 the ledger")
    assert typed("expand", key, "--json")[1]["line"] > 0
    code, output = typed("untrim", session, "--dry-run")
    assert "would be back" in output
    code, output = typed("untrim", session)
    assert code == 0
    assert re.search(
        r"\d+ originals are back, about [\d,]+ tokens, \d+ % → \d+ % of the window\. Wrote session", output
    )
    assert typed("untrim", session, "--json")[1]["left"] == []
    assert typed("untrim", FIRST)[0] == 3


def test_nothing_to_trim_is_reported_with_the_reason(source, typed):
    """Exit code 3 and the reason are given for a trim and for a dry run."""
    code, output = typed("trim", "--tools", "Nobody, Noone")
    assert (code, "Nothing to trim in session" in output) == (3, True)
    code, output = typed("trim", "--tools", "Nobody", "--dry-run")
    assert (code, "leftoff advise" in output) == (3, True)


def test_a_client_that_is_newer_than_leftoff_knows_is_refused_without_force(source, typed):
    """The reason is shown, and nothing is written."""
    text = source.read_text(encoding="utf-8").replace(
        '"version":"2.1.325"', '"version":"99.0.0","chainFromTheFuture":1'
    )
    source.write_text(text, encoding="utf-8")
    code, output = typed("trim")
    assert code == 1
    assert "--force" in output
    assert [*source.parent.iterdir()] == [source]
    assert typed("untrim")[0] == 1
    assert typed("rollover")[0] == 0  # it copies no line
    assert typed("trim", FIRST, "--force")[0] == 0


def test_a_session_is_exported(source, typed, tmp_path):
    """A session is exported to standard output, into a file, or as JSON."""
    assert typed("export", FIRST)[1].startswith(f"# Session {FIRST}")
    out = tmp_path / "a.md"
    assert typed("export", "--out", str(out))[1].startswith(f"Wrote {out} (")
    assert typed("export", "--out", str(out), "--json")[0] == 2
    assert typed("export", "--out", str(tmp_path / "b.md"), "--json")[1]["size_bytes"] == out.stat().st_size
    assert typed("export", "--chain", "--json")[1]["markdown"] == out.read_text(encoding="utf-8")


def test_advice_names_the_strategy_and_all_numbers(source, typed):
    code, output = typed("advise")
    assert code == 0
    data = typed("advise", "--json")[1]
    assert len(data["options"]) == 4
    assert f"> {data['how']}" in output
    assert f"leftoff {data['how']} {FIRST[:8]}" in output


def test_run_hands_flags_and_exit_code_through(typed, tmp_path, monkeypatch):
    """Flags that leftoff itself has, such as ``--help``, are passed to the agent."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" > called\nexit 5\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{paths.environment()['PATH']}")
    assert typed("run", "claude", "--model", "opus", "--help")[0] == 5
    assert Path("called").read_text(encoding="utf-8") == "--model opus --help\n"
    assert typed("run", "--json", "claude") == (5, {"agent": "claude", "exit_code": 5})


def test_a_session_whose_folder_is_gone_continues_in_this_one(source, typed):
    """The message says so, and names no command that cannot be typed."""
    source.write_text(
        source.read_text(encoding="utf-8").replace(str(Path.cwd()), "/gone/away"), encoding="utf-8"
    )
    code, output = typed("rollover", FIRST)
    assert (code, f"leftoff resume {FIRST} --here" in output) == (1, True)
    code, output = typed("trim", FIRST)
    assert code == 0
    assert "cd /gone" not in output
    session = re.search(r"leftoff resume (\S+) --here", output)[1]
    assert session != FIRST
    code, output = typed("resume", session, "--here")
    assert code == 0, output
    assert re.search(r"Continue in it:\n  claude --resume \S+", output)
    code, output = typed("resume", FIRST, "--here", "--json")
    assert code == 0, output
    assert output["way"]["folder"] == str(Path.cwd())
    assert Path(output["way"]["made"]["output_file"]).is_file()


@pytest.mark.parametrize("flags", [("--how", "as-is", "--here"), ("--how", "trim")])
def test_a_refusal_names_only_flags_that_there_are(source, typed, flags):
    """``resume`` has no flag ``--force``."""
    text = source.read_text(encoding="utf-8").replace(
        '"version":"2.1.325"', '"version":"99.0.0","chainFromTheFuture":1'
    )
    source.write_text(text, encoding="utf-8")
    code, output = typed("resume", FIRST, *flags)
    assert code == 1
    assert "not copied" in output
    assert "--force" not in output.replace(f"leftoff trim {FIRST} --force", "")


@pytest.mark.parametrize("flags", [("--tools", ""), ("--tools", " , "), ("--threshold", "0")])
def test_a_choice_of_nothing_is_a_wrong_flag(source, typed, flags):
    """An empty choice would otherwise mean everything."""
    code, output = typed("trim", *flags)
    assert code == 2, output
    assert [*source.parent.iterdir()] == [source]


def test_a_dry_run_leaves_nothing_behind(source, typed, isolated_home):
    """Not even the cache of a session list is written."""
    before = {*isolated_home.rglob("*")}
    for words in (FIRST, FIRST[:8], "latest"):
        for command in ("trim", "smart-trim", "rollover"):
            typed(command, words, "--dry-run", "--json")
    assert {*isolated_home.rglob("*")} == before


def test_a_dry_run_says_what_writing_would(isolated_home, typed):
    """The content is less, but what a copy says of itself is more: nothing to trim, whether it is only looked at or not."""
    story = Story(session_id=FIRST, project=str(Path.cwd()))
    story.asked("Go").replied("x" * 1_350, used=5_000)
    for turn in range(4):
        story.asked(f"And {turn}").replied("Seen.", used=6_000)
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{FIRST}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    wanted = ("trim", "--trim-assistant", "1", "--json")
    looked, plan = typed(*wanted, "--dry-run")
    wrote, written = typed(*wanted)
    assert (looked, plan["nothing_to_trim"]) == (wrote, written["nothing_to_trim"]) == (3, True)
    assert plan["cuts"] == []
    assert plan["kept"][-1] == "the copy would be no smaller than the session"


@pytest.mark.parametrize(
    "arguments", [("run", "nosuch"), ("install", "nosuch"), ("rollover", "--to", "nosuch")]
)
def test_an_agent_that_is_unknown_is_wrong_usage(source, typed, arguments):
    """The error lists the known agents."""
    code, output = typed(*arguments)
    assert code == 2
    assert "No agent is called 'nosuch'. There are: claude, codex" in output


def test_expand_prints_exactly_the_original_into_a_file(isolated_home, source, typed, capsys):
    """On a terminal escape sequences are made visible; a file gets every character, and no line end of ours."""
    original = "red: \x1b[31mfailed\x1b[0m\r\n\ttab \u202e and \x07 bell\n" * 200
    lines = [json.loads(line) for line in source.read_bytes().splitlines()]
    answer = next(line for line in lines if "toolUseResult" in line)
    answer["message"]["content"][0]["content"] = original
    del answer["toolUseResult"]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    _, said = typed("trim", str(source), "--json")
    key = re.search(r"leftoff expand (\S+?)\]", Path(said["output_file"]).read_text(encoding="utf-8"))[1]
    assert run(["expand", key]) == 0
    assert capsys.readouterr().out == original
