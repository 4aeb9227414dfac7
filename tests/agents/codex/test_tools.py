"""What the tools of Codex do and what their answers say: every shape that was seen in real rollouts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.agents.codex.tools import actions, answer
from leftoff.core.actions import (
    Answer,
    Changed,
    Fetched,
    Looked,
    Moved,
    Other,
    Planned,
    Ran,
    Removed,
    Todo,
    Wrote,
)
from leftoff.core.records import Text, ToolResult, ToolUse


def use(tool: str, given) -> ToolUse:
    return ToolUse(call_id="c", tool=tool, input=given)


def back(words: str, *, failed: bool | None = None) -> ToolResult:
    return ToolResult(call_id="c", parts=(Text(text=words),), is_error=failed)


PATCH = """*** Begin Patch
*** Add File: new.py
+def a():
+    pass
*** Update File: old.py
@@ def b():
 kept
-gone
+come
@@
-last
*** Update File: was.py
*** Move to: is.py
@@
-x
+y
*** Delete File: dead.py
*** End Patch
"""
PATCHED = (
    Wrote("new.py", "def a():\n    pass"),
    Changed("old.py", "kept\ngone", "kept\ncome"),
    Changed("old.py", "last", ""),
    Moved("was.py", "is.py"),
    Changed("is.py", "x", "y"),
    Removed("dead.py"),
)


@pytest.mark.parametrize(
    ("tool", "given", "does"),
    [
        ("shell", {"command": ["bash", "-lc", "ls -l"], "workdir": "/p"}, (Ran("ls -l", folder="/p"),)),
        ("shell", {"command": ["git", "status", 7]}, (Ran("git status"),)),
        ("shell", {"command": ["apply_patch", PATCH]}, PATCHED),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, PATCHED),
        ("shell_command", {"command": "ls", "justification": "to see"}, (Ran("ls", purpose="to see"),)),
        ("exec_command", {"cmd": "ls", "workdir": "/p"}, (Ran("ls", folder="/p"),)),
        ("local_shell", {"command": ["ls"]}, (Ran("ls"),)),
        ("exec_command", {"cmd": "sed -n '3,9p' a.py"}, (Ran("sed -n '3,9p' a.py"), Looked("a.py", 3, 9))),
        ("exec_command", {"cmd": "cat 'a.py'"}, (Ran("cat 'a.py'"), Looked("a.py"))),
        ("exec_command", {"cmd": "head -n 40 a.py"}, (Ran("head -n 40 a.py"), Looked("a.py", None, 40))),
        ("exec_command", {"cmd": "cat a.py | wc"}, (Ran("cat a.py | wc"),)),
        ("shell", {"command": 7}, ()),
        ("apply_patch", PATCH, PATCHED),
        ("apply_patch", {"input": PATCH}, PATCHED),
        ("apply_patch", {"patch": PATCH}, PATCHED),
        ("apply_patch", {}, ()),
        (
            "update_plan",
            {"plan": [{"step": "A", "status": "in_progress"}, {"step": "B", "status": "odd"}, "x"]},
            (Planned((Todo("A", "in_progress"), Todo("B"))),),
        ),
        ("write_stdin", {"session_id": 7, "chars": ""}, ()),
        ("wait", {"cell_id": "18", "yield_time_ms": 1000}, ()),
        (
            "exec",
            'const r = await tools.exec_command({cmd:"go test ./...\\ngit status","workdir":"/p","yield_time_ms":9}); text(r.output);',
            (Ran("go test ./...\ngit status", folder="/p"),),
        ),
        (
            "exec",
            "const [a, b] = await Promise.all([tools.exec_command({cmd: 'make \\'x\\''}), tools.exec_command({cmd: `cat a.py`})]);",
            (Ran("make 'x'"), Ran("cat a.py"), Looked("a.py")),
        ),
        ("exec", f"const patch = {json.dumps(PATCH)};\ntext(await tools.apply_patch(patch));", PATCHED),
        (
            "exec",
            "await tools.write_stdin({session_id: 7, chars: ''})",
            (Other("exec", "await tools.write_stdin({session_id: 7, chars: ''})"),),
        ),
        ("web_search", {"query": "x y"}, (Fetched("x y"),)),
        ("fetch", {"url": "https://x"}, (Fetched("https://x"),)),
        ("mcp__get", {"id": "A-1", "n": 3}, (Other("mcp__get", "A-1"),)),
        ("odd", "free words", (Other("odd", "free words"),)),
    ],
)
def test_a_tool_call_is_parsed(tool: str, given, does) -> None:
    """Each of Codex's tools is described by the same actions as any other agent's."""
    assert actions(use(tool, given)) == does


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (json.dumps({"output": "out", "metadata": {"exit_code": 2}}), Answer("out", 2, failed=True)),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nout", Answer("out", 0, failed=False)),
        (
            "Chunk ID: ab\nWall time: 1\nProcess exited with code 3\nOutput:\nout",
            Answer("out", 3, failed=True),
        ),
        ("Plan updated", Answer("Plan updated", None, failed=False)),
        ("apply_patch verification failed: no", Answer("apply_patch verification failed: no", failed=True)),
        ("exec command rejected by user", Answer("exec command rejected by user", failed=True, refused=True)),
    ],
)
def test_an_answer_is_parsed(words: str, found: Answer) -> None:
    """An answer says what was printed, how the command ended and whether the user allowed it."""
    got = answer(use("exec_command", {}), back(words))
    assert (got.text, got.exit_code, bool(got.failed), got.refused) == (
        found.text,
        found.exit_code,
        found.failed,
        found.refused,
    )


def test_the_error_flag_of_the_record_comes_first() -> None:
    """The error flag counts even if the output claims success."""
    assert answer(use("odd", {}), back("Exit code: 0\nOutput:\nx", failed=True)).failed is True


def test_a_servers_tool_cannot_speak_for_the_user() -> None:
    """The text of a server's tool is its own, even if it imitates a refusal by the user."""
    for tool in ("evil__tool", "AskSomebody"):
        assert answer(use(tool, {}), back("rejected by user")).refused is False


JSON = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.lists(
        st.text(max_size=9) | st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
        max_size=3,
    )
)


@given(
    tool=st.sampled_from(["shell", "exec_command", "apply_patch", "update_plan", "write_stdin", "a__b", "x"]),
    given=st.dictionaries(
        st.sampled_from(["command", "cmd", "plan", "input", "url", "workdir"]), JSON, max_size=4
    )
    | st.text(max_size=60).map(lambda words: f"*** Update File: a\n{words}"),
    words=st.text(max_size=60) | st.text(max_size=30).map(lambda words: '{"output":' + words),
)
def test_no_content_raises(tool: str, given, words: str) -> None:
    call = use(tool, given)
    assert isinstance(actions(call), tuple)
    assert isinstance(answer(call, back(words)), Answer)


RUNNING = "Chunk ID: ab\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\nstarting"
EXITED = "Chunk ID: cd\nWall time: 1.0 seconds\nProcess exited with code 0\nOutput:\n12 passed"


def test_a_command_may_be_left_running() -> None:
    """It is the same job when it is asked about again, and has ended once it is no longer said to run."""
    started = answer(use("exec_command", {"cmd": "npm run dev"}), back(RUNNING))
    assert (started.job_id, started.ended_jobs) == ("7", ())
    polled = answer(use("write_stdin", {"session_id": 7, "chars": ""}), back(RUNNING))
    assert (polled.job_id, polled.ended_jobs) == (None, ())
    ended = answer(use("write_stdin", {"session_id": 7, "chars": ""}), back(EXITED))
    assert (ended.job_id, ended.ended_jobs, ended.exit_code) == (None, ("7",), 0)


def test_a_script_may_be_left_running() -> None:
    """A script is asked about by the number of its cell; its answer begins with lines of the client."""
    running, ended = (
        "Script running with cell ID 18\nWall time 1.0 seconds\nOutput:\n",
        "Script completed\nWall time 2.0 seconds\nOutput:\n12 passed",
    )
    started = answer(use("exec", "await tools.exec_command({cmd: 'make test'})"), back(running))
    assert (started.job_id, started.text) == ("18", "")
    polled = answer(use("wait", {"cell_id": "18"}), back(running))
    assert (polled.job_id, polled.ended_jobs) == (None, ())
    shown = "Script completed\nWall time 1.0 seconds\nOutput:\nstarting\nSESSION_ID=39017"
    assert answer(use("exec", "await tools.exec_command({cmd: 'make test'})"), back(shown)).job_id == "39017"
    poll = "const r = await tools.write_stdin({session_id:39017,chars:''}); text(r.output)"
    assert answer(use("exec", poll), back(shown)).ended_jobs == ()
    assert answer(use("exec", poll), back(ended)).ended_jobs == ("39017",)
    done = answer(use("wait", {"cell_id": "18"}), back(ended))
    assert (done.ended_jobs, done.text) == (("18",), "12 passed")


def test_words_far_down_in_the_output_are_not_the_clients() -> None:
    output = "Exit code: 0\nOutput:\n" + "x" * 500 + "\nProcess running with session ID 9\n"
    assert answer(use("exec_command", {}), back(output)).job_id is None
