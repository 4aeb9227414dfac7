"""Write a session derived from another. All derived sessions are written here, so that each gets its lineage and registry entry."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from leftoff.core.protocols import Agent, CanCopy, CanRehearse, CanResume
from leftoff.core.session import Derivation, Session
from leftoff.core.trim_plan import Change, Copy, CopyOrder, FreshOrder, LivePieces, NotCopied, Savings
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import LeftoffError, StorageError
from leftoff.platform import clock, files
from leftoff.sessions.ancestry import DerivedEntry, Family, load_family
from leftoff.sessions.learned_windows import load_window, save_window
from leftoff.sessions.lineage import fingerprint, lineage_block, moved_metadata, oldest_first, read_origin
from leftoff.sessions.status import status_of
from leftoff.shrink.invariants import COMMON_INVARIANTS
from leftoff.workspace import SessionRef, Workspace

Progress = Callable[[int, int], None]  # bytes done, bytes in all
# The format has one word for all copies, also for those that restore content or only move the session.
_COPIED: Derivation = "trimmed"
_NO_PIECE_CHARS = 10**12  # no piece is so long


class DerivedSession(NamedTuple):
    """A derived session and what it frees. ``session_id`` and ``output_file`` are None if nothing was written."""

    session_id: str | None
    output_file: Path | None
    parent_file: Path
    tools_trimmed: int
    savings: Savings
    resume_command: tuple[str, ...] | None
    folder: Path | None = None  # where to run the command
    left_behind: tuple[NotCopied, ...] = ()
    is_reused: bool = False  # an earlier copy of the same content by the same settings

    @property
    def nothing_to_trim(self) -> bool:
        """Whether nothing was written."""
        return self.session_id is None

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts; ``left_behind`` and ``reused`` appear only where they say something."""
        return {
            "session_id": self.session_id,
            "output_file": None if self.output_file is None else str(self.output_file),
            "parent_file": str(self.parent_file),
            "tools_trimmed": self.tools_trimmed,
            **self.savings.to_dict(),
            "resume_command": None if self.resume_command is None else shlex.join(self.resume_command),
            "nothing_to_trim": self.nothing_to_trim,
            **left_behind_to_dict(self.left_behind),
            **({"reused": True} if self.is_reused else {}),
        }


def left_behind_to_dict(left_behind: Sequence[NotCopied]) -> JsonObject:
    """Return the JSON shape of what a copy could not take along; empty if there is nothing."""
    items: list[JsonValue] = [
        {"what": each.what, "path": str(each.path), "why": each.why} for each in left_behind
    ]
    return {"left_behind": items} if items else {}


class CopyingAgent(Agent, CanCopy, Protocol):
    """An agent that can resume copies of its sessions."""


def copying_agent(agent: Agent) -> CopyingAgent:
    """Return the agent if its sessions can be copied; LeftoffError otherwise."""
    if not isinstance(agent, CanCopy):
        raise LeftoffError(
            f"Sessions of {agent.name} cannot be copied: leftoff does not know how it resumes them."
        )
    return agent


def require_copyable(ref: SessionRef, otherwise: str = "--force writes the copy anyway.") -> None:
    """Raise LeftoffError if the agent might not resume a copy of this session. ``otherwise`` says what the user can do."""
    refusal = copying_agent(ref.agent).refusal(ref.session)
    if refusal is not None:
        raise LeftoffError(f"{ref.session.transcript}: not copied: {refusal} {otherwise}")


def write_copy(
    ref: SessionRef, changes: Sequence[Change], order: CopyOrder, recipe: str | None = None
) -> Copy:
    """Write a copy and register it. The lineage block and the invariants of the order are filled in here.

    With a ``recipe``, ``find_copy`` finds the copy again.
    """
    family = load_family()
    copy = copying_agent(ref.agent).write_copy(ref.session, changes, _complete(order, ref, family))
    _register(family, copy, ref.agent, ref.session, _COPIED, order.at, recipe)
    return copy


def find_copy(ref: SessionRef, recipe: str) -> Copy | None:
    """Return the copy that was made by this recipe, if it is still as it was written."""
    for entry in reversed(load_family().derived):
        if (entry.agent, entry.parent_id, entry.recipe) != (ref.agent.id, ref.session_id, recipe):
            continue
        transcript = Path(entry.transcript)
        if transcript.is_file() and transcript.stat().st_size == entry.size_bytes:
            return Copy(entry.session_id, transcript, entry.size_bytes)
    return None


def check_copy(ref: SessionRef, changes: Sequence[Change], order: CopyOrder) -> None:
    """Raise what writing the copy would raise, without writing; does nothing for an agent that cannot tell in advance."""
    if isinstance(ref.agent, CanRehearse):
        ref.agent.copy_size(ref.session, changes, _complete(order, ref, load_family()))


def _complete(order: CopyOrder, ref: SessionRef, family: Family) -> CopyOrder:
    block = lineage_block(oldest_first(family.node(ref.transcript)), _COPIED)
    return order._replace(block=block, invariants=COMMON_INVARIANTS)


def write_fresh(to: Agent, session: Session, order: FreshOrder) -> Copy:
    """Write a fresh session that continues ``session``, and register it."""
    copy = copying_agent(to).write_fresh(order)
    _register(load_family(), copy, to, session, "continued", order.at)
    return copy


def _register(
    family: Family,
    copy: Copy,
    agent: Agent,
    session: Session,
    derivation: Derivation,
    at: datetime,
    recipe: str | None = None,
) -> None:
    window_tokens = load_window(agent.id, session.session_id)
    if window_tokens is not None:
        save_window(
            agent.id, copy.session_id, window_tokens
        )  # only the client knew it, and only of the parent
    try:
        family.registry.add(
            DerivedEntry(
                session_id=copy.session_id,
                transcript=str(copy.transcript),
                agent=agent.id,
                parent_id=session.session_id,
                parent_transcript=session.transcript,
                parent_fingerprint=fingerprint(Path(session.transcript)),
                derivation=derivation,
                at=clock.format_rfc3339(at),
                recipe=None if copy.left_behind else recipe,
                size_bytes=copy.size_bytes if recipe else None,
            )
        )
    except StorageError:
        return  # the session's own metadata says the same


def live_pieces(
    agent: CanCopy, session: Session, *, at_least_chars: int = _NO_PIECE_CHARS, head: int = 0, tail: int = 0
) -> LivePieces:
    """Return the live content of a session; by default the sums alone.

    The usage in a trimmed copy is rewritten, so it no longer shows how many tokens a character takes; its metadata does.
    """
    live = agent.live_pieces(session, at_least_chars=at_least_chars, head=head, tail=tail)
    origin = read_origin(Path(session.transcript))
    ratio = origin.tokens_per_char if origin else None
    return live if ratio is None else live._replace(tokens_per_char=ratio)


def copy_to_folder(ref: SessionRef, folder: Path, workspace: Workspace) -> DerivedSession:
    """Write an exact copy for another folder, so that its agent finds it there; the caller checks that it may be copied."""
    at = clock.now()
    copy = write_copy(ref, (), CopyOrder(at=at, metadata=moved_metadata(ref.session, at), project=folder))
    return DerivedSession(
        session_id=copy.session_id,
        output_file=copy.transcript,
        parent_file=ref.transcript,
        tools_trimmed=0,
        savings=Savings.expect(status_of(ref, workspace).metrics, 0),
        resume_command=resume_command(ref.agent, copy.session_id),
        folder=folder,
        left_behind=copy.left_behind,
    )


def resume_command(agent: Agent, session_id: str) -> tuple[str, ...] | None:
    """Return the command that resumes the session; None if the agent has none."""
    return agent.resume_command(session_id) if isinstance(agent, CanResume) else None


def workspace_of(ref: SessionRef, workspace: Workspace) -> Workspace:
    """Return the workspace of the session's own folder; ``workspace`` if that folder is gone or not known."""
    folder = Path(ref.project) if ref.project else None
    return workspace.at(folder) if folder is not None and files.is_folder(folder) else workspace
