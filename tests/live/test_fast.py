"""The fast path: light as a bare interpreter, and at one with the full program about every byte it writes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.agents import claude
from leftoff.errors import InvalidIdError, StorageError
from leftoff.live import fast
from leftoff.pause.journal import PauseAction
from leftoff.platform import clock, files, locks, log, paths
from leftoff.resume_logs.continuing import asks_to_continue
from tests.resume_logs.test_asks_to_continue import GOING_ON

Append = Callable[[Path, bytes], bool]
TOOLS = ("PostToolUse", "PostToolUseFailure", "PostToolBatch")


def _by_the_fast_path(path: Path, line: bytes) -> bool:
    return fast.append_line(str(path), line, str(path.parent / files.LOCK_NAME))


def _by_the_full_program(path: Path, line: bytes) -> bool:
    try:
        files.append_lines(path, line)
    except StorageError:
        return False
    return True


@pytest.fixture(params=[_by_the_fast_path, _by_the_full_program], ids=["fast", "full"])
def append(request: pytest.FixtureRequest) -> Append:
    """Either of the two, which must not differ."""
    function: Append = request.param
    return function


def test_a_line_is_added_to_a_private_file(tmp_path: Path, append: Append) -> None:
    """The file and its lock are created if they are missing."""
    assert append(tmp_path / "x", b"1\n")
    assert append(tmp_path / "x", b"2\n")
    assert (tmp_path / "x").read_bytes() == b"1\n2\n"
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("x", ".lock")} == {0o600}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"new\n"),
        (b"old\n", b"old\nnew\n"),
        (b"to", b"to\nnew\n"),
        (b"a\nto", b"a\nto\nnew\n"),
        (b"\n", b"\nnew\n"),
    ],
)
def test_a_torn_last_line_is_closed_before_appending(
    tmp_path: Path, append: Append, before: bytes, after: bytes
) -> None:
    """The damage stays in the one line that was torn."""
    (tmp_path / "x").write_bytes(before)
    assert append(tmp_path / "x", b"new\n")
    assert (tmp_path / "x").read_bytes() == after


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path, append: Append) -> None:
    """The target of a link is neither written to nor created."""
    (tmp_path / "victim").write_bytes(b"old\n")
    for name, target in (("link", "victim"), ("dangling", "nowhere")):
        (tmp_path / name).symlink_to(tmp_path / target)
        assert not append(tmp_path / name, b"new\n")
    assert (tmp_path / "victim").read_bytes() == b"old\n"
    assert not (tmp_path / "nowhere").exists()


def test_trouble_is_an_answer_and_leaves_the_file_as_it_was(tmp_path: Path, append: Append) -> None:
    """No folder, a folder in the file's place, a limit on sizes in the middle of the line and at its start."""
    (tmp_path / "folder").mkdir()
    assert not append(tmp_path / "nowhere" / "x", b"1\n")
    assert not append(tmp_path / "folder", b"1\n")
    (tmp_path / "x").write_bytes(b"to")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for limit in (100, 2):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            assert not append(tmp_path / "x", b"n" * 200 + b"\n")
            assert (tmp_path / "x").read_bytes() == b"to"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert append(tmp_path / "x", b"n\n")


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 5000, ""])
def test_no_path_makes_the_fast_path_raise(tmp_path: Path, path: str) -> None:
    """Parts of it come from an event; a hook must not harm the agent."""
    assert fast.append_line(path, b"x\n", str(tmp_path / ".lock")) is False
    assert fast.append_line(str(tmp_path / "x"), b"x\n", path) is False


def test_it_gives_up_within_a_tenth_of_a_second(tmp_path: Path) -> None:
    """A held lock costs the agent 100 ms and no more; nothing is written."""
    with locks.hold(tmp_path / ".lock"):
        began = time.monotonic()
        assert not fast.append_line(str(tmp_path / "x"), b"x\n", str(tmp_path / ".lock"))
        assert 0.1 <= time.monotonic() - began < 5  # a busy machine may oversleep
    assert not (tmp_path / "x").exists()


def test_it_waits_for_a_lock_that_is_let_go_in_time(tmp_path: Path) -> None:
    """A writer that is nearly done does not cost the line; on a busy machine it may take several tries to be in time."""
    lock = tmp_path / ".lock"

    def appended_after_a_wait() -> bool:
        with ExitStack() as held:
            held.enter_context(locks.hold(lock))
            writer = threading.Timer(0.03, held.close)
            writer.start()
            is_held = not writer.finished.is_set()
            appended = fast.append_line(str(tmp_path / "x"), b"x\n", str(lock))
            writer.join()
        return is_held and appended

    assert any(appended_after_a_wait() for _ in range(50))


# Light


def bare(code: str, *arguments: object) -> str:
    """What the code prints in an interpreter as the hook starts it."""
    command = [sys.executable, "-I", "-S", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def state_file(home: Path, **fields: object) -> Path:
    path = home / ".local/state/leftoff/watch/claude-s-1.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "schema": 1,
        "fast_path": claude.here().fast_path,
        "about": "m",
        "next_mark_tokens": 700,
        "usable_tokens": 1000,
    } | fields
    path.write_text(json.dumps(state), encoding="utf-8")
    return path


def transcript(folder: Path, tokens: int, text: str = "") -> Path:
    content = [{"type": "text", "text": text}]
    message = {"id": text or "a", "model": "m", "usage": {"input_tokens": tokens}, "content": content}
    path = folder / "t.jsonl"
    path.write_text(json.dumps({"type": "assistant", "message": message}) + "\n", encoding="utf-8")
    return path


def event(name: str, folder: Path, **fields: object) -> dict[str, object]:
    common = {"session_id": "s-1", "transcript_path": str(folder / "t.jsonl"), "cwd": str(folder)}
    return common | {"hook_event_name": name} | fields


def test_it_loads_no_module_that_a_bare_interpreter_has_not_but_four(
    isolated_home: Path, tmp_path: Path
) -> None:
    """All in C; counted while it meters and records, because milliseconds cannot be compared."""
    listing = "import sys; print(*sorted(sys.modules))"
    run = (
        "import sys, posix\n"
        "with open(sys.argv[1], 'rb') as file: code = compile(file.read(), sys.argv[1], 'exec')\n"
        "names = {'__name__': 'fast'}\n"
        "exec(code, names)\n"
        "names['main'](['fast.py', 'claude'], posix.environ)\n"
        "print(*sorted(sys.modules))"
    )
    state_file(isolated_home, pause_id="p-1")
    pause = isolated_home / ".local/state/leftoff/pauses/claude-s-1.jsonl"
    pause.parent.mkdir()
    pause.touch()
    transcript(tmp_path, 500)
    command = [sys.executable, "-I", "-S", "-c", run, fast.__file__]
    raw = json.dumps(event("PostToolUse", tmp_path, tool_name="Read", tool_use_id="c-1"))
    done = subprocess.run(command, input=raw, capture_output=True, text=True, check=True, timeout=60)
    assert {*done.stdout.split()} - {*bare(listing).split()} <= {"fcntl", "errno", "time", "_json"}
    assert '"call_id": "c-1"' in pause.read_text(encoding="utf-8")


# What it decides: a stand-in for the full program says when it would be called


def environment_with(folder: Path) -> tuple[Path, Path]:
    """A virtual environment of its own, without anything in it: its interpreter and the place of its packages."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    (folder / "pyvenv.cfg").write_text(f"home = {python.resolve().parent}\n", encoding="utf-8")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    return python, packages


@pytest.fixture
def call(isolated_home: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """Calls the fast path as an agent does; the full program is one that notes its arguments and its standard input."""
    python, place = environment_with(tmp_path / "stand_in")
    package = place / "leftoff"
    package.mkdir()
    (package / "__init__.py").touch()
    noted = tmp_path / "noted"
    note = f"import sys; open({str(noted)!r}, 'a').write(' '.join(sys.argv[1:] + [str(len(sys.stdin.read()))]) + chr(10))"
    (package / "__main__.py").write_text(note, encoding="utf-8")

    def run(
        raw: dict[str, object] | bytes,
        agent: str = "claude",
        meanwhile: Callable[[subprocess.Popen[bytes]], None] = lambda _: None,
    ) -> list[str]:
        noted.unlink(missing_ok=True)
        data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
        command = [python, "-I", "-S", fast.__file__, agent]
        with subprocess.Popen(
            command, **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        ) as hook:
            threading.Thread(target=meanwhile, args=[hook]).start()
            printed = hook.communicate(data, timeout=60)
        assert (hook.returncode, *printed) == (0, b"", b""), printed
        return noted.read_text(encoding="utf-8").splitlines() if noted.exists() else []

    return run


def log_of(home: Path) -> str:
    own = home / ".local/state/leftoff/leftoff.log"
    return own.read_text(encoding="utf-8") if own.exists() else ""


Call = Callable[..., list[str]]


@pytest.mark.parametrize("name", ["SessionStart", "PreCompact", "PostCompact", "Whatever"])
def test_what_must_be_said_saved_or_restored_goes_to_the_full_program(
    call: Call, isolated_home: Path, tmp_path: Path, name: str
) -> None:
    """The event is handed on whole, whatever its size."""
    state_file(isolated_home)
    hook_event = event(name, tmp_path, filling="x" * 300_000)
    assert call(hook_event) == [f"hook claude {len(json.dumps(hook_event))}"]


@pytest.mark.parametrize(
    "name", ["PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "UserPromptSubmit"]
)
@pytest.mark.parametrize(
    ("tokens", "state", "is_due"),
    [
        (699, {}, False),
        (700, {}, True),
        (500, {"rearm_below_tokens": 501}, True),
        (500, {"rearm_below_tokens": 500}, False),
        (500, {"about": "another"}, True),
        (500, {"is_due": True}, True),
        (500, {"schema": 2}, True),
        (999, {"next_mark_tokens": None}, False),
    ],
)
def test_a_look_at_the_gauge_decides(
    call: Call,
    isolated_home: Path,
    tmp_path: Path,
    name: str,
    tokens: int,
    state: dict[str, object],
    is_due: bool,
) -> None:
    """The numbers of the state file are compared with the last reply."""
    transcript(tmp_path, tokens)
    state_file(isolated_home, **state)
    assert bool(call(event(name, tmp_path, prompt="go"))) is is_due


@pytest.mark.parametrize("rules", [None, {}, "unheard of", {"events": 5}, {"events": {"Stop": "unheard of"}}])
def test_without_rules_every_event_goes_to_the_full_program(
    call: Call, isolated_home: Path, tmp_path: Path, rules: object
) -> None:
    """A state of an older leftoff has none, nor has an agent without any: the full program is slower and always right."""
    transcript(tmp_path, 500)
    state_file(isolated_home, fast_path=rules, tail="replies")
    assert call(event("Stop", tmp_path))
    assert log_of(isolated_home) == ""


@pytest.mark.parametrize(
    "rules", [{"usage": 5}, {"usage": [{}]}, {"usage": [{"where": {}}]}, {"marks": [1]}, {"skip": [[]]}]
)
def test_rules_that_make_no_sense_never_harm(
    call: Call, isolated_home: Path, tmp_path: Path, rules: dict[str, object]
) -> None:
    """The mistake is one line in the log; the exit code is 0 and nothing is printed, which ``call`` checks."""
    transcript(tmp_path, 500)
    state_file(isolated_home, fast_path={"events": {"Stop": "stop"}} | rules)
    assert call(event("Stop", tmp_path)) == []
    assert "fast path: " in log_of(isolated_home)


def test_an_agents_own_events_and_lines_are_read_by_its_rules(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """Another agent's names for events, keys and compactions, all from the state file."""
    rules = {
        "events": {"AfterTurn": "stop", "AfterTool": "tools"},
        "usage": [{"where": {"kind": "reply"}, "add": ["stats.in", "stats.out"], "about": ["model"]}],
        "compaction": [{"where": {"kind": "squeezed"}, "tokens": "left"}],
    }
    state_file(isolated_home, fast_path=rules)
    path = tmp_path / "t.jsonl"
    for tokens, is_due in ((599, False), (600, True)):
        line = {"kind": "reply", "model": "m", "stats": {"in": tokens, "out": 100}}
        path.write_text(json.dumps(line) + '\n{"kind": "note"}\n', encoding="utf-8")
        assert bool(call(event("AfterTurn", tmp_path))) is is_due
    path.write_text(path.read_text(encoding="utf-8") + '{"kind": "squeezed", "left": 5}\n', encoding="utf-8")
    assert not call(event("AfterTool", tmp_path))
    assert call(event("Stop", tmp_path)), "an event that it does not name"


def test_switched_off_only_a_prompt_asks_whether_it_still_is(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """Switching on again is noticed at the next prompt, and a tool call costs nothing."""
    transcript(tmp_path, 999)
    state_file(isolated_home, off=True)
    assert [bool(call(event(name, tmp_path, prompt="go"))) for name in (*TOOLS, "Stop")] == [False] * 4
    assert call(event("UserPromptSubmit", tmp_path, prompt="go"))


@pytest.mark.parametrize(
    "torn",
    ['{"type":"assistant","message":{"usage":{"input_tokens": 9', '{"input_tokens"', '{"input_tokens" 1}'],
)
def test_a_torn_line_is_passed_over(call: Call, isolated_home: Path, tmp_path: Path, torn: str) -> None:
    """The lines before a torn one are read."""
    path = transcript(tmp_path, 999)
    path.write_text(path.read_text(encoding="utf-8") + torn, encoding="utf-8")
    state_file(isolated_home)
    assert call(event("PostToolBatch", tmp_path))
    assert log_of(isolated_home) == ""


@pytest.mark.parametrize("raw", [b"", b" \n"])
def test_no_input_causes_no_error(call: Call, isolated_home: Path, raw: bytes) -> None:
    """A client that is ended while it calls us; nothing is noted."""
    state_file(isolated_home)
    assert call(raw) == []
    assert log_of(isolated_home) == ""


def test_a_large_tail_is_looked_at_once(call: Call, isolated_home: Path, tmp_path: Path) -> None:
    """What no reply has counted yet may cross a mark; the full program estimates it, and is not asked again for the same."""
    path = transcript(tmp_path, 500)
    path.write_bytes(path.read_bytes() + b'{"type":"user"}\n' * 2000)
    state_file(isolated_home)
    assert call(event("PostToolBatch", tmp_path))
    state_file(isolated_home, looked_bytes=path.stat().st_size)
    assert not call(event("PostToolBatch", tmp_path))


@pytest.mark.parametrize(
    "prompt",
    [">pins", "  >pin x", ">PINS", ">trim 800", "Save progress", "done for today.", "continue project 3"],
)
def test_a_typed_trigger_goes_to_the_full_program(
    call: Call, isolated_home: Path, tmp_path: Path, prompt: str
) -> None:
    """The full program answers it."""
    state_file(isolated_home)
    assert call(event("UserPromptSubmit", tmp_path, prompt=prompt))
    assert not call(event("UserPromptSubmit", tmp_path, prompt="please " + prompt))


@pytest.mark.parametrize("prompt", ["> a quotation", ">resume work on the parser", ">pin a\nb", ">trimmed"])
def test_what_only_begins_like_a_trigger_needs_no_full_program(
    call: Call, isolated_home: Path, tmp_path: Path, prompt: str
) -> None:
    """The same function decides in both programs."""
    state_file(isolated_home)
    assert not call(event("UserPromptSubmit", tmp_path, prompt=prompt))


@pytest.mark.parametrize("prompt", ["continue", "resume", ">pins", " pins"])
@pytest.mark.parametrize("prefix", ["", " "])
def test_without_a_prefix_nothing_is_a_trigger(prompt: str, prefix: str) -> None:
    """A prompt that is one would not be sent."""
    assert fast.parse_trigger(prompt, prefix) is None


@pytest.mark.parametrize("prompt", GOING_ON.splitlines())
def test_every_prompt_that_asks_to_continue_goes_to_the_full_program(prompt: str) -> None:
    """The fast path only looks for words."""
    assert fast.may_ask_to_continue(prompt)


@given(
    st.lists(
        st.sampled_from(sorted({*" ".join(GOING_ON.split()).split(" "), "\n", "up", "again", "it", "back"})),
        max_size=7,
    )
)
def test_no_prompt_that_asks_to_continue_is_missed(words: list[str]) -> None:
    prompt = " ".join(words)
    assert fast.may_ask_to_continue(prompt) or not asks_to_continue(prompt)


@pytest.mark.parametrize(
    "prompt", ["Fix the mistake in somewhere.py", "Where is the parser?", "Run the tests.\nThen continue."]
)
def test_words_that_only_look_like_continuing_need_no_full_program(prompt: str) -> None:
    """A few words, in the first line."""
    assert not fast.may_ask_to_continue(prompt)


@pytest.mark.parametrize("may_continue", [True, False])
def test_a_later_prompt_goes_to_the_full_program_only_if_it_may_take_up_an_offer(
    call: Call, isolated_home: Path, tmp_path: Path, may_continue: bool
) -> None:
    """Other prompts cost no more than before."""
    state_file(isolated_home, may_continue=may_continue)
    assert bool(call(event("UserPromptSubmit", tmp_path, prompt="Please continue"))) == may_continue
    assert not call(event("UserPromptSubmit", tmp_path, prompt="What does this do?"))


def test_the_first_turn_ends_with_the_full_program_if_a_log_is_being_saved(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """It has a message about that log. Prompts and tool calls do not wait for it."""
    state_file(isolated_home, expects_log=True)
    assert call(event("Stop", tmp_path))
    assert not call(event("UserPromptSubmit", tmp_path, prompt="What does this do?"))
    assert not call(event("PostToolBatch", tmp_path))


# The end of a turn, before its reply is written


def ended_turn(folder: Path) -> tuple[Path, bytes, dict[str, object]]:
    """A turn whose reply crosses a mark and is not in the transcript yet: the transcript, the reply, the event."""
    reply = transcript(folder, 800, "All of it\n\nis done. ").read_bytes()
    path = transcript(folder, 500, "Half of it is done.")
    return path, reply, event("Stop", folder, last_assistant_message="All of it\n\nis done.")


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="sees in /proc that the hook reads the transcript"
)
def test_a_reply_that_is_written_a_moment_after_the_end_of_its_turn_is_waited_for(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """The threshold that it crosses is then announced at once, not with the next prompt."""
    state_file(isolated_home)

    def is_noticed() -> bool:
        path, reply, stop = ended_turn(tmp_path)

        def write_reply(hook: subprocess.Popen[bytes]) -> None:
            while hook.poll() is None and not has_open(hook.pid, path):
                time.sleep(0.001)
            with path.open("ab") as file:
                file.write(reply)

        return call(stop, meanwhile=write_reply) != []

    # Most of the time: on a busy machine the reply may come too late, or so early that nothing is waited for.
    assert sum(is_noticed() for _ in range(20)) > 10


def test_a_reply_that_never_comes_ends_the_wait(call: Call, isolated_home: Path, tmp_path: Path) -> None:
    """Nothing is said and nothing fails."""
    state_file(isolated_home)
    _, _, stop = ended_turn(tmp_path)
    assert call(stop) == []
    assert log_of(isolated_home) == ""


def test_a_reply_that_was_written_in_time_is_noticed(call: Call, isolated_home: Path, tmp_path: Path) -> None:
    """The usual case, also where lines without a usage follow the reply."""
    state_file(isolated_home)
    path, reply, stop = ended_turn(tmp_path)
    with path.open("ab") as file:
        file.write(reply + b'{"type": "attachment"}\n{"type": "last-prompt"}\n')
    assert call(stop)


def has_open(pid: int, path: Path) -> bool:
    """Whether a process has a file open; its entries in /proc may disappear at any time."""
    try:
        return any(each.readlink() == path for each in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def test_a_subagent_is_recorded_and_never_handed_over(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """The recorded line names the subagent, and its usage is not measured."""
    transcript(tmp_path, 999)
    state_file(isolated_home, pause_id="p-1", is_due=True, used_fraction=0.5)
    pause = isolated_home / ".local/state/leftoff/pauses/claude-s-1.jsonl"
    pause.parent.mkdir()
    pause.touch()
    calls = [{"tool_name": 'Re"ad', "tool_use_id": "c-1"}, {"tool_name": "é", "tool_use_id": "c-2"}, 5]
    assert not call(event("PostToolBatch", tmp_path, agent_id="sub-1", tool_calls=calls))
    lines = [PauseAction.from_json_line(line) for line in pause.read_text(encoding="utf-8").splitlines()]
    assert [line.data for line in lines] == [
        {"tool": 'Re"ad', "call_id": "c-1", "actor": "sub-1"},
        {"tool": "é", "call_id": "c-2", "actor": "sub-1"},
    ]
    assert {(line.type, line.session_id, line.context_percentage) for line in lines} == {
        ("tool_call", "p-1", 0.5)
    }


def test_prompts_and_ends_of_turns_are_recorded_with_their_position(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """A recorded action has its type, offset and share of the window, but no text."""
    size = transcript(tmp_path, 650).stat().st_size
    state_file(isolated_home, pause_id="p-1")
    pause = isolated_home / ".local/state/leftoff/pauses/claude-s-1.jsonl"
    pause.parent.mkdir()
    pause.touch()
    assert not call(event("UserPromptSubmit", tmp_path, prompt="the secret"))
    assert not call(event("Stop", tmp_path, last_assistant_message="the secret"))
    lines = [PauseAction.from_json_line(line) for line in pause.read_text(encoding="utf-8").splitlines()]
    assert [(line.type, line.data, line.context_percentage) for line in lines] == [
        ("user_message", {"offset": size}, 0.65),
        ("assistant_response", {"offset": size}, 0.65),
    ]


def test_a_pause_that_was_ended_meanwhile_is_not_begun_again(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """The full program is asked to forget the pause; the event of a subagent is ignored without an error."""
    transcript(tmp_path, 650)
    state_file(isolated_home, pause_id="p-1")
    (isolated_home / ".local/state/leftoff/pauses").mkdir()
    assert call(event("Stop", tmp_path))
    assert not call(event("PostToolUse", tmp_path, agent_id="a-1", tool_name="Read", tool_use_id="c"))
    assert not log_of(isolated_home)
    assert not (isolated_home / ".local/state/leftoff/pauses/claude-s-1.jsonl").exists()


def test_enough_new_records_are_folded_by_a_process_of_its_own(
    call: Call, isolated_home: Path, tmp_path: Path
) -> None:
    """The process is started only at the end of a turn, and the hook does not wait for it."""
    path = transcript(tmp_path, 500)
    path.write_bytes(b'{"type":"user"}\n' * 5000 + path.read_bytes())
    state_file(isolated_home)
    assert not call(event("PostToolBatch", tmp_path))
    raw = json.dumps(event("Stop", tmp_path)).encode() + b" " * 9
    assert call(raw.rstrip() + b"\n") in ([], ["hook claude fold s-1 0"])
    deadline = time.monotonic() + 60
    noted = tmp_path / "noted"
    while time.monotonic() < deadline and not (noted.exists() and noted.stat().st_size):
        time.sleep(0.01)
    assert noted.read_text(encoding="utf-8") == "hook claude fold s-1 0\n"
    state_file(isolated_home, folded_bytes=path.stat().st_size - 1000)
    assert not call(event("Stop", tmp_path))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"a": 1}{"b": 2}',
        b"\xff\xfe",
        b'{"hook_event_name": "Stop", "session_id": 5}',
    ],
)
def test_what_is_not_an_event_is_nothing(call: Call, isolated_home: Path, raw: bytes) -> None:
    """Invalid input is ignored and never blocks the agent with an exit code."""
    assert call(raw) == []


@pytest.mark.parametrize("session", ["../../x", "a/b", ".x", "x" * 200, "", "x."])
def test_an_id_that_leads_elsewhere_is_nothing(
    call: Call, isolated_home: Path, tmp_path: Path, session: str
) -> None:
    """Parts of paths come from an event and must be checked."""
    assert call(event("SessionStart", tmp_path) | {"session_id": session}) == []
    assert call(event("SessionStart", tmp_path), agent="../x") == []


def test_a_switch_makes_it_silent(
    call: Call, isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``LEFTOFF_DISABLE=1`` ends the program before it reads anything, and 0 has no effect."""
    monkeypatch.setenv("LEFTOFF_DISABLE", "1")
    assert call(event("SessionStart", tmp_path)) == []
    monkeypatch.setenv("LEFTOFF_DISABLE", "0")
    assert call(event("SessionStart", tmp_path))


def test_where_nothing_can_be_kept_nothing_is_begun(call: Call, isolated_home: Path, tmp_path: Path) -> None:
    """A file in the place of our folder: the full program would work in vain at every event."""
    (isolated_home / ".local").mkdir()
    (isolated_home / ".local/state").write_bytes(b"")
    assert call(event("SessionStart", tmp_path)) == []


def test_its_state_folder_is_that_of_the_full_program(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable may be set, empty or a relative path."""
    for named in (str(isolated_home / "elsewhere"), "", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", named)
        environment = {name.encode(): value.encode() for name, value in paths.environment().items()}
        assert fast.state_folder(environment) == str(paths.state_folder())
    assert fast.state_folder({}) is None


def test_its_own_log_is_that_of_the_full_program_and_stays_small(isolated_home: Path) -> None:
    """One line each, whatever the words; a full log makes place for a new one."""
    folder = paths.state_folder()
    folder.mkdir(parents=True)
    fast.note(str(folder), "one\nline")
    log.write_line("an\nother")
    lines = log.log_path().read_text(encoding="utf-8").splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["one line", "an other"]
    for write in (lambda words: fast.note(str(folder), words), log.write_line):
        log.log_path().write_bytes(b"x" * (2 * 1024 * 1024))
        write("new")
        assert log.log_path().read_text(encoding="utf-8").endswith(" new\n")
        assert log.log_path().stat().st_size < 100
    fast.note(str(folder / "nowhere"), "lost")
    fast.note(None, "lost")


def test_it_judges_names_as_the_full_program_does() -> None:
    """Ids are checked like in the full program, except for device names of other systems."""
    for text in (
        "a",
        "a.b-c_d",
        "A1",
        ".a",
        "-a",
        "_a",
        "a..b",
        "a.",
        "a/b",
        "a b",
        "é",
        "",
        "x" * 128,
        "x" * 129,
    ):
        try:
            clock.check_id(text)
        except InvalidIdError:
            assert not fast._is_name(text), text
        else:
            assert fast._is_name(text), text


def test_it_runs_as_a_file_of_its_own_without_the_package(tmp_path: Path) -> None:
    """Copied out of the package and run as the hook runs it, it does nothing and says nothing."""
    copy = tmp_path / "fast.py"
    copy.write_bytes(Path(fast.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", copy], capture_output=True, check=False, timeout=60, env={}, cwd="/"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# The same in this process, where it can be seen line by line


@pytest.mark.parametrize("name", ["PostToolUse", "PostToolBatch", "UserPromptSubmit", "Stop"])
def test_an_event_with_nothing_to_say_only_records(isolated_home: Path, tmp_path: Path, name: str) -> None:
    """The line is the one that the pause's readers expect."""
    transcript(tmp_path, 650)
    state_file(isolated_home, pause_id="p-1")
    folder = isolated_home / ".local/state/leftoff"
    (folder / "pauses").mkdir()
    pause = folder / "pauses" / "claude-s-1.jsonl"
    pause.touch()
    hook_event = event(
        name, tmp_path, prompt="go", tool_name="Read", tool_use_id="c", tool_calls=[{"tool_name": "Read"}]
    )
    fast._handle("claude", str(folder), json.dumps(hook_event).encode())
    (line,) = pause.read_text(encoding="utf-8").splitlines()
    assert PauseAction.from_json_line(line).context_percentage == 0.65


@pytest.mark.parametrize(
    ("prompt", "state", "seen", "is_due"),
    [
        (None, {"is_due": True}, None, True),
        (None, {}, None, False),
        (">pins", {}, None, True),
        ("!pins", {"triggers_prefix": "!"}, None, True),
        ("hello", {}, None, False),
        (None, {"about": "m"}, (5, 10, "n", 10), True),
        (None, {"about": "m"}, (None, 10, "m", 10), False),
        (None, {"about": "m", "next_mark_tokens": 5}, (5, 10, "m", 10), True),
        (None, {"about": "m", "next_mark_tokens": 6}, (5, 10, "m", 10), False),
        (None, {"about": "m", "next_mark_tokens": 6, "rearm_below_tokens": 6}, (5, 10, None, 10), True),
        (None, {"about": "m", "next_mark_tokens": 9_000}, (5, 10, None, 20_010), True),
        (
            None,
            {"next_mark_tokens": 9_000},
            (5, 10, None, 20_010),
            False,
        ),  # the task after the first turn looks
        (None, {"next_mark_tokens": 9_000, "looked_bytes": 20_000}, (5, 10, None, 20_010), False),
    ],
)
def test_whole_numbers_decide(
    prompt: str | None,
    state: dict[str, object],
    seen: tuple[int | None, int, str | None, int] | None,
    is_due: bool,
) -> None:
    """Numbers from the state decide whether there is anything to say, save or restore."""
    assert fast._is_due("prompt" if prompt else "tools", {"prompt": prompt}, state, seen) is is_due


def test_free_space_is_checked_before_the_full_program_is_called(tmp_path: Path) -> None:
    """Missing folders are created, and nothing is left behind."""
    assert fast._can_write(str(tmp_path / "a" / "b"))
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == [".lock"]
    (tmp_path / "file").touch()
    assert not fast._can_write(str(tmp_path / "file"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        assert not fast._can_write(str(tmp_path / "a" / "b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_main_is_always_0(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is 0 if leftoff is switched off, called wrongly or has no home."""
    home = {b"HOME": str(isolated_home).encode()}
    assert fast.main(["fast.py", "claude"], home | {b"LEFTOFF_DISABLE": b"1"}) == 0
    assert fast.main(["fast.py"], home) == 0
    assert fast.main(["fast.py", "claude"], {}) == 0
    assert log_of(isolated_home) == ""
