"""The chat loop with a real agent in its headless form."""

from drive import Agent
from sandbox import Request, Sandbox
from scenario import said, scenario

ANSWER = "side"  # what the local API says to a request without tools


@scenario(
    clients=("claude",)
)  # Codex's headless form reads no configuration, so it cannot be sent to the local API
def chat(agent: Agent, sandbox: Sandbox) -> None:
    """Every turn is told what was said before; after compact the summary and not the old turns; no tool is allowed."""
    sandbox.besides["LEFTOFF_CHAT_SUMMARISER"] = "rules"  # the local API writes no summaries of this form
    with sandbox.leftoff_screen("chat", agent.name) as screen:
        screen.wait_for("is here.")
        for number, line in enumerate(
            ("What is alpha?", "What is beta?", "compact", "What is gamma?"), start=1
        ):
            screen.type(line)
            sandbox.wait_for(lambda wanted=number: len(sandbox.requests()) >= wanted, line, seconds=90)
        screen.type("exit")
        screen.wait_for("Conversation saved successfully!", seconds=90)
    first, second, restoration, third = sandbox.requests()
    assert not any(each.body.get("tools") for each in (first, second, restoration, third)), (
        "a tool is allowed"
    )
    assert told(second, "User: What is alpha?\n\nAssistant: " + ANSWER), "it is not told what was said"
    assert told(restoration, "CONTEXT RESTORATION: "), "it is not told the summary"
    assert told(third, "SESSION_SUMMARY_START"), "it has forgotten the summary"
    assert told(third, "What is gamma?")
    assert not told(third, "User: What is alpha?"), "it is told an old turn"
    pages = sorted(sandbox.project.glob(".leftoff/chats/*.md"))
    assert [page.read_text(encoding="utf-8").count("\n## Query ") for page in pages] == [2, 1]


def told(request: Request, words: str) -> bool:
    return said(request.messages, "user", words)
