"""Smaller sessions by our own commands: the real clients go on from them, and what was cut can be had again."""

import json
from pathlib import Path
from typing import Any

from directives import tool
from drive import Agent
from received import Message, flat
from sandbox import INSIDE, Sandbox
from scenario import AGENTS, command, resulted, said, scenario, succeeded
from scenarios.compaction import FULL
from scenarios.filling_up import install, log_lines
from scenarios.left_off import ANSWER, CLEAR_LINE, OPEN, OVER, on_screen_trusted
from scenarios.subagent import errand
from terminal import Terminal

RULE = "Never push to main."
CUT = "[Results from "
OTHER = {"claude": "codex", "codex": "claude"}
EXIT = {"claude": "/exit", "codex": "/quit"}


@scenario(clients=("claude", "codex"))
def shrink_untrim(agent: Agent, sandbox: Sandbox) -> None:
    """A trimmed copy is gone on with for five turns, once through a fork; untrim gives the originals back with all of them."""
    source = full_session(agent, sandbox)
    made = shrunk(sandbox, "trim")
    assert made["tools_trimmed"] > 0
    run = succeeded(agent.resume(sandbox, outside(sandbox, made["output_file"]), "Turn 1.\n#say answer 1"))
    assert [request.kind for request in run.requests] == ["reply"], "it was compacted at once"
    assert CUT in results_of(run.last)
    assert "\n1500\n" not in results_of(run.last), "the original was sent"
    for turn in (2, 3, 4):
        run = succeeded(agent.resume(sandbox, run.transcript, f"Turn {turn}.\n#say answer {turn}"))
    forked = succeeded(agent.fork(sandbox, run.transcript, "Turn 5.\n#say answer 5"))
    assert forked.transcript != run.transcript

    chain = [
        each["session_id"] for each in asked(sandbox, "lineage", inside(sandbox, forked.transcript))["chain"]
    ]
    assert chain[0] == identity(source), chain
    assert identity(forked.transcript) == chain[-1], chain
    assert made["session_id"] in chain, "after the fork the trimmed session is no longer known"

    back = asked(sandbox, "untrim", inside(sandbox, forked.transcript))
    assert back["left"] == []
    resumed = succeeded(
        agent.resume(sandbox, outside(sandbox, back["output_file"]), "And now?\n#say whole again")
    )
    assert "\n1500\n" in results_of(resumed.last)
    assert CUT not in results_of(resumed.last)
    for turn in range(1, 6):
        assert said(resumed.last, "assistant", f"answer {turn}"), turn


@scenario(clients=("claude", "codex"))
def shrink_fresh(agent: Agent, sandbox: Sandbox) -> None:
    """Smart-trimmed and rolled-over sessions are gone on with, the latter in the other agent too; an original is expanded."""
    full_session(agent, sandbox)
    smart = shrunk(sandbox, "smart-trim")
    assert smart["tokens_saved"] > 0
    run = succeeded(
        agent.resume(sandbox, outside(sandbox, smart["output_file"]), "What now?\n#usage 60000\n#say smaller")
    )
    assert not run.summaries
    assert CUT in results_of(run.last)
    key = results_of(run.last).partition("leftoff expand ")[2].partition("]")[0]
    assert "1500" in sandbox.leftoff("expand", key).stdout

    fresh = shrunk(sandbox, "rollover", smart["session_id"])
    assert fresh["tokens_saved"] > 0
    run = succeeded(agent.resume(sandbox, outside(sandbox, fresh["output_file"]), "Go on.\n#say gone on"))
    assert not run.summaries
    assert said(run.last, "user", "[SESSION LINEAGE]")
    assert said(run.last, "user", RULE)
    assert CUT not in results_of(run.last)

    other = AGENTS[OTHER[agent.name]]
    other.configure(sandbox.home, sandbox.inside(sandbox.project))  # whoever has both has set up both
    there = shrunk(sandbox, "rollover", fresh["session_id"], "--to", OTHER[agent.name])
    with Sandbox(other) as elsewhere:
        run = succeeded(
            other.resume(elsewhere, outside(sandbox, there["output_file"]), "Go on.\n#say over here")
        )
        assert said(run.last, "user", RULE)
        assert said(run.last, "user", "(continued)")


@scenario(clients=("claude", "codex"))
def shrink_run(agent: Agent, sandbox: Sandbox) -> None:
    """Under `leftoff run`, `>trim yes` and exit go on by themselves in the trimmed copy."""
    go_on_by_itself(agent, sandbox, ">trim yes")
    last = [each for each in sandbox.conversation() if said(each.messages, "user", "And now?")][-1]
    assert CUT in results_of(last.messages)
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude", "codex"))
def shrink_handoff(agent: Agent, sandbox: Sandbox) -> None:
    """In a home that the client has been used in, `>handoff` and exit go on by themselves in a fresh session on its screen."""
    go_on_by_itself(agent, sandbox, ">handoff")
    assert said(derived(sandbox, "And now?"), "user", RULE)
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude", "codex"))
def shrink_on_screen(agent: Agent, sandbox: Sandbox) -> None:
    """Trimmed, smart-trimmed and rolled-over sessions open on the client's own screen, where it has been used before."""
    install(agent, sandbox)
    flags = on_screen_trusted(agent, sandbox)
    with sandbox.screen(flags) as screen:  # a used home: the client has noted what sessions there are
        look_at_all(agent, screen)
    (source,) = agent.transcripts(sandbox)
    for number, verb in enumerate(("trim", "smart-trim", "rollover")):
        made = asked(sandbox, verb, identity(source))
        assert made["session_id"], verb
        _, *arguments = made["resume_command"].split()
        with sandbox.screen([*arguments, *flags]) as screen:
            screen.wait_for(OPEN[agent.name])
            screen.type(f"And now, {verb}?\n#say still here {number}")
            screen.wait_for(f"{ANSWER[agent.name]} still here {number}")
        assert "\n1500\n" not in results_of(derived(sandbox, f"And now, {verb}?")), verb


@scenario(clients=("claude",))
def shrink_subagent(agent: Agent, sandbox: Sandbox) -> None:
    """In a trimmed copy a subagent can be told to go on, with what it has done before; the original's file stays as it was."""
    errands = f"{errand(agent, in_background=False)}\n{much(agent)}\n#usage 60000\n#say all is done"
    run = succeeded(agent.prompt(sandbox, f"Send somebody.\n{errands}"))
    (own,) = run.transcript.with_suffix("").glob("subagents/agent-*.jsonl")
    before = own.read_bytes()
    copy = outside(sandbox, asked(sandbox, "trim", run.transcript.stem)["output_file"])
    again = tool(
        "SendMessage", to=own.stem.removeprefix("agent-"), summary="go on", message="Go on.\n#say it went on"
    )
    resumed = succeeded(agent.resume(sandbox, copy, f"Ask them again.\n{again}\n#say asked"))
    assert resulted(resumed.last, '"success":true'), resumed.last[-2:]
    (sent,) = [each.messages for each in resumed.requests if each.is_subagent]
    assert resulted(sent, "from-the-errand"), "it does not know what it did"
    assert own.read_bytes() == before
    assert (copy.with_suffix("") / "subagents" / own.name).read_bytes() != before


def go_on_by_itself(agent: Agent, sandbox: Sandbox, trigger: str) -> None:
    """Under `leftoff run`: a full turn, the trigger and exit; then the client is there again, and the user asks on."""
    install(agent, sandbox)
    flags = on_screen_trusted(agent, sandbox)
    with sandbox.leftoff_screen("run", agent.name, *flags) as screen:
        look_at_all(agent, screen)
        screen.type(trigger)
        screen.wait_for("starts it by itself")
        screen.press(CLEAR_LINE)
        screen.type(EXIT[agent.name])
        screen.wait_for("Going on in session")
        screen.wait_for(OPEN[agent.name])
        screen.type("And now?\n#say still here")
        screen.wait_for(f"{ANSWER[agent.name]} still here")


def look_at_all(agent: Agent, screen: Terminal) -> None:
    """The first turn on a screen, to its end."""
    screen.wait_for(OPEN[agent.name])
    screen.type(f"Look at all of it. {RULE}\n{much(agent)}\n#say looked")
    screen.wait_for(f"{ANSWER[agent.name]} looked")
    screen.wait_for(OVER[agent.name])


def derived(sandbox: Sandbox, words: str) -> list[Message]:
    """What was sent of a derived session when the user said so: every request of the conversation has its beginning.

    None but a request for a title (``side``) has the words without it: Codex on its screen makes one, with the prompt quoted.
    """
    asked = [each for each in sandbox.requests() if said(each.messages, "user", words)]
    sent = [each.messages for each in asked if each.kind == "reply"]
    assert sent, [each.kind for each in asked]
    assert {each.kind for each in asked} <= {"reply", "side"}, [each.kind for each in asked]
    assert all(said(each, "user", "[SESSION LINEAGE]") for each in sent), [each[-1] for each in sent]
    return sent[-1]


def much(agent: Agent) -> str:
    """Commands that say a lot, the first of them twice, so that it is stale; then the last calls, which are never touched."""
    large = ["seq 1 2000", "seq 1 2000", "seq 2001 4000", "seq 4001 5500", "seq 6001 8000"]
    return "\n".join(
        command(agent, line) for line in [*large, *(f"echo last {number}" for number in range(6))]
    )


def full_session(agent: Agent, sandbox: Sandbox) -> Path:
    """A session that says its window is full: resumed as it is, it would be compacted at once."""
    run = succeeded(
        agent.prompt(
            sandbox, f"Look at all of it. {RULE}\n{much(agent)}\n#usage {FULL[agent.name]}\n#say looked"
        )
    )
    assert not run.summaries
    return run.transcript


def shrunk(sandbox: Sandbox, *arguments: str) -> dict[str, Any]:
    """What the command says it made, after it had said what it would make."""
    would = asked(sandbox, *arguments, "--dry-run")
    made = asked(sandbox, *arguments)
    assert made["session_id"]
    assert abs(would["tokens_saved"] - made["tokens_saved"]) <= 0.2 * made["tokens_saved"]
    return made


def asked(sandbox: Sandbox, *arguments: str) -> dict[str, Any]:
    ended = sandbox.leftoff(*arguments, "--json")
    assert ended.code == 0, ended
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def results_of(messages: Any) -> str:
    return "\n".join(block["text"] for _, block in flat(messages) if block["type"] == "tool_result")


def identity(transcript: Path) -> str:
    return transcript.stem[-36:]


def outside(sandbox: Sandbox, inside_path: str) -> Path:
    return sandbox.disk / Path(inside_path).relative_to(INSIDE)


def inside(sandbox: Sandbox, transcript: Path) -> str:
    return str(sandbox.inside(transcript))
