"""What a call mentions, and when a text contains it."""

import pytest

from bench import mentions as ruler
from bench.mentions import Files, Mention, mentions
from leftoff.core.records import ToolUse

PROJECT = "/home/dev/project"


def use(tool_input, tool="tool") -> ToolUse:
    return ToolUse(call_id="1", tool=tool, input=tool_input)


def mentions_of_kind(tool_input, kind) -> list[str]:
    return [each.text for each in mentions(use(tool_input), PROJECT) if each.kind == kind]


@pytest.mark.parametrize(
    ("tool_input", "files"),
    [
        ({"file_path": f"{PROJECT}/src/login.py"}, ["src/login.py"]),
        ({"file_path": "/etc/hosts"}, ["/etc/hosts"]),
        ({"notebook_path": "/data/a.ipynb"}, ["/data/a.ipynb"]),
        ({"pattern": "x", "path": f"{PROJECT}/src"}, []),
        ({"pattern": "x", "path": f"{PROJECT}/src/a.go"}, ["src/a.go"]),
        ({"command": "pytest tests/test_login.py -q"}, ["tests/test_login.py"]),
        ({"cmd": "sed -n '1,5p' ./README.md"}, ["README.md"]),
        ({"command": ["bash", "-lc", "cat src/a.ts"]}, ["src/a.ts"]),
        ({"command": "gh pr view 1 --jq '\\(.author.login)'"}, []),
        ({"command": "git commit -m 'x <me@example.com>'"}, []),
        ({"command": "curl https://example.com/a/b.json"}, []),
        ({"command": "git diff origin/main..HEAD"}, []),
        (
            "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Move to: src/b.py\n*** End Patch",
            ["src/a.py", "src/b.py"],
        ),
    ],
)
def test_files_are_paths_given_patched_or_in_a_command(tool_input, files):
    """Files are named relative to the project's folder."""
    assert mentions_of_kind(tool_input, "files") == files


@pytest.mark.parametrize(
    ("tool_input", "commands"),
    [
        ({"command": "pytest   -q\n"}, ["pytest -q"]),
        ({"command": "cd /home/dev/project && make test 2>&1 | tail -5"}, ["make test"]),
        ({"command": "make test | tail -5 && make lint > /dev/null"}, ["make test | tail -5 && make lint"]),
        ({"command": "grep -c x log | sort"}, ["grep -c x log | sort"]),
        ({"command": "cd 'a b'; ls"}, ["ls"]),
        ({"command": ["git", "status"]}, ["git status"]),
        ({"command": ["apply_patch", "*** Begin Patch\n*** End Patch"]}, []),
        ({"command": ""}, []),
        ({"file_path": "a.py"}, []),
    ],
)
def test_a_command_is_on_one_line_without_the_change_of_folder_and_what_limits_its_output(
    tool_input, commands
):
    """The command is one that could be typed again."""
    assert mentions_of_kind(tool_input, "commands") == commands


def contains(text: str, kind, words: str, *others: str) -> bool:
    return ruler.contains(" ".join(text.split()), Mention(kind, words), Files([words, *others]))


def test_a_unique_end_of_a_path_is_enough():
    """``login.py`` names one file; with two of that name the folder is needed."""
    path, other = "src/auth/login.py", "src/web/login.py"
    assert contains("see login.py", "files", path)
    assert not contains("see login.py", "files", path, other)
    assert contains("see auth/login.py", "files", path, other)
    assert contains(f"see {PROJECT}/{path}", "files", path, other)
    assert not contains("see web/login.py", "files", path, other)


def test_another_form_of_the_same_path_is_the_same_file():
    """A shorter or longer form of the path is the same file."""
    assert contains(
        "see login.py", "files", "src/auth/login.py", "auth/login.py", "/home/dev/project/src/auth/login.py"
    )


@pytest.mark.parametrize("text", ["mylogin.py", "login.pyc", "login.py/x", "re-login.py"])
def test_a_part_of_a_longer_word_is_not_the_file(text):
    """The name must be a word."""
    assert not contains(text, "files", "src/login.py")


def test_a_command_is_found_despite_white_space():
    """Bullets break and indent lines; a longer word is another command."""
    assert contains("- `pytest\n  -q tests`", "commands", "pytest -q tests")
    assert not contains("mypytest -q tests", "commands", "pytest -q tests")
    assert not contains("pytest -q tests2", "commands", "pytest -q tests")
    assert not contains("pytest tests -q", "commands", "pytest -q tests")
