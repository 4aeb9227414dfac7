"""What leftoff shows on screen around /compact, and what the summariser and the agent get without being shown."""

from drive import Agent
from installation import install, restored_texts, run_leftoff
from sandbox import Sandbox
from scenario import scenario, shell_call
from screens import (
    RESUME_ARGUMENTS,
    TURN_ENDED,
    as_json,
    open_client,
    request_with,
    screen_options,
    submit,
)

COLUMNS = 80
MOST_LINES = 3
RULE = "Never push to main."
PIN = "Nothing below release/ changes."
COMPACTED = {"claude": "Compacted (ctrl+o", "codex": "Context compacted"}
RECEIPT = "The summary dropped"


@scenario(clients=("claude", "codex"))
def quiet_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """Around /compact leftoff shows at most three lines of 80 columns; the receipt comes once, with what is handed over."""
    install(agent, sandbox)
    run_leftoff(sandbox, "pin", PIN)
    with open_client(agent, sandbox, columns=COLUMNS) as screen:
        submit(agent, screen, f"Count. {RULE}\n{shell_call(agent, 'seq 1 5')}", "counted")
        screen.wait_for(TURN_ENDED[agent.name])
        screen.type("/compact")
        screen.wait_for(COMPACTED[agent.name])
        after = submit(agent, screen, "What now?", "the next answer")
    before, _, with_prompt = after.partition("What now?")
    shown = before[before.index(COMPACTED[agent.name]) :]
    lines = [line for line in shown.splitlines()[1:] if len(line.strip()) > 1 and "Worked for" not in line]
    assert len(lines) <= MOST_LINES, shown
    assert RECEIPT not in " ".join(shown.split()), "nothing has been handed over yet"
    assert " ".join(with_prompt.split()).count(RECEIPT) == 1, after
    if agent.name == "claude":
        (summary,) = [request for request in sandbox.requests() if request.kind == "summary"]
        assert PIN in as_json(summary.messages)
        assert RULE in as_json(summary.messages)
    restored = "\n".join(restored_texts(request_with(sandbox, "What now?")))
    for text in (RULE, PIN):
        assert text in restored, (text, restored)


@scenario(clients=("claude", "codex"))
def left_after_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """A session that is left right after /compact gets its rule and pin with the receipt when it is resumed."""
    install(agent, sandbox)
    run_leftoff(sandbox, "pin", PIN)
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, f"Count. {RULE}\n{shell_call(agent, 'seq 1 5')}", "counted")
        screen.wait_for(TURN_ENDED[agent.name])
        screen.type("/compact")
        screen.wait_for(COMPACTED[agent.name])
        sandbox.wait_until(lambda: is_compacted(agent, sandbox), "the compaction in the transcript")
    session_id = agent.latest_transcript(sandbox).stem[-36:]
    arguments = [*RESUME_ARGUMENTS[agent.name], session_id, *screen_options(agent, sandbox)]
    with sandbox.open_screen(arguments) as screen:
        screen.wait_for("counted", COMPACTED[agent.name])
        submit(agent, screen, "What now?", "the next answer")
        screen.wait_for(RECEIPT)
    restored = "\n".join(restored_texts(request_with(sandbox, "What now?")))
    for text in (RULE, PIN):
        assert text in restored, (text, restored)


def is_compacted(agent: Agent, sandbox: Sandbox) -> bool:
    mark = "isCompactSummary" if agent.name == "claude" else '"type":"compacted"'
    return mark in agent.latest_transcript(sandbox).read_text(encoding="utf-8")
