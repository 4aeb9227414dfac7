"""Simple Sally: an agent that needs no network, to try the chat loop with.

    leftoff chat examples/simple_sally/agent.py

She remembers what you said, streams her answers word by word, counts her tokens, and can write a summary of her own.
``reset`` is the hook by which the loop empties her memory when it compacts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SUMMARY = "Generate a progressive session summary:"
RESTORATION = "CONTEXT RESTORATION:"
_ASKED = re.compile(r"^\*\*You:\*\* (.+)$", re.MULTILINE)
_TOPIC = re.compile(r"^- (.+)$", re.MULTILINE)


class SimpleSally:
    """Answers from what she was told so far."""

    name = "Simple Sally"

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, prompt: str) -> Iterator[str | dict[str, dict[str, int]]]:
        """Her answer in pieces, then what it took."""
        if prompt.startswith(SUMMARY):
            answer = self._summary(prompt)
        elif prompt.startswith(RESTORATION):
            answer = self._acknowledgment(prompt)
        else:
            answer = self._answer(prompt)
        yield from re.findall(r"\S+\s*|\s+", answer)
        read = sum(len(words.split()) for words in self.told)
        yield {"usage": {"input_tokens": read, "output_tokens": len(answer.split())}}

    def reset(self) -> None:
        """Forget everything."""
        self.told.clear()

    def _answer(self, prompt: str) -> str:
        self.told.append(prompt)
        before = len(self.told) - 1
        memory = (
            f"I remember {before} things you told me before."
            if before
            else "That is the first thing you tell me."
        )
        return f"You said: *{prompt.strip()}*\n\n{memory}"

    def _summary(self, prompt: str) -> str:
        self.told.append(prompt)
        asked = _ASKED.findall(prompt)
        topics = "\n".join(f"- {each}" for each in asked) or "- Nothing yet"
        earlier = "Condense this previous summary" in prompt
        background = (
            "We talked before; see the session that this one goes on from." if earlier else "Initial session."
        )
        return (
            "<!-- SESSION_SUMMARY_START -->\n"
            f"**Background Context:** {background}\n\n"
            "**Current Session Summary:**\n"
            f"**Topics Discussed:**\n{topics}\n\n"
            "**Decisions Made:**\n- None yet\n\n"
            f"**Pending:**\n- {asked[-1] if asked else 'Nothing'}\n"
            "<!-- SESSION_SUMMARY_END -->"
        )

    def _acknowledgment(self, prompt: str) -> str:
        self.told.append(prompt)
        topics = _TOPIC.findall(
            prompt.partition("**Topics Discussed:**")[2].partition("**Decisions Made:**")[0]
        )
        return f"I've reviewed our previous conversation about {', '.join(topics) or 'nothing much'}. Ready to continue!"


agent = SimpleSally()
