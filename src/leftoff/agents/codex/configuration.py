"""What Codex's own ``config.toml`` says, as far as we need it. It is only ever read."""

from __future__ import annotations

from pathlib import Path

from leftoff.agents.fields import table, text
from leftoff.model.wire import JsonObject

_BUILT_IN = "openai"


def settings(home: Path) -> JsonObject:
    """What the file says; nothing when it is missing or broken."""
    try:
        words = (home / "config.toml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    import tomllib  # noqa: PLC0415 - only if there is such a file

    try:
        return tomllib.loads(words)
    except ValueError:
        return {}


def model_provider(home: Path) -> str:
    """Whom a new session would talk to. Codex opens no session on its screen that names nobody, once it has noted it."""
    said = settings(home)
    profile = table(table(said, "profiles"), text(said, "profile") or "")
    return text(profile, "model_provider") or text(said, "model_provider") or _BUILT_IN
