"""status, sessions, show and doctor, as a person or a script calls them."""

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.cli.main import run
from leftoff.flows import bench_speed
from leftoff.testing.builders import Story, call

CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"


def said(capsys, *arguments, code=0):
    assert run([*arguments]) == code
    return capsys.readouterr().out


def test_status_has_the_shape_that_scripts_rely_on(two_sessions, capsys):
    """Interface: the keys and their meaning."""
    found = json.loads(said(capsys, "status", "--json"))
    assert found["session_id"] == CLAUDE_ID
    assert (found["agent"], found["transcript"], found["project"]) == (
        "claude",
        str(two_sessions[0]),
        str(Path.cwd()),
    )
    assert found["model"] == "claude-sonnet-4-5"
    context = found["context"]
    assert context["window_tokens"] == 200_000
    assert context["total_budget"] == 167_000
    assert 83_500 <= context["used_tokens"] < 84_000
    assert context["remaining_tokens"] == 167_000 - context["used_tokens"]
    assert context["percentage_used"] == pytest.approx(context["used_tokens"] / 1_670, abs=0.1)
    assert (context["level"], context["basis"], context["window_basis"]) == ("ok", "estimated", "table")
    assert found["advice"] == "Nothing to do."


def test_status_is_drawn_with_gauge_level_and_advice(two_sessions, capsys):
    """For a person in a hurry."""
    out = said(capsys, "status")
    assert CLAUDE_ID in out
    assert "█" in out
    assert "level ok" in out
    assert "Nothing to do." in out


def test_unknown_usage_is_shown_as_unknown(home, capsys):
    """Null for scripts, a question mark for people."""
    home.claude(Story(project=str(Path.cwd())).asked("hello"))
    found = json.loads(said(capsys, "status", "--json"))["context"]
    assert (found["used_tokens"], found["percentage_used"], found["level"]) == (None, None, None)
    assert found["basis"] == "unknown"
    out = said(capsys, "status")
    assert "? of" in out
    assert "level unknown" in out


def test_a_forecast_counts_turns(home, capsys):
    """Five turns of 10,000 tokens each."""
    story = Story(project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(1, 7):
        story.asked(f"part {turn}").replied("ok", used=20_000 + turn * 10_000)
    home.claude(story)
    left = json.loads(said(capsys, "status", "--json"))["turns_left"]
    assert left == {"caution": 4, "warning": 7, "auto_pause": 8, "critical": 8}


def test_a_broken_setting_is_named_before_anything_is_measured(two_sessions, capsys, monkeypatch):
    """Exit 1, with the variable and what it takes."""
    monkeypatch.setenv("LEFTOFF_THRESHOLDS_WARNING", "much")
    assert run(["status"]) == 1
    assert "LEFTOFF_THRESHOLDS_WARNING" in capsys.readouterr().err


def test_sessions_are_listed_with_numbers_that_can_be_used(two_sessions, capsys):
    """The number of the list is a SESSION."""
    out = said(capsys, "sessions")
    assert "Fix the login" in out
    assert "Write docs" in out
    assert json.loads(said(capsys, "status", "1", "--json"))["session_id"] == CODEX_ID


def test_the_list_of_sessions_as_json(two_sessions, capsys):
    """A list of statuses with what a list knows besides."""
    first = json.loads(said(capsys, "sessions", "--json", "--limit", "1"))[0]
    assert first["first_prompt"] == "Write docs"
    assert first["size_bytes"] == two_sessions[1].stat().st_size
    assert first["modified_at"].endswith("Z")
    assert first["parent"] is None
    assert set(first["context"]) >= {"used_tokens", "total_budget", "level", "basis"}


def test_no_sessions_is_said(capsys):
    """With what to type."""
    assert "leftoff doctor" in said(capsys, "sessions")
    assert json.loads(said(capsys, "sessions", "--json")) == []


def test_show_reads_like_a_conversation(two_sessions, capsys):
    """Prompts, replies, calls and answers with their lines; bookkeeping left out."""
    out = said(capsys, "show", "latest")
    assert "Fix the login" in out
    assert "→ Bash" in out
    assert "← 1 passed" in out
    assert "  side  " not in out


def test_show_at_a_line_shows_what_stands_there(two_sessions, capsys):
    """Also bookkeeping; beyond the end is wrong usage."""
    shown = json.loads(said(capsys, "show", "latest", "--at", "1", "--json"))
    assert shown[0]["line"] == 1
    assert run(["show", "latest", "--at", "99999"]) == 2
    assert "is not among them" in capsys.readouterr().err


def test_show_shortens_long_results_unless_told_not_to(home, capsys):
    """Head and tail, with how much lies between."""
    long = "\n".join(f"row {number}" for number in range(3_000))
    home.claude(Story(project=str(Path.cwd())).asked("go").replied("", call("shell", {"command": "x"}, long)))
    short = said(capsys, "show")
    assert "row 1500\n" not in short
    assert "characters …" in short
    assert "row 2999" in short
    assert "row 1500\n" in said(capsys, "show", "--full")


def test_escape_sequences_in_a_transcript_reach_no_terminal(home, capsys):
    """They are shown."""
    home.claude(Story(project=str(Path.cwd())).asked("go").replied("a\x1b]0;evil\x07\x1b[2Jb"))
    out = said(capsys, "show")
    assert "\x1b" not in out
    assert "␛]0;evil␇␛[2Jb" in out


def test_a_compaction_is_shown_with_its_numbers(home, capsys):
    """What it took away."""
    story = Story(project=str(Path.cwd())).asked("go").replied("full", used=160_000).compacted("THE SUMMARY")
    home.claude(story)
    out = said(capsys, "show")
    assert "compaction (auto): 160,000 → 10,000 tokens" in out
    assert "THE SUMMARY" in out


def test_doctor_tells_what_it_understands_of_a_transcript(two_sessions, capsys):
    """Counts by kind, and the lines that it does not understand."""
    with two_sessions[0].open("ab") as file:
        file.write(b'{"type":"from-the-future"}\n{"torn')
    out = said(capsys, "doctor", CLAUDE_ID)
    lines = two_sessions[0].read_bytes().count(b"\n")
    assert f"line {lines}: unknown type from-the-future" in out or f"line {lines}:" in out
    assert f"line {lines + 1}: torn" in out
    found = json.loads(said(capsys, "doctor", CLAUDE_ID, "--json"))
    assert found["kinds"]["unknown"] == found["kinds"]["broken"] == 1
    assert found["live_messages"] >= 3


def test_the_shape_of_a_transcript_holds_none_of_the_users_words(home, capsys):
    """Keys and types alone; a key that is no name is a value in disguise."""
    story = (
        Story(project="/secret/folder")
        .asked("SECRETWORD")
        .replied("", call("shell", {"command": "SECRETCMD"}, "x"))
    )
    path = home.claude(story)
    with path.open("ab") as file:
        file.write(json.dumps({"type": "system", "tracked": {"/secret/a b.py": 1}}).encode() + b"\n")
    for arguments in ([], ["--json"]):
        out = said(capsys, "doctor", story.session_id, "--shape", *arguments)
        assert "SECRET" not in out
        assert "/secret" not in out
        assert "user.message.content" in out


def test_leftoff_alone_shows_this_project(two_sessions, capsys):
    """The latest session of this project, its gauge, and what to type next."""
    out = said(capsys)
    assert str(Path.cwd()) in out
    assert "Fix the login" in out
    assert "leftoff show" in out
    found = json.loads(said(capsys, "--json"))
    assert found["latest"]["session_id"] == CLAUDE_ID
    assert found["sessions"] == 1


def test_leftoff_alone_in_a_new_project_says_so(capsys):
    """And what to type."""
    assert "No session of any agent here yet" in said(capsys)
    assert json.loads(said(capsys, "--json"))["latest"] is None


def test_measure_is_the_gauge_for_a_library(two_sessions):
    """The same number as the command's."""
    metrics = leftoff.measure(leftoff.open_session(CODEX_ID))
    assert metrics.used_tokens == 9_000


def test_doctor_finds_this_house_in_order(capsys):
    """Nothing broken in a fresh home."""
    findings = json.loads(said(capsys, "doctor", "--json"))
    assert {finding["state"] for finding in findings} <= {"ok", "note"}
    assert "leftoff" in said(capsys, "doctor")


def test_doctor_names_a_mistake_in_the_settings_and_how_to_mend_it(own_world, capsys):
    """With file, line and the nearest known key; a project's mistakes are notes, one's own are broken."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  thresholds:\n    warnin: 0.8\n", encoding="utf-8")
    Path(".leftoff").mkdir()
    Path(".leftoff/configuration.yaml").write_text("context_management:\n  storage: evil\n", encoding="utf-8")
    out = json.loads(said(capsys, "doctor", "--json", code=1))
    states = {finding["words"]: finding["state"] for finding in out if finding["what"] == "settings"}
    assert any(
        f"{mine}:3: thresholds.warnin" in words and state == "broken" for words, state in states.items()
    )
    assert any("storage may not be set" in words and state == "note" for words, state in states.items())
    told = json.loads(said(capsys, "doctor", "--config", "--json", code=1))
    assert len(told["mistakes"]) == 2
    assert "not used: " in said(capsys, "doctor", "--config", code=1)


def test_doctor_shows_where_each_value_came_from(own_world, capsys, monkeypatch):
    """Default, file with line, environment."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  trim:\n    threshold: 500\n", encoding="utf-8")
    monkeypatch.setenv("LEFTOFF_RESTORE_ON_STARTUP", "off")
    settings = {
        each["key"]: (each["value"], each["origin"])
        for each in json.loads(said(capsys, "doctor", "--config", "--json"))["settings"]
    }
    assert settings["trim.threshold"] == (500, f"user file {mine}:3")
    assert settings["restore.on_startup"] == ("off", "environment LEFTOFF_RESTORE_ON_STARTUP")
    assert settings["budget_total"] == (200_000, "default")


def test_doctor_sees_a_link_in_the_place_of_the_projects_folder(tmp_path, capsys):
    """It may lead anywhere."""
    Path(".git").mkdir()
    Path(".leftoff").symlink_to(tmp_path)
    findings = json.loads(said(capsys, "doctor", "--json", code=1))
    assert any(finding["what"] == "project" and finding["state"] == "broken" for finding in findings)


def test_the_demo_plays_every_scene(capsys):
    """Each with something to say, and a way to go on."""
    scenes = json.loads(said(capsys, "demo", "--json"))
    assert all(scene["lines"] for scene in scenes)
    text = json.dumps(scenes, ensure_ascii=False)
    for words in ("Caution", "Warning", "Auto-Pause", "Critical", "compacts", "[REDACTED:"):
        assert words in text
    assert "leftoff sessions" in said(capsys, "demo")


def test_the_bench_shows_ratios_beside_their_goals(capsys, monkeypatch):
    """And tells whether each was reached in this run. All measures run, on next to nothing: `make check` has the real sizes."""
    tiny = bench_speed.Size(
        rounds=1, large_bytes=1_200_000, small_bytes=100_000, sessions=10, library_bytes=200_000
    )
    monkeypatch.setattr(bench_speed, "QUICK", tiny)
    rows = json.loads(said(capsys, "bench", "speed", "--quick", "--json"))
    assert all(row["ratio"] > 0 and row["limit"] > 0 for row in rows)
    assert {"locked append", "redaction"} <= {row["what"] for row in rows}


def test_list_glance_and_status_tell_the_same(home, capsys):
    """A large result after the last reply counts everywhere."""
    story = Story(project=str(Path.cwd()), model="claude-sonnet-4-5").asked("go")
    story.replied("", call("read", {"path": "/a"}, "word " * 40_000), used=90_000)
    home.claude(story)
    levels = [
        json.loads(said(capsys, "status", "--json"))["context"],
        json.loads(said(capsys, "--json"))["latest"]["context"],
        json.loads(said(capsys, "sessions", "--json"))[0]["context"],
    ]
    assert {each["level"] for each in levels} == {"critical"}
    assert {each["basis"] for each in levels} == {"estimated"}


def test_a_foreign_file_teaches_nothing_about_compactions(home, tmp_path, capsys):
    """Looking at somebody's transcript does not move the gauge of one's own sessions."""
    story = (
        Story(model="claude-sonnet-4-5")
        .asked("go")
        .replied("full", used=50_000)
        .compacted("short", after=5_000)
    )
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_bytes(home.claude(story).read_bytes())
    home.home.joinpath(".claude/projects/-slug", f"{story.session_id}.jsonl").unlink()
    said(capsys, "status", str(foreign), "--json")
    own = Story(
        session_id="66666666-6666-4666-8666-666666666666", project=str(Path.cwd()), model="claude-sonnet-4-5"
    )
    home.claude(own.asked("go").replied("ok", used=60_000))
    assert json.loads(said(capsys, "status", "--json"))["context"]["total_budget"] == 167_000


def test_the_shape_hides_types_and_keys_that_read_like_values(home, capsys):
    """Whatever somebody wrote into a type or a key."""
    path = home.claude(Story().asked("x").replied("y"))
    with path.open("ab") as file:
        file.write(json.dumps({"type": "Dear John 42", "answers2": {"4711": 1}}).encode() + b"\n")
    out = said(capsys, "doctor", str(path), "--shape")
    assert "John" not in out
    assert "4711" not in out
    assert "<type>.<key>.<key>: int" in out


def test_a_fork_whose_parent_is_gone_is_named(home, capsys):
    """What it inherits is missing, and doctor says so."""
    path = home.codex(Story(session_id=CODEX_ID).asked("x").replied("y"))
    lines = path.read_bytes().splitlines(keepends=True)
    meta = json.loads(lines[0])
    meta["payload"]["forked_from_id"] = "01a1e0be-0000-7000-8000-000000000000"
    meta["payload"]["history_base"] = {
        "thread_id": "01a1e0be-0000-7000-8000-000000000000",
        "end_ordinal_exclusive": 5,
    }
    path.write_bytes(json.dumps(meta).encode() + b"\n" + b"".join(lines[1:]))
    assert "which is not here: what it inherits is missing" in said(capsys, "doctor", str(path))


def test_doctor_tells_where_it_looked(two_sessions, own_world, capsys):
    """Each agent's home and what is in it."""
    findings = {each["what"]: each["words"] for each in json.loads(said(capsys, "doctor", "--json"))}
    assert findings["Claude Code"] == f"{own_world / '.claude'}: 1 transcripts"
    assert findings["Codex"] == f"{own_world / '.codex'}: 1 transcripts"
