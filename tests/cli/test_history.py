"""``leftoff why``, ``leftoff history`` and ``leftoff mcp`` as processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.platform import paths
from leftoff.testing.builders import Story, call

pytestmark = pytest.mark.measured

LATER = "22222222-2222-4222-8222-222222222222"


def leftoff(*arguments, code=0, **environment):
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
        env=paths.environment() | environment,
    )
    assert ended.returncode == code, ended
    return ended.stdout + (ended.stderr if code else "")


@pytest.fixture
def sessions(home):
    """Two agents changed the same file, for different reasons; it is in the working folder."""
    file = Path("src/cart.py")
    file.parent.mkdir()
    file.write_text("import math\n\ntotal = round(price - voucher)\nlimit = 7\n}\n", encoding="utf-8")
    path = str(file.absolute())
    first = Story(project=str(Path.cwd())).asked("The total is wrong with a voucher")
    first.replied(
        "I round later in cart.py, because rounding before the voucher loses a cent.",
        call("edit", {"path": path, "old": "total = 0", "new": "total = round(price - voucher)"}),
    ).replied("Done.")
    second = Story(session_id=LATER, project=str(Path.cwd())).asked("Allow seven vouchers")
    second.replied("", call("read", {"path": path}, "total"))
    kept = "total = round(price - voucher)\n"  # repeated by the edit, not written by it
    second.replied(
        "Now the limit.",
        call("edit", {"path": path, "old": f"{kept}limit = 5", "new": f"{kept}limit = 7"}),
    )
    second.replied("It is 7, so that a family fits.")
    return home.claude(first), home.codex(second)


def test_why_a_line_is_there_names_the_session_the_prompt_and_the_reason(sessions):
    output = leftoff("why", "src/cart.py:3")
    assert "changed" in output
    assert "because rounding before the voucher loses a cent." in output
    assert "The total is wrong with a voucher" in output
    assert "leftoff show 0b54f7aa --at" in output
    (found,) = json.loads(leftoff("why", "src/cart.py:4", "--json"))
    assert found["session_id"] == LATER
    assert found["agent"] == "codex"
    assert found["reason"] == "It is 7, so that a family fits."
    assert found["prompt"] == "Allow seven vouchers"


def test_why_a_file_shows_its_last_changes(sessions):
    assert [each["agent"] for each in json.loads(leftoff("why", "src/cart.py", "--json"))] == [
        "codex",
        "claude",
    ]


def test_history_lists_changes_and_with_reads_also_those(sessions):
    changes = json.loads(leftoff("history", "src/cart.py", "--json"))
    everything = json.loads(leftoff("history", "src/cart.py", "--reads", "--json"))
    assert [each["what"] for each in changes] == ["changed", "changed"]
    assert [each["what"] for each in everything].count("read") == 1
    assert len(json.loads(leftoff("history", "src/cart.py", "--limit", "1", "--json"))) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["why", "src/cart.py:2"], 3, "src/cart.py is empty."),
        (["why", "src/cart.py:5"], 3, "has no word"),
        (["why", "src/cart.py:1"], 3, "No session is known to have written line 1"),
        (["why", "src/cart.py:99"], 2, "has no line 99"),
        (["why", "src/none.py:3"], 1, "cannot be read"),
        (["why", "/dev/zero:1"], 1, "pipe, socket or device"),
        (["why", "src/none.py"], 3, "leftoff search none.py"),
        (["history", "src/none.py"], 3, "No session is known to have changed src/none.py"),
        (["history", ""], 2, "Which file?"),
        (["history"], 2, "FILE"),
    ],
)
def test_what_cannot_be_answered_is_one_line(sessions, arguments, code, says):
    assert says in leftoff(*arguments, code=code)


def test_without_any_session_it_says_so(isolated_home):
    assert "No session is known" in leftoff("why", "a.py", code=3)
    assert "error" in json.loads(leftoff("history", "a.py", "--json", code=3).splitlines()[0])


def test_without_the_sdk_it_says_what_to_type(tmp_path):
    """A folder named like the SDK, which has nothing, comes first."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("")
    hidden = {"PYTHONPATH": f"{tmp_path}:{paths.environment()['PYTHONPATH']}"}
    for arguments in (["mcp"], ["install", "claude", "--mcp"]):
        ended = leftoff(*arguments, code=1, **hidden)
        assert "leftoff mcp needs the MCP SDK. Type: " in ended
        assert len(ended.splitlines()) == 1
