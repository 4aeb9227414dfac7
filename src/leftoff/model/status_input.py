"""What an agent tells the command behind its status line."""

from __future__ import annotations

from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusInput:
    """What an agent tells the command behind its status line. None: it does not say.

    ``used_tokens`` is for a session whose transcript does not say anything yet.
    """

    session_id: str
    transcript: str | None
    folder: str | None
    model: str | None
    window_tokens: int | None
    used_tokens: int | None
