"""A registered agent in its headless form: every turn is one run of its command, which is told what was said so far.

It runs without tools, in an empty folder, with ``LEFTOFF_DISABLE=1``; Ctrl-C ends it and all it started.
"""

from __future__ import annotations

from leftoff.conversations.values import Tokens
from leftoff.flows.chat_agent import Heard, Reply, Reset
from leftoff.model.tokens import estimate_tokens
from leftoff.summarisers.command import Command

_PATIENCE_SECONDS = 600.0  # nobody waits longer for one answer without pressing Ctrl-C


class HeadlessAgent:
    """Carries the conversation itself, because the command remembers nothing."""

    def __init__(self, command: tuple[str, ...], *, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self._command = Command(arguments=command)
        self._said: list[tuple[str, str]] = []

    def ask(self, prompt: str, *, heard: Heard, timeout_seconds: float | None) -> Reply:
        """One run with the whole conversation; tokens are reckoned from the words."""
        whole = _conversation(self._said, prompt)
        text = self._command.summarise(whole, timeout_seconds=timeout_seconds or _PATIENCE_SECONDS)
        heard(text)
        self._said += [("User", prompt), ("Assistant", text)]
        tokens = Tokens(
            input_tokens=estimate_tokens(whole), output_tokens=estimate_tokens(text), estimated=True
        )
        return Reply(text=text, tokens=tokens)

    def reset(self) -> Reset:
        """The next run is told nothing of what was said."""
        self._said.clear()
        return "dropped"


def _conversation(said: list[tuple[str, str]], prompt: str) -> str:
    if not said:
        return prompt
    before = "\n\n".join(f"{who}: {text}" for who, text in said)
    return f"The conversation so far:\n\n{before}\n\nThe user now says, and you answer only this:\n\n{prompt}"
