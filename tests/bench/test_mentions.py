"""What a call mentions, and when a text contains it."""

import pytest

from bench.mentions import (
    Files,
    Mention,
    SearchableText,
    expected_mentions,
    files_before,
    mentions,
    mentions_in_summary,
)
from bench.session_cuts import MeasuredCut
from leftoff.core.records import Message, Place, Record, RecordKind, Text, ToolUse

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
        ({"command": "cd /home/dev/project && make test 2>&1 | tail -5"}, ["make test 2>&1 | tail -5"]),
        ({"command": "cd 'a b'; ls"}, ["ls"]),
        ({"command": ["git", "status"]}, ["git status"]),
        ({"command": ["apply_patch", "*** Begin Patch\n*** End Patch"]}, []),
        ({"command": ""}, []),
        ({"file_path": "a.py"}, []),
    ],
)
def test_a_command_is_whole_on_one_line_without_the_change_of_folder(tool_input, commands):
    """The command is one that could be typed again."""
    assert mentions_of_kind(tool_input, "commands") == commands


@pytest.mark.parametrize(
    ("tool_input", "names"),
    [
        ({"old_string": "def login_user(): return plain", "new_string": "x"}, ["login_user"]),
        ({"pattern": "RateLimiter|HTTPError"}, ["RateLimiter", "HTTPError"]),
        ({"edits": [{"old_string": "maxRetries"}]}, ["maxRetries"]),
        ({"command": "go test -run TestBurstPasses"}, ["TestBurstPasses"]),
        ({"command": "pytest tests/test_login.py"}, []),
        ({"file_path": "/x/snake_case.py"}, []),
        ({"old_string": "store.getUser(x)"}, ["getUser"]),
        ({"old_string": "Word word WORD _x a_b"}, []),
    ],
)
def test_names_are_identifiers_in_code_and_not_parts_of_paths(tool_input, names):
    """A name has at least five characters and an inner capital or underscore."""
    assert mentions_of_kind(tool_input, "names") == names


def contains(text: str, kind, words: str, *others: str) -> bool:
    return SearchableText(text).contains(Mention(kind=kind, text=words), Files([words, *others]))


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


def test_a_name_is_found_as_a_word_and_a_dotted_one_by_its_parts():
    """``Limiter.allow`` is found if both words are."""
    assert contains("calls RateLimiter.allow", "names", "RateLimiter")
    assert not contains("RateLimiters", "names", "RateLimiter")
    assert contains("RateLimiter has allow_all", "names", "RateLimiter.allow_all")
    assert not contains("RateLimiter", "names", "RateLimiter.allow_all")


def record(*blocks) -> Record:
    return Record(
        Place("t", 0, 0, 1),
        RecordKind.REPLY,
        "reply",
        b"",
        messages=(Message(role="assistant", blocks=blocks),),
    )


def cut(context: str, records, next_calls, tmp_path) -> MeasuredCut:
    return MeasuredCut(
        agent="plain",
        source=tmp_path / "a",
        id="cut",
        line=2,
        at=None,
        transcript=tmp_path / "a",
        project=PROJECT,
        records=tuple(records),
        context=context,
        summary=None,
        next_calls=tuple(next_calls),
    )


def test_only_what_occurs_before_the_cut_is_expected(tmp_path):
    """A file that an earlier call was given; commands and names from anywhere."""
    before = [
        record(use({"file_path": "src/a.py"})),
        record(Text(text="listing: src/b.py, run make lint, login_user")),
    ]
    after = [
        use({"file_path": "src/a.py"}),
        use({"file_path": "src/b.py"}),
        use({"command": "make lint"}),
        use({"command": "make test"}),
        use({"pattern": "login_user|never_seen"}),
        use({"pattern": "login_user"}),
    ]
    here = cut("src/a.py\nlisting: src/b.py, run make lint, login_user", before, after, tmp_path)
    assert [each.text for each in expected_mentions(here, files_before(here))] == [
        "src/a.py",
        "make lint",
        "login_user",
    ]


def test_a_summary_names_its_paths_and_its_back_ticked_names(tmp_path):
    """Prose with a slash is not a path, and code in back-ticks not a name."""
    summary = (
        "Changed src/a.py and/or `login_user()`, `Store.get`; ran `git commit -m x`, see `b.md` and CI/CD."
    )
    here = cut("", [record(use({"file_path": "docs/x.md"}))], [], tmp_path)
    assert [(each.kind, each.text) for each in mentions_in_summary(summary, here)] == [
        ("files", "src/a.py"),
        ("files", "b.md"),
        ("names", "login_user"),
        ("names", "Store.get"),
    ]
