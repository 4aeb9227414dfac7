"""Other tools that read every prompt, and which of leftoff's triggers they take too."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from leftoff.core.hook_settings import Hook
from leftoff.live.fast import TRIGGERS
from leftoff.platform import files

PROMPT_EVENT = "UserPromptSubmit"
_LARGEST_BYTES = 1024 * 1024


def foreign_triggers(hooks: Iterable[Hook], prefix: str) -> list[str]:
    """Describe each other tool that reads every prompt, and which of leftoff's triggers it takes too."""
    others = {each.command: each for each in hooks if each.event == PROMPT_EVENT and each.origin is None}
    return [_describe_foreign_hook(each, prefix) for each in others.values()]


def _describe_foreign_hook(hook: Hook, prefix: str) -> str:
    who = f"Another tool reads your prompts too: {hook.command} (in {hook.source})."
    triggers = [f"{prefix}{name}" for name in TRIGGERS]
    shared = [trigger for trigger in triggers if any(trigger in text for text in _command_texts(hook))]
    if not shared:
        return who
    return f"{who} It uses {', '.join(shared)} as well. Give leftoff another prefix, such as: leftoff config triggers_prefix ,"


def _command_texts(hook: Hook) -> Iterator[str]:
    """Return the command and the scripts that it names, as far as they can be read."""
    yield hook.command
    try:
        words = shlex.split(hook.command)
    except ValueError:
        return
    for word in words:
        for path in _candidates(word, Path(hook.source)):
            try:
                yield files.read_regular_file(path, _LARGEST_BYTES).decode("utf-8", "replace")
                break
            except OSError:
                continue


def _candidates(word: str, source: Path) -> Iterator[Path]:
    """Return the paths that a word may mean; one that begins with a variable is searched for near the settings file."""
    if word.startswith("$"):
        _, slash, rest = word.partition("/")
        yield from (above / rest for above in source.parents if slash)
    elif word.startswith("~/"):
        yield Path(word).expanduser()
    elif "/" in word:
        yield Path(word)
