"""Smaller sessions by leftoff's commands: the real clients continue them, and removed content can be restored."""

from pathlib import Path
from typing import Any

from directives import tool
from drive import Agent
from installation import check_nothing_logged, install, run_leftoff, run_leftoff_json
from received import Message
from sandbox import MOUNT_POINT, Sandbox
from scenario import AGENTS, blocks_of_type, has_text, has_tool_result, require_success, scenario, shell_call
from scenarios.next_session import session_id
from scenarios.subagent import subagent_call
from screens import CLEAR_LINE, READY_FOR_PROMPT, TURN_ENDED, requests_with, screen_options, submit
from terminal import Terminal

RULE = "Never push to main."
PLACEHOLDER = "[Results from "
PART_OF_ORIGINAL = "\n1500\n"
OTHER_AGENT = {"claude": "codex", "codex": "claude"}
EXIT_COMMAND = {"claude": "/exit", "codex": "/quit"}


@scenario(clients=("claude", "codex"))
def trim_and_untrim(agent: Agent, sandbox: Sandbox) -> None:
    """A trimmed copy is continued for five turns, one of them in a fork; untrim restores the originals and keeps the turns."""
    source = full_session(agent, sandbox)
    trimmed = shrink(sandbox, "trim")
    assert trimmed["tools_trimmed"] > 0
    run = require_success(
        agent.resume(sandbox, path_outside(trimmed["output_file"], sandbox), "Turn 1.\n#say answer 1")
    )
    assert [request.kind for request in run.requests] == ["reply"], "the copy was compacted"
    assert PLACEHOLDER in tool_results(run.last_messages)
    assert PART_OF_ORIGINAL not in tool_results(run.last_messages), "the original was sent"
    for turn in (2, 3, 4):
        run = require_success(agent.resume(sandbox, run.transcript, f"Turn {turn}.\n#say answer {turn}"))
    forked = require_success(agent.fork(sandbox, run.transcript, "Turn 5.\n#say answer 5"))
    assert forked.transcript != run.transcript

    fork = str(sandbox.path_inside(forked.transcript))
    chain = [each["session_id"] for each in run_leftoff_json(sandbox, "lineage", fork)["chain"]]
    assert chain[0] == session_id(source), chain
    assert session_id(forked.transcript) == chain[-1], chain
    assert trimmed["session_id"] in chain, "the fork has lost its connection to the trimmed session"

    restored = run_leftoff_json(sandbox, "untrim", fork)
    assert restored["left"] == []
    resumed = require_success(
        agent.resume(sandbox, path_outside(restored["output_file"], sandbox), "And now?\n#say whole again")
    )
    assert PART_OF_ORIGINAL in tool_results(resumed.last_messages)
    assert PLACEHOLDER not in tool_results(resumed.last_messages)
    for turn in range(1, 6):
        assert has_text(resumed.last_messages, "assistant", f"answer {turn}"), turn


@scenario(clients=("claude", "codex"))
def smart_trim_and_rollover(agent: Agent, sandbox: Sandbox) -> None:
    """Smart-trimmed and rolled-over sessions are continued, the latter in the other agent too; `expand` shows an original."""
    full_session(agent, sandbox)
    trimmed = shrink(sandbox, "smart-trim")
    assert trimmed["tokens_saved"] > 0
    prompt = "What now?\n#usage 60000\n#say smaller"
    run = require_success(agent.resume(sandbox, path_outside(trimmed["output_file"], sandbox), prompt))
    assert not run.summary_requests
    results = tool_results(run.last_messages)
    assert PLACEHOLDER in results
    key = results.partition("leftoff expand ")[2].partition("]")[0]
    assert "1500" in run_leftoff(sandbox, "expand", key)

    rolled_over = shrink(sandbox, "rollover", trimmed["session_id"])
    assert rolled_over["tokens_saved"] > 0
    run = require_success(
        agent.resume(sandbox, path_outside(rolled_over["output_file"], sandbox), "Continue.\n#say continued")
    )
    assert not run.summary_requests
    assert has_text(run.last_messages, "user", "[SESSION LINEAGE]")
    assert has_text(run.last_messages, "user", RULE)
    assert PLACEHOLDER not in tool_results(run.last_messages)

    other = AGENTS[OTHER_AGENT[agent.name]]
    other.configure(sandbox.home, sandbox.path_inside(sandbox.project))
    there = shrink(sandbox, "rollover", rolled_over["session_id"], "--to", other.name)
    with Sandbox(other) as other_sandbox:
        transcript = path_outside(there["output_file"], sandbox)
        run = require_success(other.resume(other_sandbox, transcript, "Continue.\n#say over here"))
        assert has_text(run.last_messages, "user", RULE)
        assert has_text(run.last_messages, "user", "(continued)")


@scenario(clients=("claude", "codex"))
def run_continues_after_trim(agent: Agent, sandbox: Sandbox) -> None:
    """Under `leftoff run`, `>trim yes` and exit start the client again in the trimmed copy."""
    exit_and_continue(agent, sandbox, ">trim yes")
    last_request = requests_with(sandbox.conversation(), "And now?")[-1]
    assert PLACEHOLDER in tool_results(last_request.messages)
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def run_continues_after_handoff(agent: Agent, sandbox: Sandbox) -> None:
    """Under `leftoff run`, `>handoff` and exit start the client again in a new session with the old one's rules."""
    exit_and_continue(agent, sandbox, ">handoff")
    assert has_text(request_of_derived_session(sandbox, "And now?"), "user", RULE)
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def smaller_sessions_on_screen(agent: Agent, sandbox: Sandbox) -> None:
    """Trimmed, smart-trimmed and rolled-over sessions open on the client's own screen, in a home that it has used before."""
    install(agent, sandbox)
    options = screen_options(agent, sandbox)
    with sandbox.open_screen(options) as screen:
        read_large_results(agent, screen)
    (source,) = agent.transcripts(sandbox)
    for number, verb in enumerate(("trim", "smart-trim", "rollover")):
        smaller = run_leftoff_json(sandbox, verb, session_id(source))
        assert smaller["session_id"], verb
        _, *arguments = smaller["resume_command"].split()
        with sandbox.open_screen([*arguments, *options]) as screen:
            screen.wait_for(READY_FOR_PROMPT[agent.name])
            submit(agent, screen, f"And now, {verb}?", f"still here {number}")
        messages = request_of_derived_session(sandbox, f"And now, {verb}?")
        assert PART_OF_ORIGINAL not in tool_results(messages), verb


@scenario(clients=("claude",))
def subagent_in_trimmed_copy(agent: Agent, sandbox: Sandbox) -> None:
    """In a trimmed copy a subagent can be continued with its own history; the original's file does not change."""
    work = f"{subagent_call(agent, in_background=False)}\n{large_results(agent)}"
    run = require_success(agent.prompt(sandbox, f"Use a subagent.\n{work}\n#usage 60000\n#say all is done"))
    (file,) = run.transcript.with_suffix("").glob("subagents/agent-*.jsonl")
    before = file.read_bytes()
    copy = path_outside(run_leftoff_json(sandbox, "trim", run.transcript.stem)["output_file"], sandbox)
    message = {"summary": "continue", "message": "Continue.\n#say it continued"}
    call = tool("SendMessage", to=file.stem.removeprefix("agent-"), **message)
    resumed = require_success(agent.resume(sandbox, copy, f"Ask it again.\n{call}\n#say asked"))
    assert has_tool_result(resumed.last_messages, '"success":true'), resumed.last_messages[-2:]
    (request,) = [each for each in resumed.requests if each.is_subagent]
    assert has_tool_result(request.messages, "from-the-subagent"), "the subagent has lost its history"
    assert file.read_bytes() == before
    assert (copy.with_suffix("") / "subagents" / file.name).read_bytes() != before


def exit_and_continue(agent: Agent, sandbox: Sandbox, trigger: str) -> None:
    """Under `leftoff run`, type a trigger and exit; the client must start again and answer the next prompt."""
    install(agent, sandbox)
    options = screen_options(agent, sandbox)
    with sandbox.open_leftoff_screen("run", agent.name, *options) as screen:
        read_large_results(agent, screen)
        screen.type(trigger)
        screen.wait_for("starts it by itself")
        screen.press(CLEAR_LINE)
        screen.type(EXIT_COMMAND[agent.name])
        screen.wait_for("Continuing in session")
        screen.wait_for(READY_FOR_PROMPT[agent.name])
        submit(agent, screen, "And now?", "still here")


def read_large_results(agent: Agent, screen: Terminal) -> None:
    """Run the first turn on a screen to its end."""
    screen.wait_for(READY_FOR_PROMPT[agent.name])
    submit(agent, screen, f"Look at all of it. {RULE}\n{large_results(agent)}", "looked")
    screen.wait_for(TURN_ENDED[agent.name])


def request_of_derived_session(sandbox: Sandbox, text: str) -> list[Message]:
    """Return the last request of a session made by leftoff in which the user says this.

    Every such request must name the session's origin, except requests for a title (``side``), in which Codex quotes the prompt.
    """
    requests = requests_with(sandbox.requests(), text)
    kinds = [request.kind for request in requests]
    replies = [request.messages for request in requests if request.kind == "reply"]
    assert replies, kinds
    assert {*kinds} <= {"reply", "side"}, kinds
    for messages in replies:
        assert has_text(messages, "user", "[SESSION LINEAGE]"), messages[-1]
    return replies[-1]


def large_results(agent: Agent) -> str:
    """Return directives for calls with large results, one of them repeated and so stale, and six recent calls to keep."""
    large = ["seq 1 2000", "seq 1 2000", "seq 2001 4000", "seq 4001 5500", "seq 6001 8000"]
    recent = [f"echo last {number}" for number in range(6)]
    return "\n".join(shell_call(agent, command) for command in [*large, *recent])


def full_session(agent: Agent, sandbox: Sandbox) -> Path:
    """Run a session that ends with a full window: if it were resumed unchanged, it would be compacted at once."""
    prompt = f"Look at all of it. {RULE}\n{large_results(agent)}\n#usage {agent.full_tokens}\n#say looked"
    run = require_success(agent.prompt(sandbox, prompt))
    assert not run.summary_requests
    return run.transcript


def shrink(sandbox: Sandbox, *arguments: str) -> dict[str, Any]:
    """Run a command that makes a smaller session and check that its dry run predicted the savings."""
    predicted = run_leftoff_json(sandbox, *arguments, "--dry-run")
    result: dict[str, Any] = run_leftoff_json(sandbox, *arguments)
    assert result["session_id"]
    assert abs(predicted["tokens_saved"] - result["tokens_saved"]) <= 0.2 * result["tokens_saved"]
    return result


def tool_results(messages: list[Message]) -> str:
    return "\n".join(block["text"] for block in blocks_of_type(messages, "tool_result"))


def path_outside(path: str, sandbox: Sandbox) -> Path:
    """Return where a file that the client sees under this path really is."""
    return sandbox.disk / Path(path).relative_to(MOUNT_POINT)
