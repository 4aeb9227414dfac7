"""A rollout at a glance, from its head and its tail: the same work for a file of any size."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from leftoff.agents import ends
from leftoff.agents.codex import forks, tail
from leftoff.agents.codex.forks import Segment
from leftoff.agents.codex.reading import record
from leftoff.agents.jsonl import opened
from leftoff.errors import TranscriptError
from leftoff.model.lineage_text import without_own_words
from leftoff.model.records import RecordKind
from leftoff.model.session import Parent, SessionEntry
from leftoff.model.values import dataclass, replace

_COUNTED_BYTES = 256 * 1024  # at either end
_BEHIND_PROMPT = 16  # where the model stands, in lines behind the first prompt, if it stands anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the beginning shows. None: it does not show it."""

    project: str | None
    model: str | None
    first_prompt: str | None


def entry(transcript: Path, home: Path, agent: str) -> SessionEntry:
    """What a list shows of the session."""
    segments = forks.lineage(transcript, home)
    own = segments[-1]
    begins = head(own)
    seen = tail.look(segments)
    status = _status(transcript)
    return SessionEntry(
        agent=agent,
        session_id=own.meta.session_id,
        transcript=str(transcript),
        size_bytes=status.size_bytes,
        modified_at=status.modified_at,
        project=begins.project,
        model=seen.model or begins.model,
        first_prompt=begins.first_prompt,
        used_tokens=seen.used_tokens,
        window_tokens=seen.window_tokens,
        tail_chars=seen.tail_chars,
        client_version=seen.client_version,
        compactions=_compactions(own.path),
        parent=parent(segments),
    )


def head(segment: Segment) -> Head:
    """The first prompt, and what stands before and right behind it."""
    project, model, prompt, behind = segment.meta.project, None, None, 0
    for piece in ends.oldest_first(segment.path):
        found = record(piece)
        project = project or found.cwd
        model = model or found.model
        if prompt is None and found.kind is RecordKind.PROMPT:
            prompt = without_own_words(found.text).strip() or None
        behind += prompt is not None
        if behind and (model or behind > _BEHIND_PROMPT):
            break
    return Head(project=project, model=model, first_prompt=prompt)


def parent(segments: tuple[Segment, ...]) -> Parent | None:
    """Where the session came from, with the file where it was found."""
    named = segments[-1].meta.parent
    if named and named.derivation == "forked" and len(segments) > 1:
        return replace(named, transcript=str(segments[-2].path))
    return named


def _compactions(path: Path) -> int:
    """How many head and tail show, by their bytes: quotes inside a text would be escaped."""
    with opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        seen = file.read(_COUNTED_BYTES)
        file.seek(max(file.tell(), size - _COUNTED_BYTES))
        return (seen + file.read(_COUNTED_BYTES)).count(b'"compacted"')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Status:
    size_bytes: int
    modified_at: datetime


def _status(path: Path) -> _Status:
    try:
        status = path.stat()
    except OSError as error:
        raise TranscriptError(f"{path}: cannot be read: {error.strerror or error}.", path=path) from error
    return _Status(size_bytes=status.st_size, modified_at=datetime.fromtimestamp(status.st_mtime, UTC))
