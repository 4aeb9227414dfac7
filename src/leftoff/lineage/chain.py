"""The chain of a session's ancestors. A parent that is gone is shown as missing and ends the chain (L37); so does a circle."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from leftoff.lineage.metadata import Origin
from leftoff.model.session_node import SessionNode
from leftoff.model.values import dataclass

_LONGEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """How the chain asks: where a session came from, where that file is now, and what a file's session is called."""

    origin: Callable[[Path], Origin | None]
    find: Callable[[Origin], Path | None]
    session_id: Callable[[Path], str | None]


def ancestry(session_file: Path, sources: Sources) -> SessionNode:
    """The session with all its ancestors, each as the ``parent`` of the one before."""
    steps: list[tuple[Path, Origin | None]] = []
    seen: set[str] = set()
    oldest: SessionNode | None = None
    here: Path | None = session_file
    while here is not None and os.path.realpath(here) not in seen and len(steps) < _LONGEST:
        seen.add(os.path.realpath(here))
        origin = sources.origin(here) if here.is_file() else None
        steps.append((here, origin))
        here = sources.find(origin) if origin is not None else None
        if origin is not None and here is None:
            oldest = _missing(origin)
    for file, origin in reversed(steps):
        oldest = SessionNode(
            session_file=file,
            derivation_type=origin.derivation if origin else None,
            exported_file=Path(origin.exported_file) if origin and origin.exported_file else None,
            parent=oldest,
            session_id=sources.session_id(file),
            missing=not file.is_file(),
        )
    assert oldest is not None  # the session itself, at least
    return oldest


def newest_first(node: SessionNode) -> list[SessionNode]:
    """The session, its parent, and so on."""
    nodes = [node]
    while (parent := nodes[-1].parent) is not None:
        nodes.append(parent)
    return nodes


def oldest_first(node: SessionNode) -> list[SessionNode]:
    """The same from the first ancestor on."""
    return newest_first(node)[::-1]


def _missing(origin: Origin) -> SessionNode:
    file = Path(origin.parent_file or f"{origin.parent_session_id}.jsonl")
    return SessionNode(
        session_file=file, derivation_type=None, session_id=origin.parent_session_id, missing=True
    )
