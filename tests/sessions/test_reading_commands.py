"""status, sessions, show and doctor, as a person or a script calls them."""

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.cli.main import run
from leftoff.testing.builders import Story, call

CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"


def output_of(capsys, *arguments, code=0):
    assert run([*arguments]) == code
    return capsys.readouterr().out


def test_status_has_the_shape_that_scripts_rely_on(two_sessions, capsys):
    found = json.loads(output_of(capsys, "status", "--json"))
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
    assert found["advice"] == "Plenty of room."


def test_status_is_drawn_with_gauge_level_and_advice(two_sessions, capsys):
    out = output_of(capsys, "status")
    assert CLAUDE_ID[:8] in out
    assert "█" in out
    assert "70       85 90 95 %" in out
    assert "Plenty of room." in out


def test_unknown_usage_is_shown_as_unknown(home, capsys):
    """Unknown usage is null in JSON and a sentence in text."""
    home.claude(Story(project=str(Path.cwd())).asked("hello"))
    found = json.loads(output_of(capsys, "status", "--json"))["context"]
    assert (found["used_tokens"], found["percentage_used"], found["level"]) == (None, None, None)
    assert found["basis"] == "unknown"
    out = output_of(capsys, "status")
    assert "No reply to measure yet" in out
    assert "?" not in out


def test_a_forecast_counts_turns(home, capsys):
    """The session has five turns of 10,000 tokens each."""
    story = Story(project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(1, 7):
        story.asked(f"part {turn}").replied("ok", used=20_000 + turn * 10_000)
    home.claude(story)
    left = json.loads(output_of(capsys, "status", "--json"))["turns_left"]
    assert left == {"caution": 4, "warning": 7, "auto_pause": 8, "critical": 8}


def test_a_broken_setting_is_named_before_anything_is_measured(two_sessions, capsys, monkeypatch):
    """The exit code is 1, and the error names the variable and what it takes."""
    monkeypatch.setenv("LEFTOFF_THRESHOLDS_WARNING", "much")
    assert run(["status"]) == 1
    assert "LEFTOFF_THRESHOLDS_WARNING" in capsys.readouterr().err


def test_a_number_of_the_list_can_be_used_as_session(two_sessions, capsys):
    out = output_of(capsys, "sessions")
    assert "Fix the login" in out
    assert "Write docs" in out
    assert json.loads(output_of(capsys, "status", "1", "--json"))["session_id"] == CODEX_ID


def test_the_list_of_sessions_as_json(two_sessions, capsys):
    """Each entry is a status with some fields that only a list has."""
    first = json.loads(output_of(capsys, "sessions", "--json", "--limit", "1"))[0]
    assert first["first_prompt"] == "Write docs"
    assert first["size_bytes"] == two_sessions[1].stat().st_size
    assert first["modified_at"].endswith("Z")
    assert first["parent"] is None
    assert set(first["context"]) >= {"used_tokens", "total_budget", "level", "basis"}


def test_an_empty_list_says_what_to_type(capsys):
    assert "leftoff doctor" in output_of(capsys, "sessions", code=3)
    assert json.loads(output_of(capsys, "sessions", "--json", code=3)) == []


def test_show_reads_like_a_conversation(two_sessions, capsys):
    """Prompts, replies, calls and answers have their line numbers; bookkeeping is left out."""
    out = output_of(capsys, "show", "latest")
    assert "Fix the login" in out
    assert "→ Bash" in out
    assert "← 1 passed" in out
    assert "  side  " not in out


def test_show_at_a_line_includes_bookkeeping(two_sessions, capsys):
    """A line beyond the end is wrong usage."""
    data = json.loads(output_of(capsys, "show", "latest", "--at", "1", "--json"))
    assert data[0]["line"] == 1
    assert run(["show", "latest", "--at", "99999"]) == 2
    assert "is not among them" in capsys.readouterr().err


def test_show_shortens_long_results_unless_full_is_asked_for(home, capsys):
    long = "\n".join(f"row {number}" for number in range(3_000))
    home.claude(Story(project=str(Path.cwd())).asked("go").replied("", call("shell", {"command": "x"}, long)))
    short = output_of(capsys, "show")
    assert "row 1500\n" not in short
    assert "characters …" in short
    assert "row 2999" in short
    assert "row 1500\n" in output_of(capsys, "show", "--full")


def test_escape_sequences_in_a_transcript_reach_no_terminal(home, capsys):
    """Escape sequences are shown as visible characters."""
    home.claude(Story(project=str(Path.cwd())).asked("go").replied("a\x1b]0;evil\x07\x1b[2Jb"))
    out = output_of(capsys, "show")
    assert "\x1b" not in out
    assert "␛]0;evil␇␛[2Jb" in out


def test_a_compaction_is_shown_with_its_numbers(home, capsys):
    story = Story(project=str(Path.cwd())).asked("go").replied("full", used=160_000).compacted("THE SUMMARY")
    home.claude(story)
    out = output_of(capsys, "show")
    assert "compaction (auto): 160,000 → 10,000 tokens" in out
    assert "THE SUMMARY" in out


def test_doctor_counts_the_records_of_a_transcript(two_sessions, capsys):
    """Lines that doctor does not understand are named."""
    with two_sessions[0].open("ab") as file:
        file.write(b'{"type":"from-the-future"}\n{"torn')
    out = output_of(capsys, "doctor", CLAUDE_ID)
    lines = two_sessions[0].read_bytes().count(b"\n")
    assert f"line {lines}: unknown type from-the-future" in out or f"line {lines}:" in out
    assert f"line {lines + 1}: torn" in out
    found = json.loads(output_of(capsys, "doctor", CLAUDE_ID, "--json"))
    assert found["kinds"]["unknown"] == found["kinds"]["broken"] == 1
    assert found["live_messages"] >= 3


def test_the_shape_of_a_transcript_holds_no_values(home, capsys):
    """Only keys and types appear, and a key that is not an identifier counts as a value."""
    story = (
        Story(project="/secret/folder")
        .asked("SECRETWORD")
        .replied("", call("shell", {"command": "SECRETCMD"}, "x"))
    )
    path = home.claude(story)
    with path.open("ab") as file:
        file.write(json.dumps({"type": "system", "tracked": {"/secret/a b.py": 1}}).encode() + b"\n")
    for arguments in ([], ["--json"]):
        out = output_of(capsys, "doctor", story.session_id, "--shape", *arguments)
        assert "SECRET" not in out
        assert "/secret" not in out
        assert "user.message.content" in out


def test_leftoff_alone_shows_this_project(two_sessions, capsys):
    out = output_of(capsys)
    assert str(Path.cwd()) in out
    assert "Fix the login" in out
    assert "leftoff show" in out
    found = json.loads(output_of(capsys, "--json"))
    assert found["latest"]["session_id"] == CLAUDE_ID
    assert found["sessions"] == 1


def test_leftoff_alone_in_a_new_project_says_so(capsys):
    said = output_of(capsys)
    assert "no sessions yet" in said
    assert "leftoff demo" in said
    assert json.loads(output_of(capsys, "--json"))["latest"] is None


def test_measure_gives_the_same_number_as_status(two_sessions):
    metrics = leftoff.measure(leftoff.open_session(CODEX_ID))
    assert metrics.used_tokens == 9_000


def test_doctor_finds_nothing_broken_in_a_fresh_home(capsys):
    findings = json.loads(output_of(capsys, "doctor", "--json"))
    assert {finding["state"] for finding in findings} <= {"ok", "note"}
    assert "leftoff" in output_of(capsys, "doctor")


def test_doctor_names_a_mistake_in_the_settings_and_how_to_fix_it(isolated_home, capsys):
    """The finding has the file, line and nearest known key; mistakes in a project's file are only notes."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  thresholds:\n    warnin: 0.8\n", encoding="utf-8")
    Path(".leftoff").mkdir()
    Path(".leftoff/configuration.yaml").write_text("context_management:\n  storage: evil\n", encoding="utf-8")
    out = json.loads(output_of(capsys, "doctor", "--json", code=1))
    states = {finding["detail"]: finding["state"] for finding in out if finding["what"] == "settings"}
    assert any(
        f"{mine}:3: thresholds.warnin" in words and state == "broken" for words, state in states.items()
    )
    assert any("storage may not be set" in words and state == "note" for words, state in states.items())
    data = json.loads(output_of(capsys, "config", "--all", "--json", code=1))
    assert len(data["mistakes"]) == 2
    assert "not used: " in output_of(capsys, "config", "--all", code=1)


def test_doctor_shows_where_each_value_came_from(isolated_home, capsys, monkeypatch):
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  trim:\n    threshold: 500\n", encoding="utf-8")
    monkeypatch.setenv("LEFTOFF_RESTORE_ON_STARTUP", "off")
    settings = {
        each["key"]: (each["value"], each["origin"])
        for each in json.loads(output_of(capsys, "config", "--all", "--json"))["settings"]
    }
    assert settings["trim.threshold"] == (500, f"user file {mine}:3")
    assert settings["restore.on_startup"] == ("off", "environment LEFTOFF_RESTORE_ON_STARTUP")
    assert settings["budget_total"] == (200_000, "default")


def test_doctor_reports_a_symbolic_link_in_place_of_the_project_folder(tmp_path, capsys):
    Path(".git").mkdir()
    Path(".leftoff").symlink_to(tmp_path)
    findings = json.loads(output_of(capsys, "doctor", "--json", code=1))
    assert any(finding["what"] == "project" and finding["state"] == "broken" for finding in findings)


def test_the_demo_plays_every_scene(capsys):
    scenes = json.loads(output_of(capsys, "demo", "--json"))
    assert all(scene["lines"] for scene in scenes)
    text = json.dumps(scenes, ensure_ascii=False)
    for words in ("Caution", "Warning", "Auto-Pause", "Critical", "compacts", "[REDACTED:"):
        assert words in text


def test_the_demo_is_short_and_ends_with_what_to_type(monkeypatch, capsys):
    """In a pipe of 80 columns it has less than 60 lines; the gauge is drawn before each warning and after the compaction."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = output_of(capsys, "demo").splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) < 80
    assert [line.split()[1] for line in lines if "█" in line] == ["73", "87", "90", "96", "13"]
    assert [line.split()[:2] for line in lines[-3:]] == [
        ["leftoff", "install"],
        ["leftoff", "sessions"],
        ["leftoff", "report"],
    ]


def test_the_demo_says_that_its_session_is_invented(capsys):
    assert "An invented session" in output_of(capsys, "demo")


def test_list_overview_and_status_agree(home, capsys):
    """A large result after the last reply counts everywhere."""
    story = Story(project=str(Path.cwd()), model="claude-sonnet-4-5").asked("go")
    story.replied("", call("read", {"path": "/a"}, "word " * 40_000), used=90_000)
    home.claude(story)
    levels = [
        json.loads(output_of(capsys, "status", "--json"))["context"],
        json.loads(output_of(capsys, "--json"))["latest"]["context"],
        json.loads(output_of(capsys, "sessions", "--json"))[0]["context"],
    ]
    assert {each["level"] for each in levels} == {"critical"}
    assert {each["basis"] for each in levels} == {"estimated"}


def test_a_file_outside_the_agents_home_teaches_nothing_about_compactions(home, tmp_path, capsys):
    """Looking at another user's transcript does not move the gauge of one's own sessions."""
    story = (
        Story(model="claude-sonnet-4-5")
        .asked("go")
        .replied("full", used=50_000)
        .compacted("short", after=5_000)
    )
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_bytes(home.claude(story).read_bytes())
    home.home.joinpath(".claude/projects/-slug", f"{story.session_id}.jsonl").unlink()
    output_of(capsys, "status", str(foreign), "--json")
    own = Story(
        session_id="66666666-6666-4666-8666-666666666666", project=str(Path.cwd()), model="claude-sonnet-4-5"
    )
    home.claude(own.asked("go").replied("ok", used=60_000))
    assert json.loads(output_of(capsys, "status", "--json"))["context"]["total_budget"] == 167_000


def test_the_shape_hides_types_and_keys_that_read_like_values(home, capsys):
    path = home.claude(Story().asked("x").replied("y"))
    with path.open("ab") as file:
        file.write(json.dumps({"type": "Dear John 42", "answers2": {"4711": 1}}).encode() + b"\n")
    out = output_of(capsys, "doctor", str(path), "--shape")
    assert "John" not in out
    assert "4711" not in out
    assert "<type>.<key>.<key>: int" in out


def test_doctor_names_a_fork_whose_parent_is_missing(home, capsys):
    path = home.codex(Story(session_id=CODEX_ID).asked("x").replied("y"))
    lines = path.read_bytes().splitlines(keepends=True)
    meta = json.loads(lines[0])
    meta["payload"]["forked_from_id"] = "01a1e0be-0000-7000-8000-000000000000"
    meta["payload"]["history_base"] = {
        "thread_id": "01a1e0be-0000-7000-8000-000000000000",
        "end_ordinal_exclusive": 5,
    }
    path.write_bytes(json.dumps(meta).encode() + b"\n" + b"".join(lines[1:]))
    assert "which is not here: what it inherits is missing" in output_of(capsys, "doctor", str(path))


def test_doctor_lists_each_agents_home(two_sessions, isolated_home, capsys):
    findings = {each["what"]: each["detail"] for each in json.loads(output_of(capsys, "doctor", "--json"))}
    assert findings["Claude Code"] == f"{isolated_home / '.claude'}: 1 transcript"
    assert findings["Codex"] == f"{isolated_home / '.codex'}: 1 transcript"
