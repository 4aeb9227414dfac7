"""The commands that stand in agents' settings: what they do when something is missing, and that they are known again."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.model import wiring
from leftoff.model.wiring import TextEdit

PATHS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1)


def test_the_hook_command_is_the_one_of_the_contract():
    """Agents trust a hash of it: it must stay as it is, to the letter."""
    assert wiring.hook_command("/usr/bin/python3", "/home/u/.local/share/leftoff/fast.py", "agent") == (
        "[ -r /home/u/.local/share/leftoff/fast.py ] || exit 0; "
        "/usr/bin/python3 -I -S /home/u/.local/share/leftoff/fast.py agent || exit 0"
    )


@pytest.mark.parametrize(
    ("python", "code"), [("/nowhere/python", ""), ("sh", "exit 2"), ("false", ""), ("true", "gone")]
)
def test_a_hook_command_ends_with_0_whatever_is_wrong(tmp_path, python, code):
    """2 would mean *block* to an agent."""
    file = tmp_path / "it's a folder" / "leftoff" / "fast.py"
    file.parent.mkdir(parents=True)
    if code != "gone":
        file.write_text(code, encoding="utf-8")
    command = wiring.hook_command(python, str(file), "agent")
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0


@given(PATHS, PATHS)
def test_any_command_of_ours_is_known_again_with_its_parts(python, folder):
    """Whatever the interpreter and the folder are called."""
    file = f"/{folder}/leftoff/fast.py"
    hook, line = wiring.hook_command(f"/{python}", file, "agent"), wiring.statusline_command(f"/{python}")
    assert wiring.is_hook_command(hook)
    assert wiring.is_statusline_command(line)
    assert not wiring.is_hook_command(line)
    assert not wiring.is_statusline_command(hook)
    assert wiring.fast_path_of(hook) == file
    assert wiring.fast_path_of(line) is None
    assert wiring.interpreter_of(hook) == wiring.interpreter_of(line) == f"/{python}"
    assert wiring.interpreter_of(wiring.composed(line, "old -P -m leftoff")) == f"/{python}"


def test_a_status_line_of_an_older_leftoff_is_known_again():
    """It had no -E."""
    old = "/usr/bin/python3 -P -m leftoff statusline || exit 0"
    assert wiring.statusline_command("/usr/bin/python3") == old.replace("-P", "-E -P")
    for line in (old, wiring.composed(old, "date")):
        assert wiring.is_statusline_command(line)
        assert wiring.interpreter_of(line) == "/usr/bin/python3"


@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")))
def test_a_composed_status_line_gives_back_the_old_one(old):
    """Letter by letter, whatever it was."""
    line = wiring.composed(wiring.statusline_command("/usr/bin/python3"), old)
    assert wiring.is_statusline_command(line)
    assert wiring.composed_with(line) == old


@pytest.mark.parametrize(
    "command",
    [
        "",
        "python3 fast.py",
        "[ -r /x/other/fast.py ] || exit 0; python -I -S /x/other/fast.py a || exit 0",
        "echo leftoff statusline",
        'I=$(cat); O=$(printf %s "$I" | (eval \'never closed',
        wiring.composed("x", "old").replace("old", "two words"),
        wiring.composed("x", "old").replace("old", "'"),
    ],
)
def test_commands_of_others_are_not_ours(command):
    """And nothing is read out of them."""
    assert not wiring.is_hook_command(command)
    assert not wiring.is_statusline_command(command)
    assert wiring.composed_with(command) is None
    assert wiring.interpreter_of(command) in {None, "python"}


def test_a_command_that_no_shell_reads_has_no_parts():
    """Somebody has edited it: rather nothing than a wrong name."""
    command = wiring.hook_command("/usr/bin/python3", "/x/leftoff/fast.py", "it's")
    assert wiring.fast_path_of(command) is None
    assert wiring.interpreter_of(command) is None


def test_edits_are_taken_back_last_first():
    """Each is told in the text that the one before it left."""
    edits = (TextEdit(start=1, removed="", inserted="xy"), TextEdit(start=2, removed="yb", inserted="z"))
    assert wiring.reverted("axzc", edits) == "abc"
