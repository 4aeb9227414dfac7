"""Simple Sally: an agent without a network, for trying out the chat loop.

    leftoff chat examples/simple_sally/agent.py

She remembers prompts, streams her answers word by word, counts tokens, and can write a summary. The chat loop calls ``reset`` to
empty her memory when it compacts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SUMMARY = "Generate a progressive session summary:"
RESTORATION = "CONTEXT RESTORATION:"
_ASKED = re.compile(r"^\*\*You:\*\* (.+)$", re.MULTILINE)
_TOPIC = re.compile(r"^- (.+)$", re.MULTILINE)


class SimpleSally:
    """Answers from the prompts so far."""

    name = "Simple Sally"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> Iterator[str | dict[str, dict[str, int]]]:
        """Yield the answer in pieces, then the usage."""
        if prompt.startswith(SUMMARY):
            answer = self._summary(prompt)
        elif prompt.startswith(RESTORATION):
            answer = self._acknowledgment(prompt)
        else:
            answer = self._answer(prompt)
        yield from re.findall(r"\S+\s*|\s+", answer)
        read = sum(len(words.split()) for words in self.prompts)
        yield {"usage": {"input_tokens": read, "output_tokens": len(answer.split())}}

    def reset(self) -> None:
        """Forget all prompts."""
        self.prompts.clear()

    def _answer(self, prompt: str) -> str:
        self.prompts.append(prompt)
        before = len(self.prompts) - 1
        memory = (
            f"I remember {before} things you told me before."
            if before
            else "That is the first thing you tell me."
        )
        return f"You said: *{prompt.strip()}*\n\n{memory}"

    def _summary(self, prompt: str) -> str:
        self.prompts.append(prompt)
        questions = _ASKED.findall(prompt)
        topics = "\n".join(f"- {each}" for each in questions) or "- Nothing yet"
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
            f"**Pending:**\n- {questions[-1] if questions else 'Nothing'}\n"
            "<!-- SESSION_SUMMARY_END -->"
        )

    def _acknowledgment(self, prompt: str) -> str:
        self.prompts.append(prompt)
        topics = _TOPIC.findall(
            prompt.partition("**Topics Discussed:**")[2].partition("**Decisions Made:**")[0]
        )
        return f"I've reviewed our previous conversation about {', '.join(topics) or 'nothing much'}. Ready to continue!"


agent = SimpleSally()
