"""`leftoff log list|show|edit|cleanup|stats`: real files, real editors."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff import ResumeLogGenerator
from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.platform import paths
from leftoff.platform.register import Register
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

STATE = {
    "context_metrics": {"total_budget": 200_000, "used_tokens": 170_000},
    "mission_summary": "Add rate limits to the login",
    "accomplishments": ["Wrote src/limits.py"],
    "next_steps": ["Write the migration", "Deploy"],
    "critical_context": {"commands": ["make test"]},
}


FINISHED = {"metadata": {"ended": "finished"}}


@pytest.fixture
def generator():
    return ResumeLogGenerator({"cleanup": {"auto_cleanup": False}})


def save(generator, session_id, **fields):
    return generator.save_resume_log(generator.generate_from_session_state(session_id, STATE | fields))


def run_command(capsys, *arguments):
    """Run the command and return its exit code, standard output and standard error."""
    capsys.readouterr()
    code = run([*arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def as_json(capsys, *arguments):
    code, out, _ = run_command(capsys, *arguments, "--json")
    assert code == 0, out
    return json.loads(out)


def predecessor_log():
    golden = Path(__file__).parents[1] / "golden" / "wire" / "resume_log.v0.as_written.json"
    folder = Path(".claude-mpm/resume-logs")
    folder.mkdir(parents=True)
    session_id = json.loads(golden.read_bytes())["session_id"]
    (folder / f"session-{session_id}.json").write_bytes(golden.read_bytes())
    return session_id


# list


def test_an_empty_project_says_what_to_type(capsys):
    code, out, _ = run_command(capsys, "log", "list")
    assert code == 3
    assert "leftoff log save" in out
    assert run_command(capsys, "log", "list", "--json")[:2] == (3, "[]\n")
    assert not Path(".leftoff").exists()


def test_logs_are_listed_newest_first_with_where_they_came_from(capsys, generator):
    """Mission and next step of each; what a predecessor left comes last, under its name."""
    save(generator, "one")
    path = save(generator, "two", mission_summary="Second\nmission")
    old = predecessor_log()
    code, out, _ = run_command(capsys, "log", "list")
    assert code == 0
    assert out.index("two") < out.index("one") < out.index(old)
    assert "claude-mpm" in out
    first, second, third = as_json(capsys, "log", "list")
    assert [each["session_id"] for each in (first, second, third)] == ["two", "one", old]
    assert [each["origin"] for each in (first, second, third)] == ["leftoff", "leftoff", "claude-mpm"]
    assert first["markdown_file"] == str(path)
    assert first["next_step"] == "Write the migration"
    assert first["trouble"] is None
    assert third["markdown_file"] is None


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_narrow_list_keeps_session_and_mission(capsys, generator, monkeypatch, columns):
    """The rest gives way; nothing is wider than the terminal."""
    save(generator, "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11")
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run_command(capsys, "log", "list")
    assert max(map(len, out.splitlines())) <= columns
    text = "".join(out.split())
    for words in ("mission", "Add", "0b54f7aa"):
        assert words in text


def test_one_bad_log_is_listed_as_such(capsys, generator):
    """The others are listed as ever."""
    save(generator, "good")
    save(generator, "bad").with_suffix(".json").write_text("torn", encoding="utf-8")
    (generator.storage_dir / "session-text.md").write_text("# only text\n", encoding="utf-8")
    listed = {each["session_id"]: each for each in as_json(capsys, "log", "list")}
    assert set(listed) == {"good", "bad", "text"}
    assert "session-bad.json: not JSON" in listed["bad"]["trouble"]
    assert "only the text" in listed["text"]["trouble"]
    assert "cannot be read" in run_command(capsys, "log", "list")[1]


def test_text_from_logs_cannot_touch_the_terminal(capsys, generator):
    """Control characters are shown."""
    save(generator, "s", mission_summary="evil \x1b[2J\x1b]0;title\x07 text")
    for arguments in (["log", "list"], ["log", "show", "s"]):
        assert "\x1b" not in run_command(capsys, *arguments)[1]


# show


def test_a_log_is_shown_as_it_is(capsys, generator):
    """The latest, one by its id, one by the beginning of its id."""
    save(generator, "20251101_115000")
    path = save(generator, "20251102_090000")
    text = path.read_text(encoding="utf-8")
    for words in ([], ["latest"], ["20251102_090000"], ["20251102"]):
        code, out, _ = run_command(capsys, "log", "show", *words)
        assert code == 0
        assert out.strip() == text.strip()
    assert as_json(capsys, "log", "show")["mission_summary"] == STATE["mission_summary"]
    assert as_json(capsys, "log", "show")["origin"] == "leftoff"


def test_a_log_can_be_named_by_its_session(capsys, generator, isolated_home):
    """A path of a transcript, or the number of the list last shown."""
    session_id = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
    transcript = isolated_home / ".claude" / "projects" / "-slug" / f"{session_id}.jsonl"
    transcript.parent.mkdir(parents=True)
    write_transcript(
        claude.here(),
        Story(session_id=session_id, project=str(Path.cwd())).asked("Hi").replied("Ho").script(),
        transcript,
    )
    save(generator, "other")
    code, _, err = run_command(capsys, "log", "show", str(transcript))
    assert code == 1
    assert f"leftoff log save {session_id}" in err
    save(generator, session_id)
    run_command(capsys, "sessions")
    for words in (str(transcript), "1"):
        assert as_json(capsys, "log", "show", words)["session_id"] == session_id


def test_words_that_name_no_log_or_several_are_reported(capsys, generator):
    code, _, err = run_command(capsys, "log", "show")
    assert code == 3
    assert "leftoff log save" in err
    save(generator, "20251101_115000")
    save(generator, "20251101_120000")
    code, _, err = run_command(capsys, "log", "show", "2025110")
    assert code == 2
    assert "'2025110' names 2 logs" in err
    assert "\n  20251101_120000  written by leftoff, " in err
    for words in ("nobody", "202", "../../etc/passwd", "x" * 500):
        code, _, err = run_command(capsys, "log", "show", words)
        assert code == 1
        assert "leftoff log list" in err


def test_a_predecessor_s_log_is_shown(capsys):
    """The latest when there is no other, and in the words of today."""
    old = predecessor_log()
    assert as_json(capsys, "log", "show")["origin"] == "claude-mpm"
    assert f"# Session Resume Log: {old}" in run_command(capsys, "log", "show", old)[1]


def test_a_log_of_which_only_the_text_is_left_is_shown_as_text(capsys, generator):
    """With ``--json`` the error says that only the text is left."""
    save(generator, "s").with_suffix(".json").unlink()
    assert "Add rate limits" in run_command(capsys, "log", "show", "s")[1]
    code, out, _ = run_command(capsys, "log", "show", "s", "--json")
    assert code == 1
    assert "only the text" in json.loads(out)["error"]


# edit


def editor(tmp_path, monkeypatch, code):
    """An editor that does to the file what ``code`` says of ``text``."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n"
        "text = path.read_text(encoding='utf-8')\n" + code + "\npath.write_text(text, encoding='utf-8')\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")


def test_what_a_person_changes_is_kept_and_survives_later_saves(capsys, generator, tmp_path, monkeypatch):
    """The changes are in both files and in every later log of the session."""
    save(generator, "s")
    editor(
        tmp_path,
        monkeypatch,
        "text = text.replace('- Deploy', '- Deploy on Monday\\n- Tell Bob').replace('Wrote src/limits.py', '')",
    )
    code, out, _ = run_command(capsys, "log", "edit", "s")
    assert code == 0
    assert "Kept 3 changes" in out
    log = generator.load_resume_log("s")
    assert log.next_steps == ["Write the migration", "Deploy on Monday", "Tell Bob"]
    assert log.accomplishments == []
    assert "- Tell Bob" in run_command(capsys, "log", "show", "s")[1]
    assert as_json(capsys, "log", "list")[0]["edited"] is True

    path = save(
        generator,
        "s",
        next_steps=["Deploy", "Write docs"],
        accomplishments=["Wrote src/limits.py", "Migrated"],
    )
    log = generator.load_resume_log("s")
    assert log.next_steps == ["Deploy on Monday", "Tell Bob", "Write docs"]
    assert log.accomplishments == ["Migrated"]
    assert "- Tell Bob" in path.read_text(encoding="utf-8")


def test_editing_a_log_from_elsewhere_is_not_trusting_it(capsys, generator, tmp_path, monkeypatch):
    path = save(generator, "s")
    (paths.data_folder() / "register.jsonl").unlink()
    editor(tmp_path, monkeypatch, "text = text.replace('- Deploy', '- Deploy on Monday')")
    code, out, _ = run_command(capsys, "log", "edit", "s")
    assert code == 0
    assert "NOT TRUSTED: this machine did not write it." in out
    assert "- Deploy on Monday" in path.read_text(encoding="utf-8")
    for part in (path, path.with_suffix(".json")):
        assert Register(folder=paths.data_folder()).standing(part) == "foreign"


def test_edited_as_json(capsys, generator, tmp_path, monkeypatch):
    save(generator, "s")
    editor(tmp_path, monkeypatch, "text = text.replace('rate limits', 'limits').replace('170,000', '1')")
    done = as_json(capsys, "log", "edit")
    assert done["changes"] == 1
    assert done["not_kept"] == ["Context Metrics"]
    assert Path(done["markdown_file"]).is_file()


def test_a_change_of_what_is_computed_is_named(capsys, generator, tmp_path, monkeypatch):
    """Such a change is reported, and on its own it counts as no change."""
    save(generator, "s")
    editor(tmp_path, monkeypatch, "text = text.replace('170,000', '1')")
    code, _, err = run_command(capsys, "log", "edit")
    assert code == 3
    assert "Context Metrics is written again at each save" in err
    editor(tmp_path, monkeypatch, "text = text.replace('170,000', '1').replace('Deploy', 'Ship')")
    code, out, _ = run_command(capsys, "log", "edit")
    assert code == 0
    assert "Kept 1 change" in out
    assert "Not kept: Context Metrics" in out


def test_a_credential_that_a_person_writes_is_removed(generator, tmp_path, monkeypatch):
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    path = save(generator, "s")
    editor(tmp_path, monkeypatch, f"text = text.replace('- Deploy', '- Deploy with {secret}')")
    assert run(["log", "edit", "s"]) == 0
    assert "Deploy with [REDACTED" in path.read_text(encoding="utf-8")
    for part in (".md", ".json"):
        assert secret not in path.with_suffix(part).read_text(encoding="utf-8")


def test_a_log_saved_while_a_person_thinks_is_not_undone(generator, tmp_path, monkeypatch):
    """The edits are applied to the newly saved log."""
    save(generator, "s")
    code = (
        "from leftoff import ResumeLogGenerator\n"
        "generator = ResumeLogGenerator()\n"
        "generator.save_resume_log(generator.generate_from_session_state('s', {'next_steps': ['New', 'Deploy']}))\n"
        "text = text.replace('- Deploy', '- Deploy slowly')\n"
    )
    editor(tmp_path, monkeypatch, code)
    assert run(["log", "edit", "s"]) == 0
    assert generator.load_resume_log("s").next_steps == ["New", "Deploy slowly"]


def test_a_compressed_log_can_be_edited(capsys, generator, tmp_path, monkeypatch):
    save(generator, "s")
    save(generator, "new")
    assert run_command(capsys, "log", "cleanup", "--keep", "1", "--compress")[0] == 0
    editor(tmp_path, monkeypatch, "text = text.replace('- Deploy', '- Ship')")
    assert run(["log", "edit", "s"]) == 0
    assert generator.load_resume_log("s").next_steps == ["Write the migration", "Ship"]
    assert not [*generator.storage_dir.glob("*.gz")]


@pytest.mark.parametrize("code", ["", "text = text + '\\n'"])
def test_an_editor_that_changes_nothing_is_nothing_to_do(capsys, generator, tmp_path, monkeypatch, code):
    """The exit code is 3, and the log is unchanged."""
    path = save(generator, "s")
    before = path.read_bytes()
    editor(tmp_path, monkeypatch, code)
    exit_code, _, err = run_command(capsys, "log", "edit")
    assert exit_code == 3
    assert "stays as it was" in err
    assert path.read_bytes() == before


@pytest.mark.parametrize("left", ["", " \\n\\n", "<!-- nothing\\nhere -->\\n"])
def test_an_emptied_file_changes_nothing(capsys, generator, tmp_path, monkeypatch, left):
    """As in git, an empty file means that nothing is to be changed."""
    path = save(generator, "s")
    before = path.read_bytes()
    editor(tmp_path, monkeypatch, f"text = '{left}'")
    code, _, err = run_command(capsys, "log", "edit", "--yes")
    assert code == 3
    assert "came back empty: nothing kept, and the log of s is unchanged" in err
    assert path.read_bytes() == before


WITHOUT_STEPS = "at = text.index('## Next Steps'); text = text[:at] + text[text.index('## ', at + 3):]"


def test_a_whole_section_goes_only_when_that_is_reported(capsys, generator, tmp_path, monkeypatch):
    """Without a terminal, removing a section needs ``--yes``; an empty section needs no confirmation."""
    path = save(generator, "s")
    before = path.read_bytes()
    editor(tmp_path, monkeypatch, WITHOUT_STEPS)
    code, _, err = run_command(capsys, "log", "edit")
    assert code == 2
    assert "Next Steps: removed with everything in it. If you mean that: leftoff log edit --yes." in err
    assert path.read_bytes() == before
    assert run_command(capsys, "log", "edit", "--yes")[0] == 0
    assert generator.load_resume_log("s").next_steps == []
    assert generator.load_resume_log("s").accomplishments == ["Wrote src/limits.py"]


@pytest.mark.parametrize(("answer", "code", "steps"), [(b"y\n", 0, 0), (b"n\n", 3, 2)])
def test_on_a_terminal_a_section_is_asked_for(generator, tmp_path, monkeypatch, answer, code, steps):
    """The default answer is no, which leaves the log unchanged."""
    save(generator, "s")
    editor(tmp_path, monkeypatch, WITHOUT_STEPS)
    main, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "leftoff", "log", "edit"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        os.write(main, answer)
        _, stderr = child.communicate(timeout=60)
    os.close(main)
    os.close(terminal)
    assert child.returncode == code
    assert b"Remove Next Steps and everything in it?" in stderr
    assert len(generator.load_resume_log("s").next_steps) == steps


@pytest.mark.parametrize(
    "command", ["false", "no-such-editor-here", f"{sys.executable} -c 'raise SystemExit(7)'"]
)
def test_an_editor_that_fails_changes_nothing(capsys, generator, monkeypatch, command):
    """The error has exit code 1, names the editor and says that the log is unchanged."""
    path = save(generator, "s")
    before = path.read_bytes()
    monkeypatch.setenv("EDITOR", command)
    code, _, err = run_command(capsys, "log", "edit")
    assert code == 1
    assert command.split()[0] in err
    assert "The log is unchanged." in err
    assert path.read_bytes() == before


def test_an_editor_that_saves_no_text_changes_nothing(capsys, generator, tmp_path, monkeypatch):
    """An editor that saves bytes that are not UTF-8 leaves the log unchanged."""
    save(generator, "s")
    editor(tmp_path, monkeypatch, "path.write_bytes(b'\\xff\\xfe\\xfa'); sys.exit(0)")
    code, _, err = run_command(capsys, "log", "edit")
    assert code == 1
    assert "not UTF-8" in err


def test_without_an_editor_it_is_reported_how_to_name_one(capsys, generator, monkeypatch):
    """The exit code is 2."""
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    save(generator, "s")
    code, _, err = run_command(capsys, "log", "edit")
    assert code == 2
    assert "EDITOR=nano leftoff log edit" in err


def test_a_predecessor_s_log_is_not_edited(capsys, monkeypatch):
    """Logs of a predecessor are only read."""
    monkeypatch.setenv("EDITOR", "true")
    predecessor_log()
    code, _, err = run_command(capsys, "log", "edit")
    assert code == 2
    assert "written by claude-mpm, and leftoff only reads it" in err


# cleanup


def test_cleaning_up_deletes_what_is_beyond_the_newest(capsys, generator):
    """A dry run only lists the files."""
    for name in ("a", "b", "c"):
        save(generator, name, **FINISHED)
    preview = as_json(capsys, "log", "cleanup", "--keep", "1", "--dry-run")
    assert [Path(path).name for path in preview["files"]] == ["session-b.md", "session-a.md"]
    assert preview["left"] == 3
    code, out, _ = run_command(capsys, "log", "cleanup", "--keep", "1")
    assert code == 0
    assert out.count("deleted: ") == 2
    assert "2 logs deleted; 1 kept." in out
    assert [each["session_id"] for each in as_json(capsys, "log", "list")] == ["c"]


def test_the_settings_say_how_many_stay(capsys, generator):
    """Ten logs are kept by default."""
    for number in range(12):
        save(generator, f"s{number}", **FINISHED)
    assert as_json(capsys, "log", "cleanup")["left"] == 10


def test_open_work_that_has_begun_outlives_prompts_without_a_reply(capsys, generator):
    """Both are open; the bound on open work counts the former first, although the prompts are newer."""
    folder = paths.config_folder()
    folder.mkdir(parents=True)
    (folder / "configuration.yaml").write_text(
        "context_management:\n  resume_logs:\n    cleanup:\n      keep_open_count: 2\n", encoding="utf-8"
    )
    for name, begun in (("work", True), ("killed-1", False), ("killed-2", False)):
        save(generator, name, next_steps=["Finish it"], metadata={"begun": begun})
    as_json(capsys, "log", "cleanup", "--keep", "0")
    assert [each["session_id"] for each in as_json(capsys, "log", "list")] == ["killed-2", "work"]


def test_old_logs_can_be_compressed_instead(capsys, generator):
    """Compressed logs are still listed and shown."""
    for name in ("a", "b", "c"):
        save(generator, name)
    code, out, _ = run_command(capsys, "log", "cleanup", "--keep", "1", "--compress")
    assert code == 0
    assert "2 logs compressed; 3 kept." in out
    assert [each["compressed"] for each in as_json(capsys, "log", "list")] == [False, True, True]
    assert "compressed" in run_command(capsys, "log", "list")[1]
    assert "Add rate limits" in run_command(capsys, "log", "show", "a")[1]
    assert as_json(capsys, "log", "cleanup", "--keep", "1", "--compress")["files"] == []


def test_a_negative_number_is_wrong_usage(capsys, generator):
    """The exit code is 2, and nothing is deleted."""
    save(generator, "a")
    code, _, err = run_command(capsys, "log", "cleanup", "--keep", "-1")
    assert code == 2
    assert "Nothing was deleted" in err
    assert len(as_json(capsys, "log", "list")) == 1


def test_cleaning_that_is_switched_off_does_nothing(capsys, generator):
    """The exit code is 3, and the message names the setting."""
    folder = paths.config_folder()
    folder.mkdir(parents=True)
    (folder / "configuration.yaml").write_text(
        "context_management:\n  storage: nothing-of-the-kind\n  resume_logs:\n    cleanup:\n      enabled: false\n",
        encoding="utf-8",
    )
    save(generator, "a", **FINISHED)
    code, _, err = run_command(capsys, "log", "cleanup", "--keep", "0")
    assert code == 3
    assert "resume_logs.cleanup.enabled" in err
    (folder / "configuration.yaml").write_text(
        "context_management:\n  storage: nothing-of-the-kind\n", encoding="utf-8"
    )
    code, out, err = run_command(capsys, "log", "cleanup", "--keep", "0")
    assert code == 0
    assert "1 log deleted; 0 kept." in out
    assert "nothing called 'nothing-of-the-kind'" in err


# stats


def test_the_numbers(capsys, generator):
    """Statistics are given as text and as JSON."""
    assert as_json(capsys, "log", "stats")["total_logs"] == 0
    assert "0 logs" in run_command(capsys, "log", "stats")[1]
    for name in ("a", "b"):
        save(generator, name)
    predecessor_log()
    run(["log", "cleanup", "--keep", "1", "--compress"])
    code, out, _ = run_command(capsys, "log", "stats")
    assert code == 0
    assert "2 logs" in out
    assert "1 compressed" in out
    assert "1 left by a predecessor" in out
    stats = as_json(capsys, "log", "stats")
    assert (stats["total_logs"], stats["compressed_logs"], stats["predecessor_logs"]) == (2, 1, 1)


# The group


def test_the_commands_are_found_by_their_names(capsys):
    """An unknown one is wrong usage."""
    code, out, _ = run_command(capsys, "log", "--help")
    assert code == 0
    for name in ("list", "show", "edit", "cleanup", "stats"):
        assert f"  {name} " in out
    code, _, err = run_command(capsys, "log", "nonsense")
    assert code == 2
    assert "leftoff log --help" in err


@pytest.mark.slow
def test_no_log_command_minds_a_closed_pipe(generator):
    """A closed pipe gives exit code 0 and nothing on standard error."""
    save(generator, "s", accomplishments=[f"thing {number}" for number in range(2000)])
    for command in ("log show --json", "log list", "log stats", "log show"):
        ended = subprocess.run(
            f"{sys.executable} -m leftoff {command} | head -1; echo ${{PIPESTATUS[0]}}",
            shell=True,
            executable="/bin/bash",
            capture_output=True,
            text=True,
            check=True,
            env=paths.environment() | {"PAGER": "cat"},
        )
        assert ended.stdout.splitlines()[-1] == "0"
        assert ended.stderr == ""


def test_a_log_that_only_holds_metrics_is_not_the_latest(capsys, generator):
    """`log show` shows the newest log that says something, and `resume` offers it."""
    save(generator, "good")
    metrics = {"context_metrics": STATE["context_metrics"]}
    generator.save_resume_log(generator.generate_from_session_state("empty", metrics))
    assert run_command(capsys, "log", "show")[1].startswith("# Session Resume Log: good")
    assert as_json(capsys, "resume")["session_id"] == "good"
    assert as_json(capsys, "log", "stats")["latest_session_id"] == "good"
    for path in Path(".leftoff/resume-logs").glob("session-good.*"):
        path.unlink()
    code, _, error = run_command(capsys, "log", "show")
    assert (code, "say only how full the window was" in error) == (3, True)
    assert run_command(capsys, "log", "show", "empty")[0] == 0
