"""The commands in agents' settings: what they do when something is missing, and how they are recognised."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core import hook_settings
from leftoff.core.hook_settings import TextEdit

PATHS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1)


def test_the_hook_command_is_the_one_of_the_contract():
    """Agents trust a hash of it: it must stay as it is, to the letter."""
    assert hook_settings.hook_command(
        "/usr/bin/python3", "/home/u/.local/share/leftoff/fast.py", "agent"
    ) == (
        "[ -r /home/u/.local/share/leftoff/fast.py ] || exit 0; "
        "/usr/bin/python3 -I -S /home/u/.local/share/leftoff/fast.py agent || exit 0"
    )


@pytest.mark.parametrize(
    ("python", "code"), [("/nowhere/python", ""), ("sh", "exit 2"), ("false", ""), ("true", "gone")]
)
def test_a_hook_command_ends_with_0_whatever_is_wrong(tmp_path, python, code):
    """An exit code of 2 would block the agent."""
    file = tmp_path / "it's a folder" / "leftoff" / "fast.py"
    file.parent.mkdir(parents=True)
    if code != "gone":
        file.write_text(code, encoding="utf-8")
    command = hook_settings.hook_command(python, str(file), "agent")
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0


@given(PATHS, PATHS)
def test_leftoffs_commands_are_recognised_with_their_parts(python, folder):
    """Commands are recognised whatever the interpreter and the folder are called."""
    file = f"/{folder}/leftoff/fast.py"
    hook, line = (
        hook_settings.hook_command(f"/{python}", file, "agent"),
        hook_settings.statusline_command(f"/{python}"),
    )
    assert hook_settings.is_hook_command(hook)
    assert hook_settings.is_statusline_command(line)
    assert not hook_settings.is_hook_command(line)
    assert not hook_settings.is_statusline_command(hook)
    assert hook_settings.fast_path_of(hook) == file
    assert hook_settings.fast_path_of(line) is None
    assert hook_settings.interpreter_of(hook) == hook_settings.interpreter_of(line) == f"/{python}"
    assert (
        hook_settings.interpreter_of(hook_settings.compose_statusline(line, "old -P -m leftoff"))
        == f"/{python}"
    )


def test_the_status_line_command_of_an_older_version_is_recognised():
    """Older versions called the interpreter without ``-E``."""
    old = "/usr/bin/python3 -P -m leftoff statusline || exit 0"
    assert hook_settings.statusline_command("/usr/bin/python3") == old.replace("-P", "-E -P")
    for line in (old, hook_settings.compose_statusline(old, "date")):
        assert hook_settings.is_statusline_command(line)
        assert hook_settings.interpreter_of(line) == "/usr/bin/python3"


@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")))
def test_a_composed_status_line_gives_back_the_old_one(old):
    """The old command comes back letter by letter, whatever it was."""
    line = hook_settings.compose_statusline(hook_settings.statusline_command("/usr/bin/python3"), old)
    assert hook_settings.is_statusline_command(line)
    assert hook_settings.wrapped_statusline(line) == old


@pytest.mark.parametrize(
    "command",
    [
        "",
        "python3 fast.py",
        "[ -r /x/other/fast.py ] || exit 0; python -I -S /x/other/fast.py a || exit 0",
        "echo leftoff statusline",
        'I=$(cat); O=$(printf %s "$I" | (eval \'never closed',
        hook_settings.compose_statusline("x", "old").replace("old", "two words"),
        hook_settings.compose_statusline("x", "old").replace("old", "'"),
    ],
)
def test_other_commands_are_not_recognised(command):
    """Nothing is read out of commands that are not leftoff's."""
    assert not hook_settings.is_hook_command(command)
    assert not hook_settings.is_statusline_command(command)
    assert hook_settings.wrapped_statusline(command) is None
    assert hook_settings.interpreter_of(command) in {None, "python"}


def test_a_command_that_no_shell_reads_has_no_parts():
    """A command with broken quoting gives no name instead of a wrong one."""
    command = hook_settings.hook_command("/usr/bin/python3", "/x/leftoff/fast.py", "it's")
    assert hook_settings.fast_path_of(command) is None
    assert hook_settings.interpreter_of(command) is None


def test_edits_are_taken_back_last_first():
    """The offsets of an edit refer to the text after the edits before it."""
    edits = (TextEdit(start=1, removed="", inserted="xy"), TextEdit(start=2, removed="yb", inserted="z"))
    assert hook_settings.revert_edits("axzc", edits) == "abc"


@pytest.mark.parametrize(
    ("python", "script", "command"),
    [
        (
            "/usr/bin/python3",
            "/home/u/.local/share/leftoff/fast.py",
            "~/.local/share/leftoff/fast.py agent || exit 0",
        ),
        ("/usr/bin/python3", "/data/leftoff/fast.py", "/data/leftoff/fast.py agent || exit 0"),
        ("/a b/python3", "/home/u/.local/share/leftoff/fast.py", None),
        ("/usr/bin/python3", "/home/u/it's/leftoff/fast.py", None),
        ("/usr/bin/python3", "/home/u/a b/leftoff/fast.py", None),
        (f"/{'x' * 130}/python3", "/home/u/.local/share/leftoff/fast.py", None),
    ],
)
def test_the_brief_command_runs_the_script_by_its_first_line(python, script, command):
    """Where the first line of a script cannot name the interpreter, or a path needs quotes, there is no brief form."""
    made = hook_settings.brief_hook_command(python, script, "/home/u", "agent")
    assert made == command
    if made:
        assert hook_settings.is_hook_command(made)
        assert hook_settings.fast_path_of(made) == made.split()[0]


def test_a_brief_command_ends_with_0_if_the_script_is_gone(tmp_path):
    file = tmp_path / "leftoff" / "fast.py"
    command = hook_settings.brief_hook_command("/usr/bin/python3", str(file), "/nowhere", "agent")
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0
    file.parent.mkdir()
    file.write_text("#!/bin/sh\nexit 2\n")
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0, (
        "not executable"
    )
    file.chmod(0o700)
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0
