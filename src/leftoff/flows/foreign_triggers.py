"""Other tools that read prompts too, and whether one of them takes the triggers that leftoff takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from leftoff.model.wiring import Hook

PROMPT_EVENT = "UserPromptSubmit"
_WORDS = ("resume", "continue", "handoff", "pickup", "pins", "pin", "unpin", "trim")
_LARGEST_BYTES = 1024 * 1024


def foreign_triggers(hooks: Iterable[Hook], prefix: str) -> list[str]:
    """One sentence for each command of somebody else that is called with every prompt."""
    foreign = {hook.command: hook for hook in hooks if hook.event == PROMPT_EVENT and hook.origin is None}
    return [_sentence(hook, prefix) for hook in foreign.values()]


def _sentence(hook: Hook, prefix: str) -> str:
    who = f"Another tool reads your prompts too: {hook.command} (in {hook.source})."
    taken = [f"{prefix}{word}" for word in _WORDS if any(f"{prefix}{word}" in text for text in _texts(hook))]
    if not taken:
        return who
    some = ", ".join(taken)
    return f"{who} It takes {some} as well; give leftoff another sign: triggers_prefix in configuration.yaml."


def _texts(hook: Hook) -> Iterator[str]:
    """The command, and the scripts that it names as far as they can be read."""
    yield hook.command
    try:
        words = shlex.split(hook.command)
    except ValueError:
        return
    for word in words:
        for path in _candidates(word, Path(hook.source)):
            try:
                if path.is_file() and path.stat().st_size <= _LARGEST_BYTES:
                    yield path.read_text(encoding="utf-8", errors="replace")
                    break
            except (OSError, ValueError):
                continue


def _candidates(word: str, source: Path) -> Iterator[Path]:
    """A path as it stands; one that begins with a variable is looked for around the file that names it."""
    if word.startswith("$"):
        _, slash, rest = word.partition("/")
        yield from (above / rest for above in source.parents if slash)
    elif word.startswith("~/"):
        yield Path(word).expanduser()
    elif "/" in word:
        yield Path(word)
