"""What a call mentions, and when a text holds it."""

import pytest

from leftoff.flows.retention_cut import Cut
from leftoff.flows.retention_mentions import Files, Held, Mention, expected, files_before, mentions, named_in
from leftoff.model.records import Message, Place, Record, RecordKind, Text, ToolUse

PROJECT = "/home/dev/project"


def use(tool_input, tool="tool") -> ToolUse:
    return ToolUse(call_id="1", tool=tool, input=tool_input)


def found(tool_input, kind) -> list[str]:
    return [each.text for each in mentions(use(tool_input), PROJECT) if each.kind == kind]


@pytest.mark.parametrize(
    ("given", "files"),
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
def test_files_are_paths_given_patched_or_in_a_command(given, files):
    """From the project's folder, where they lie in it."""
    assert found(given, "files") == files


@pytest.mark.parametrize(
    ("given", "commands"),
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
def test_a_command_is_whole_on_one_line_without_the_change_of_folder(given, commands):
    """What somebody would type again."""
    assert found(given, "commands") == commands


@pytest.mark.parametrize(
    ("given", "names"),
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
def test_names_are_identifiers_somebody_made_up_and_no_parts_of_paths(given, names):
    """Five characters at least, with an inner capital or underscore."""
    assert found(given, "names") == names


def holds(text: str, kind, words: str, *others: str) -> bool:
    return Held(text).holds(Mention(kind=kind, text=words), Files([words, *others]))


def test_a_tail_of_a_path_is_enough_where_no_other_file_ends_in_it():
    """``login.py`` names one file; with two of that name the folder must be told."""
    path, other = "src/auth/login.py", "src/web/login.py"
    assert holds("see login.py", "files", path)
    assert not holds("see login.py", "files", path, other)
    assert holds("see auth/login.py", "files", path, other)
    assert holds(f"see {PROJECT}/{path}", "files", path, other)
    assert not holds("see web/login.py", "files", path, other)


def test_the_same_file_told_in_another_way_is_no_rival():
    """A shorter or longer form of the path is the same file."""
    assert holds(
        "see login.py", "files", "src/auth/login.py", "auth/login.py", "/home/dev/project/src/auth/login.py"
    )


@pytest.mark.parametrize("text", ["mylogin.py", "login.pyc", "login.py/x", "re-login.py"])
def test_a_part_of_a_longer_word_is_not_the_file(text):
    """The name must stand there as itself."""
    assert not holds(text, "files", "src/login.py")


def test_a_command_is_held_as_it_is_whatever_the_white_space():
    """Bullets break and indent lines; a longer word is another command."""
    assert holds("- `pytest\n  -q tests`", "commands", "pytest -q tests")
    assert not holds("mypytest -q tests", "commands", "pytest -q tests")
    assert not holds("pytest -q tests2", "commands", "pytest -q tests")
    assert not holds("pytest tests -q", "commands", "pytest -q tests")


def test_a_name_is_held_as_a_word_and_a_dotted_one_by_its_parts():
    """``Limiter.allow`` is there when both words are."""
    assert holds("calls RateLimiter.allow", "names", "RateLimiter")
    assert not holds("RateLimiters", "names", "RateLimiter")
    assert holds("RateLimiter has allow_all", "names", "RateLimiter.allow_all")
    assert not holds("RateLimiter", "names", "RateLimiter.allow_all")


def record(*blocks) -> Record:
    return Record(
        Place("t", 0, 0, 1),
        RecordKind.REPLY,
        "reply",
        b"",
        messages=(Message(role="assistant", blocks=blocks),),
    )


def cut(context: str, records, next_calls, tmp_path) -> Cut:
    return Cut(
        agent="plain",
        source=tmp_path / "a",
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
    """A file that an earlier call was given; commands and names that stood anywhere."""
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
    assert [each.text for each in expected(here, files_before(here))] == [
        "src/a.py",
        "make lint",
        "login_user",
    ]


def test_a_summary_names_its_paths_and_its_back_ticked_names(tmp_path):
    """Prose with a slash is no path, and code between back-ticks no name."""
    summary = (
        "Changed src/a.py and/or `login_user()`, `Store.get`; ran `git commit -m x`, see `b.md` and CI/CD."
    )
    here = cut("", [record(use({"file_path": "docs/x.md"}))], [], tmp_path)
    assert [(each.kind, each.text) for each in named_in(summary, here)] == [
        ("files", "src/a.py"),
        ("files", "b.md"),
        ("names", "login_user"),
        ("names", "Store.get"),
    ]
