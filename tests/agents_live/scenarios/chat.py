"""`leftoff chat` with a real client."""

from drive import Agent
from sandbox import Request, Sandbox
from scenario import has_text, scenario

ANSWER = "side"  # what the local API answers to a request without tools


# Headless Codex reads no configuration, so it cannot be pointed at the local API.
@scenario(clients=("claude",))
def chat(agent: Agent, sandbox: Sandbox) -> None:
    """Every turn of `leftoff chat` sends the earlier turns, after `compact` their summary instead, and never a tool."""
    sandbox.extra_environment["LEFTOFF_CHAT_SUMMARISER"] = "rules"  # the local API cannot write this summary
    with sandbox.open_leftoff_screen("chat", agent.name) as screen:
        screen.wait_for("is here.")
        lines = ("What is alpha?", "What is beta?", "compact", "What is gamma?")
        for number, line in enumerate(lines, start=1):
            screen.type(line)
            sandbox.wait_until(lambda expected=number: len(sandbox.requests()) >= expected, line, seconds=90)
        screen.type("exit")
        screen.wait_for("Conversation saved successfully!", seconds=90)
    first, second, restoration, third = sandbox.requests()
    for request in (first, second, restoration, third):
        assert not request.body.get("tools"), "a tool is allowed"
    assert user_sent(second, "User: What is alpha?\n\nAssistant: " + ANSWER), "the first turn is missing"
    assert user_sent(restoration, "CONTEXT RESTORATION: "), "the summary is missing"
    assert user_sent(third, "SESSION_SUMMARY_START"), "the summary is missing in the next turn"
    assert user_sent(third, "What is gamma?")
    assert not user_sent(third, "User: What is alpha?"), "a summarised turn was sent again"
    pages = sorted(sandbox.project.glob(".leftoff/chats/*.md"))
    assert [page.read_text(encoding="utf-8").count("\n## Query ") for page in pages] == [2, 1]


def user_sent(request: Request, text: str) -> bool:
    return has_text(request.messages, "user", text)
