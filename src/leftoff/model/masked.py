"""A resume log in which a text is masked, wherever a person's or an agent's words stand.

Worked on as values, never as JSON: there a text may seem to stand where it does not, and a name of ours may hold it. What a
log is filed by (its session id, its project's identity) stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leftoff.model.project_identity import METADATA_KEY
from leftoff.model.resume_log import ResumeLog
from leftoff.model.wire import JsonValue

_FILED_BY = ("schema", "session_id")
_FREE = ("critical_context", "metadata")  # mappings whose names are words too
_Change = Callable[[str], str]


def masked(log: ResumeLog, text: str, mask: str) -> ResumeLog:
    """The same log with ``mask`` in every place of ``text``."""

    def change(words: str) -> str:
        return words.replace(text, mask)

    wire = log.to_dict()
    clean: dict[str, Any] = {
        name: _changed(value, change, change if name in _FREE else str)
        for name, value in wire.items()
        if name not in _FILED_BY
    }
    if METADATA_KEY in log.metadata:
        others = {name: value for name, value in log.metadata.items() if name != METADATA_KEY}
        clean["metadata"] = {
            **_changed(others, change, change),
            METADATA_KEY: log.metadata[METADATA_KEY],
        }
    if log.ground is not None:
        clean["ground"]["hashes"] = {change(path): digest for path, digest in log.ground.hashes.items()}
    return ResumeLog.from_dict(wire | clean)


def is_filed_by(log: ResumeLog, text: str) -> bool:
    """Whether the text is part of what it is filed by, where it cannot be masked."""
    identity = log.metadata.get(METADATA_KEY)
    told = [each for each in identity.values() if isinstance(each, str)] if isinstance(identity, dict) else []
    return any(text in each for each in (log.session_id, *told))


def _changed(value: JsonValue, words: _Change, names: _Change) -> Any:
    match value:
        case str():
            return words(value)
        case list():
            return [_changed(each, words, names) for each in value]
        case dict():
            return {names(name): _changed(each, words, names) for name, each in value.items()}
        case _:
            return value
