"""Hook events of the agents that have them: read from what the real clients sent, answered as they honour it."""

import json
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.agents.codex import events
from leftoff.core.hook_event import NO_RESPONSE, CalledTool, HookResponse
from leftoff.core.protocols import CanResume, HasEvents
from leftoff.testing.hook_promises import EventPromises

COMMON = {"session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": "/work"}
AGENTS = {"claude": claude.here, "codex": codex.here}


def event(whose, name, /, **fields):
    return AGENTS[whose]().event(COMMON | {"hook_event_name": name} | fields)


@pytest.mark.parametrize("agent_id", AGENTS)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SessionStart", "start"),
        ("UserPromptSubmit", "prompt"),
        ("PostToolUse", "tools"),
        ("Stop", "stop"),
        ("PreCompact", "before_compaction"),
        ("SessionEnd", "end"),
        ("SomethingNew", "other"),
    ],
)
def test_events_have_one_meaning_for_all_agents(agent_id, name, kind):
    """An event has the same kind whatever the agent calls it."""
    found = event(agent_id, name, source="resume", prompt="p", reason="clear", agent_id="sub")
    assert (found.kind, found.name, found.session_id, found.transcript, found.folder) == (
        kind,
        name,
        "s-1",
        "/t.jsonl",
        "/work",
    )
    assert (found.source, found.prompt, found.reason, found.actor) == ("resume", "p", "clear", "sub")
    assert isinstance(AGENTS[agent_id](), HasEvents)


@pytest.mark.parametrize("agent_id", AGENTS)
@pytest.mark.parametrize(
    "data", [{}, {"hook_event_name": "Stop"}, {"session_id": "s"}, {"hook_event_name": 5, "session_id": []}]
)
def test_an_object_that_is_not_an_event_gives_none(agent_id, data):
    assert AGENTS[agent_id]().event(data) is None


def test_fields_of_another_type_count_as_missing():
    """A client may change what it sends."""
    found = event("claude", "PostToolBatch", tool_calls=[5, {"tool_name": 7}], prompt=[], source="elsewhere")
    assert found.tools == (CalledTool(tool="", call_id=None),)
    assert (found.prompt, found.source) == (None, None)
    assert event("claude", "PostToolBatch", tool_calls="x").tools == ()


def test_calls_come_one_by_one_or_as_a_batch():
    """Older clients call the hook for each tool call, newer ones once per batch."""
    one = event("codex", "PostToolUse", tool_name="Bash", tool_use_id="c-1")
    many = event("claude", "PostToolBatch", tool_calls=[{"tool_name": "Read", "tool_use_id": "c-2"}])
    assert one.tools == (CalledTool(tool="Bash", call_id="c-1"),)
    assert many.tools == (CalledTool(tool="Read", call_id="c-2"),)


@pytest.mark.parametrize("agent_id", AGENTS)
def test_nothing_to_say_prints_nothing(agent_id):
    for name in (
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "PreCompact",
        "SessionEnd",
    ):
        assert AGENTS[agent_id]().reply(event(agent_id, name), NO_RESPONSE) == b""


@pytest.mark.parametrize("agent_id", AGENTS)
@pytest.mark.parametrize(
    ("name", "heard"),
    [
        ("SessionStart", {"systemMessage", "hookSpecificOutput"}),
        ("UserPromptSubmit", {"systemMessage", "hookSpecificOutput"}),
        ("PostToolUse", {"systemMessage", "hookSpecificOutput"}),
        ("Stop", {"systemMessage"}),
    ],
)
def test_a_reply_holds_only_what_the_agent_honours(agent_id, name, heard):
    """Additional context at the end of a turn would make the agent continue."""
    agent, hook_event = AGENTS[agent_id](), event(agent_id, name)
    reply = json.loads(agent.reply(hook_event, HookResponse(to_user="u", to_agent="a", to_summariser="s")))
    assert {*reply} == heard
    if "hookSpecificOutput" in heard:
        assert reply["hookSpecificOutput"] == {"hookEventName": name, "additionalContext": "a"}


def test_the_summariser_gets_plain_text_or_nothing():
    """Claude Code refuses a JSON object there, and Codex accepts nothing."""
    saying = HookResponse(to_summariser="keep it", to_user="u")
    assert claude.here().reply(event("claude", "PreCompact"), saying) == b"keep it"
    assert codex.here().reply(event("codex", "PreCompact"), saying) == b""


@pytest.mark.parametrize("agent_id", AGENTS)
def test_a_prompt_for_leftoff_is_blocked(agent_id):
    """The answer to it is the reason."""
    reply = AGENTS[agent_id]().reply(
        event(agent_id, "UserPromptSubmit"), HookResponse(to_user="pinned", blocks=True)
    )
    answer = json.loads(reply)
    assert answer.pop("decision") == "block"
    assert answer.pop("reason").splitlines()[0] == "pinned"
    suppressed = {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}
    # Codex refuses an answer with a key that it does not know, and sends the prompt to the model.
    assert answer == ({"hookSpecificOutput": suppressed} if agent_id == "claude" else {})


def test_claude_code_names_its_process_and_headless_runs(monkeypatch):
    """Claude Code sets variables for its process id and for headless runs."""
    monkeypatch.setenv("CLAUDE_PID", "4711")
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
    found = event("claude", "SessionStart")
    assert (found.client_pid, found.is_headless) == (4711, True)
    monkeypatch.setenv("CLAUDE_PID", "x")
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    found = event("claude", "SessionStart")
    assert (found.client_pid, found.is_headless) == (None, False)


def rollout(path: Path, *lines) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_codex_is_known_by_its_rollout(tmp_path):
    """The source says whether it is headless."""
    meta = {"type": "session_meta", "payload": {"id": "s", "source": "exec"}}
    path = tmp_path / "r.jsonl"
    assert event("codex", "Stop", transcript_path=rollout(path, meta)).is_headless is True
    assert event("codex", "Stop", transcript_path="/nowhere").is_headless is False
    assert events._source(Path(rollout(path))) is None
    assert event("codex", "Stop", transcript_path=None).is_headless is False


def test_codex_is_two_processes_up(run_python):
    """The shell that runs the hook is between."""
    code = (
        "import subprocess, sys, os\n"
        "inner = 'from leftoff.platform import process as liveness; print(liveness.grandparent_pid())'\n"
        "said = subprocess.run(['sh', '-c', f'{sys.executable} -c \"{inner}\"; true'], capture_output=True, text=True)\n"
        "print(int(said.stdout) == os.getpid())"
    )
    assert run_python(code).stdout == "True\n"


@pytest.mark.parametrize("agent_id", AGENTS)
def test_the_resume_command_names_the_session(agent_id):
    agent = AGENTS[agent_id]()
    assert isinstance(agent, CanResume)
    assert agent.resume_command("s-1")[0] == agent_id
    assert agent.resume_command("s-1")[-1] == "s-1"


@pytest.mark.parametrize("agent_id", AGENTS)
def test_events_of_the_real_clients_are_parsed(agent_id, real_transcripts):
    """Every event that was recorded of them."""
    samples = real_transcripts.parent / "facts" / "samples"
    found = [*samples.glob(f"{agent_id}-*-hook-inputs.jsonl")]
    if not found:
        pytest.skip(f"no recorded hook inputs at {samples}")
    agent, kinds = AGENTS[agent_id](), set()
    for line in found[0].read_text("utf-8").splitlines():
        recorded = json.loads(line)
        understood = agent.event(recorded.get("input", recorded))
        assert understood is not None
        assert Path(understood.folder).is_absolute()
        kinds.add(understood.kind)
    assert {"start", "prompt", "tools", "stop", "before_compaction", "end"} <= kinds


def sent(*names):
    kinds = ("start", "prompt", "tools", "stop", "before_compaction", "end")
    return {kind: COMMON | {"hook_event_name": name} for kind, name in zip(kinds, names, strict=True)}


class TestClaude(EventPromises):
    def make_agent(self, home):
        return claude.Claude(home=home)

    def events(self):
        return sent(
            "SessionStart",
            "UserPromptSubmit",
            "PostToolBatch",
            "Stop",
            "PreCompact",
            "SessionEnd",
        )


class TestCodex(EventPromises):
    def make_agent(self, home):
        return codex.Codex(home)

    def events(self):
        return sent(
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "Stop",
            "PreCompact",
            "SessionEnd",
        )
