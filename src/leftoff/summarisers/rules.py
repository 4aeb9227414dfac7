"""The rules: no model, no network, nothing to wait for. What extraction wrote is the summary."""

from __future__ import annotations


class Rules:
    """The default. Gives back what it is given, so the rules' own version of a log stands."""

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:  # noqa: ARG002 - the protocol's
        """The prompt, unchanged."""
        return prompt
