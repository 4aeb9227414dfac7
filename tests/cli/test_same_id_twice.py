"""One session id in two files: a renamed project, two rollouts, a log of leftoff and one of claude-mpm."""

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.cli.main import run
from leftoff.testing.builders import Story, call

ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
# Two sessions that Codex began within the same minute: their ids begin with the time.
TWINS = ("01a1e47c-5f81-7b23-ae31-94e0123734a3", "01a1e47c-aa3a-7c11-8d52-0d2f7c1b8e46")
COMMANDS = (
    ["status", "{}"],
    ["advise", "{}"],
    ["resume", "{}"],
    ["log", "save", "{}"],
    ["log", "save", "{}", "--stdout"],
    ["show", "{}"],
    ["export", "{}"],
    ["lineage", "{}"],
    ["doctor", "{}"],
    ["trim", "{}", "--threshold", "100"],
    ["smart-trim", "{}", "--dry-run"],
    ["rollover", "{}", "--force"],
    ["forget", "{}", "--dry-run"],
)


def story(project: Path, prompt: str = "Fix the login", session_id: str = ID) -> Story:
    return (
        Story(session_id=session_id, project=str(project))
        .asked(prompt)
        .replied("", call("shell", {"command": "make"}, "output line\n" * 400))
        .replied("Done.", used=20_000)
    )


@pytest.fixture
def elsewhere(tmp_path):
    """Two other projects."""
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
    return folders


@pytest.fixture
def copies(home, elsewhere):
    """The same id in the folders of two other projects, with different content."""
    return tuple(
        home.claude(story(folder, f"Fix the login in {folder.name}"), folder=f"-{folder.name}")
        for folder in elsewhere
    )


def ends(capsys, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run([*arguments])
    out, err = capsys.readouterr()
    return code, out, err


def typed(err: str) -> list[str]:
    """Return what the lines of an error offer to type."""
    return [shlex.split(line.partition(",")[0])[0] for line in err.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_every_command_takes_one_of_the_paths_that_the_error_lists(copies, capsys, command):
    """Without a terminal nothing is asked: the exit code is 2, and each path can be typed as it is."""
    code, out, err = ends(capsys, *(each.format(ID) for each in command))
    assert (code, out) == (2, "")
    assert f"'{ID}' names 2 sessions" in err
    assert {*typed(err)} == {str(path) for path in copies}
    assert "Fix the login in one" in err
    for path in typed(err):
        code, _, err = ends(capsys, *(each.format(path) for each in command))
        assert code in {0, 3}, err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_the_copy_of_the_current_project_is_meant(home, copies, capsys, command):
    """Another project may have a session of the same id."""
    home.claude(story(Path.cwd(), "Fix it here"), folder="-here")
    code, _, err = ends(capsys, *(each.format(ID[:8]) for each in command))
    assert code in {0, 3}, err


def test_resume_without_a_session_works_where_the_project_has_one_of_the_copies(home, copies, capsys):
    """The saved log names an id that two files have."""
    here = home.claude(story(Path.cwd(), "Fix it here"), folder="-here")
    assert ends(capsys, "log", "save", str(here))[0] == 0
    code, out, err = ends(capsys, "resume")
    assert code == 0, err
    assert "Fix it here" in out


@pytest.fixture
def rollouts(home):
    """Two rollouts of this project with one id inside; their names differ."""
    written = []
    for named, prompt in ((TWINS[1], "The older one"), (TWINS[1].replace("aa3a", "aa3b"), "The newer one")):
        path = home.codex(story(Path.cwd(), prompt, named))
        stamp = path.stat().st_mtime
        path.write_text(path.read_text("utf-8").replace(named, TWINS[0]), "utf-8")
        os.utime(path, (stamp, stamp))
        written.append(path)
    return tuple(written)


def test_two_rollouts_of_one_id_are_told_apart_by_their_paths(rollouts, capsys):
    """Both belong to the current project, so leftoff cannot know which one is meant."""
    code, _, err = ends(capsys, "status", TWINS[0])
    assert code == 2
    assert {*typed(err)} == {str(path) for path in rollouts}
    for path in rollouts:
        assert ends(capsys, "log", "save", str(path))[0] == 0


def test_resume_without_a_session_takes_the_newest_of_two_rollouts(rollouts, capsys):
    """``latest`` is the newest; the second time its log names an id that two files have."""
    for _ in range(2):
        code, out, err = ends(capsys, "resume")
        assert code == 0, err
        assert "The newer one" in out


def test_identical_copies_are_one_session(home, copies, capsys):
    """It does not matter which of them is read."""
    shutil.copyfile(copies[0], copies[1])
    code, out, _ = ends(capsys, "status", ID, "--json")
    assert code == 0
    assert json.loads(out)["transcript"] in {str(path) for path in copies}


def test_a_renamed_project_finds_its_session_by_where_the_client_keeps_it(home, tmp_path, capsys):
    """The first lines still name the old folder."""
    old, new = tmp_path / "old-name", Path.cwd()
    kept = home.claude(story(old), folder="-old")
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(new))
    moved = kept.parent.parent / slug / kept.name
    moved.parent.mkdir()
    lines = kept.read_text("utf-8").splitlines()
    moved.write_text("\n".join([*lines, lines[-1].replace(str(old), str(new))]) + "\n", "utf-8")
    code, out, err = ends(capsys, "status", "--json")
    assert code == 0, err
    assert json.loads(out)["transcript"] == str(moved)
    code, out, _ = ends(capsys, "status", ID, "--json")
    assert json.loads(out)["transcript"] == str(moved)


def test_a_copied_session_is_counted_once(home, capsys):
    """The glance counts sessions, not files."""
    path = home.claude(story(Path.cwd()), folder="-one")
    copy = path.parent.with_name("-two") / path.name
    copy.parent.mkdir()
    shutil.copyfile(path, copy)
    assert json.loads(ends(capsys, "--json")[1])["sessions"] == 1


def test_json_has_the_choices_in_its_error(copies, capsys):
    code, out, err = ends(capsys, "status", ID, "--json")
    assert (code, err) == (2, "")
    assert all(str(path) in json.loads(out)["error"] for path in copies)


def test_a_path_with_a_blank_is_quoted_for_the_shell(home, elsewhere, capsys):
    for folder in elsewhere:
        home.claude(story(folder, folder.name), folder=f"-a {folder.name}")
    assert {Path(path).parent.name for path in typed(ends(capsys, "show", ID)[2])} == {"-a one", "-a two"}


@pytest.mark.parametrize(("number", "project"), [("1", "two"), ("2", "one")])
@pytest.mark.parametrize("command", [["export", ID[:8]], ["show", ID]], ids=["export", "show"])
def test_on_a_terminal_the_user_picks_one(copies, command, number, project):
    """The newest is listed first. The command then runs as if the path had been typed."""
    code, screen, out = on_a_terminal(f"{number}\n", *command)
    assert code == 0
    assert "names 2 sessions" in screen
    assert f"Fix the login in {project}" in out


def test_ctrl_d_at_the_choice_ends_the_command(copies):
    assert on_a_terminal("\x04", "status", ID)[0] == 130


def on_a_terminal(keys: str, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code, what the terminal shows, and what the command printed."""
    own, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "leftoff", *arguments],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(own, keys.encode())
    out, _ = process.communicate(timeout=100)
    screen = b""
    try:
        while chunk := os.read(own, 65536):
            screen += chunk
    except OSError:  # the other end is closed
        pass
    os.close(own)
    return process.returncode, screen.decode(), out.decode()


def test_sessions_of_one_minute_are_shown_with_enough_of_their_id(home, capsys):
    """The candidates of a prefix that is too short are listed with prompt, age and project."""
    for session_id, prompt in zip(TWINS, ("Write the parser", "Write the docs"), strict=True):
        home.codex(story(Path.cwd(), prompt, session_id))
    code, _, err = ends(capsys, "status", "01a1e47c")
    assert code == 2
    assert "Write the parser" in err
    assert str(Path.cwd()) in err
    assert {*typed(err)} == {session_id[:13] for session_id in TWINS}
    for prefix in typed(err):
        assert ends(capsys, "status", prefix)[0] == 0
    shown = ends(capsys, "resume", TWINS[0])[1]
    assert f"({TWINS[0][:13]})" in shown


@pytest.fixture
def two_logs(home, capsys):
    """A log of leftoff and one of claude-mpm, of the same session."""
    assert ends(capsys, "log", "save", str(home.claude(story(Path.cwd()))))[0] == 0
    own = next(Path(".leftoff/resume-logs").glob("*.md")).absolute()
    theirs = Path(".claude-mpm/resume-logs").absolute() / own.name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("# Session Resume Log: x\n\n## Mission Summary\n\nThe other log.\n", "utf-8")
    return own, theirs


@pytest.mark.parametrize("selector", [ID, ID[:8]])
def test_logs_of_one_id_are_told_apart_by_their_paths(two_logs, capsys, selector):
    code, _, err = ends(capsys, "log", "show", selector)
    assert code == 2
    assert {*typed(err)} == {str(path) for path in two_logs}
    assert "The other log." in ends(capsys, "log", "show", str(two_logs[1]))[1]
    assert "Fix the login" in ends(capsys, "log", "show", str(two_logs[0]))[1]
    assert ends(capsys, "resume")[0] == 0
    assert ends(capsys, "resume", str(two_logs[0]))[0] == 0
