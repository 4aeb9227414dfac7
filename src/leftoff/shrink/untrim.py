"""Restore the originals of a trimmed session in a new copy that keeps the work done since.

Every placeholder of the live conversation is replaced by its original if that still exists; the others stay and are listed.
Content that was cut without a placeholder, mainly thoughts, is looked up in the sessions it was cut from. The usage of the
last reply is raised by what comes back, so that the agent does not believe that its window is emptier than it is.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from leftoff.core.metrics import ContextMetrics
from leftoff.core.records import Place, Record, Text, ToolResult, ToolUse
from leftoff.core.session_ids import short_id
from leftoff.core.trim_plan import (
    Copy,
    CopyOrder,
    CutPart,
    LivePieces,
    NotCopied,
    RemovedContent,
    RestoredPiece,
    Savings,
)
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.platform import clock
from leftoff.sessions.ancestry import Family, load_family
from leftoff.sessions.find import find_session
from leftoff.sessions.lineage import untrim_metadata
from leftoff.sessions.status import status_of
from leftoff.shrink.derive import (
    Progress,
    copying_agent,
    left_behind_to_dict,
    live_pieces,
    require_copyable,
    resume_command,
    write_copy,
)
from leftoff.shrink.expand import Originals
from leftoff.shrink.placeholder import Placeholder, parse_placeholder
from leftoff.workspace import SessionRef, Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Untrimmed:
    """What was restored and what could not be. ``session_id`` is ``None`` if nothing was written."""

    session_id: str | None
    output_file: Path | None
    parent_file: Path
    given_back: int
    thoughts_given_back: int
    tokens_given_back: int
    change: Savings  # of the gauge; its tokens are negative
    left: tuple[str, ...]
    resume_command: tuple[str, ...] | None
    folder: Path | None = None
    left_behind: tuple[NotCopied, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts."""
        return {
            "session_id": self.session_id,
            "output_file": None if self.output_file is None else str(self.output_file),
            "parent_file": str(self.parent_file),
            "given_back": self.given_back,
            "thoughts_given_back": self.thoughts_given_back,
            "tokens_given_back": self.tokens_given_back,
            "percentage_before": self.change.before.shown_percentage,
            "percentage_after": self.change.after.shown_percentage,
            "left": [*self.left],
            "resume_command": None if self.resume_command is None else shlex.join(self.resume_command),
            **left_behind_to_dict(self.left_behind),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundPlaceholder:
    """A placeholder and where it is."""

    place: Place
    part: CutPart
    call_id: str | None
    placeholder: Placeholder
    chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restorable:
    """Originals by the keys of their placeholders, and content cut without a placeholder. ``left`` says why something stays cut."""

    changes: dict[str, list[RestoredPiece]]
    left_out: RemovedContent
    chars: int  # that the model is sent in addition
    tail_chars: int  # of these, in messages that no reply has counted yet
    left: tuple[str, ...]
    measured_at: tuple[Place, ...]

    def __bool__(self) -> bool:
        return bool(self.changes or self.left_out)


def untrim(
    selector: str,
    workspace: Workspace,
    *,
    dry_run: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Untrimmed:
    """Write the copy; NothingToDoError if nothing was cut from the session, LeftoffError if nothing can be restored."""
    ref = find_session(selector, workspace)
    agent = copying_agent(ref.agent)
    if not force:
        require_copyable(ref)
    live = live_pieces(agent, ref.session)
    restorable = _find_restorable(ref, live)
    before = status_of(ref, workspace).metrics
    tokens = int(restorable.chars * live.tokens_per_char)
    if dry_run:
        return _untrimmed(ref, None, restorable, before, tokens)
    at = clock.now()
    used = agent.occupancy(ref.transcript).used_tokens
    counted = tokens - int(restorable.tail_chars * live.tokens_per_char)
    copy = write_copy(
        ref,
        [piece for pieces in restorable.changes.values() for piece in pieces],
        CopyOrder(
            at=at,
            metadata=untrim_metadata(
                ref.session, at, given_back=len(restorable.changes), tokens_per_char=live.tokens_per_char
            ),
            used_tokens=None if used is None else used + counted,
            measured_at=restorable.measured_at,
            first_prompt=live.first_prompt,
            live_from=live.live_from,
            left_out=restorable.left_out,
            progress=progress,
        ),
    )
    return _untrimmed(ref, copy, restorable, before, tokens)


def _find_restorable(ref: SessionRef, live: LivePieces) -> _Restorable:
    """Find everything that can be restored; raises if there is nothing."""
    family = load_family()
    placeholders, measured_at = _read_placeholders(ref)
    changes, left = _match_originals(placeholders, family, family.ancestor_ids(ref.transcript))
    ancestors, gone = _sources(ref, family)
    left_out = copying_agent(ref.agent).left_out(ref.session, ancestors)
    if not placeholders and not left_out and not gone:
        raise NothingToDoError(
            f"Nothing was cut from session {short_id(ref.session_id)}: there is nothing to restore."
        )
    restored = [
        (each.place, _restored_chars(each, changes[each.placeholder.key][0].value))
        for each in placeholders
        if each.placeholder.key in changes
    ]
    restorable = _Restorable(
        changes=changes,
        left_out=left_out,
        chars=sum(chars for _, chars in restored) + left_out.chars,
        tail_chars=sum(chars for place, chars in restored if place in live.tail_places),
        left=left + gone,
        measured_at=measured_at,
    )
    if not restorable:
        raise LeftoffError(
            f"None of {len(placeholders)} originals could be restored. {restorable.left[0]}"
            if placeholders
            else restorable.left[0]
        )
    return restorable


def _sources(ref: SessionRef, family: Family) -> tuple[Sequence[Path], tuple[str, ...]]:
    """Return the sessions that content may have been cut from, oldest first, and a sentence if one of them is gone."""
    sources: list[Path] = []
    node = family.node(ref.transcript)
    while node.parent is not None and node.derivation_type in {"trimmed", "forked"}:
        node = node.parent
        if node.missing:
            name = node.session_id or node.session_file.name
            return sources[::-1], (
                f"Session {name} is gone, and with it thoughts that may have been cut from it.",
            )
        sources.append(node.session_file)
    return sources[::-1], ()


def _restored_chars(found: _FoundPlaceholder, original: JsonValue) -> int:
    """Return by how much the context grows; the original bounds what the placeholder says, and a picture takes less."""
    most = len(original) if isinstance(original, str) else len(json.dumps(original, ensure_ascii=False))
    return min(found.placeholder.original_chars, most) - found.chars


def _match_originals(
    placeholders: list[_FoundPlaceholder], family: Family, ancestors: Collection[str]
) -> tuple[dict[str, list[RestoredPiece]], tuple[str, ...]]:
    """Find the original of the same part of the same call in an ancestor: a tool may have printed a placeholder of any session."""
    originals = Originals(family)
    originals.expect([each.placeholder.key for each in placeholders])
    changes: dict[str, list[RestoredPiece]] = {}
    left: dict[str, None] = {}
    for each in placeholders:
        if each.placeholder.session_id not in ancestors:
            left[
                f"{each.placeholder.key}: not from a session that this one was made from; it stays as it is."
            ] = None
            continue
        original = originals.of(each.placeholder.key, each.part, each.call_id)
        if isinstance(original, LeftoffError):
            left[original.message] = None
            continue
        changes.setdefault(each.placeholder.key, []).append(
            RestoredPiece(place=each.place, part=each.part, call_id=each.call_id, value=original.value)
        )
    return changes, tuple(left)


def _read_placeholders(ref: SessionRef) -> tuple[list[_FoundPlaceholder], tuple[Place, ...]]:
    """Return the placeholders of the live conversation, and the places with the usage of its last reply, which may be several."""
    live = {*ref.agent.live_chain(ref.session).places}
    placeholders: list[_FoundPlaceholder] = []
    reply: str | None = None
    measured: tuple[Place, ...] = ()
    for record in ref.session.records:
        if record.place in live:
            placeholders += _placeholders_in(record)
        if _is_measured(record) and (record.place in live or not record.messages):
            is_again = record.reply_id is not None and record.reply_id == reply
            measured = (*measured, record.place) if is_again else (record.place,)
            reply = record.reply_id
    return placeholders, measured


def _is_measured(record: Record) -> bool:
    return record.usage is not None and record.usage.occupancy_tokens > 0 and record.actor is None


def _placeholders_in(record: Record) -> Iterator[_FoundPlaceholder]:
    for block in record.blocks:
        part: CutPart
        name: str | None
        match block:
            case ToolResult(call_id=call_id):
                part, name, text = "result", call_id, block.text
            case ToolUse(call_id=call_id, input=given):
                part, name, text = "input", call_id, _placeholder_within(given)
            case Text(text=own) if record.reply_id is not None or record.kind == "reply":
                part, name, text = "text", None, own
            case _:
                continue
        placeholder = parse_placeholder(text)
        if placeholder is not None:
            yield _FoundPlaceholder(
                place=record.place, part=part, call_id=name, placeholder=placeholder, chars=len(text)
            )


def _placeholder_within(given: JsonValue) -> str:
    """Return the placeholder in any field of an input, or an empty string."""
    match given:
        case str():
            return given if parse_placeholder(given) is not None else ""
        case dict():
            return next((found for each in given.values() if (found := _placeholder_within(each))), "")
        case list():
            return next((found for each in given if (found := _placeholder_within(each))), "")
        case _:
            return ""


def _untrimmed(
    ref: SessionRef, copy: Copy | None, restorable: _Restorable, before: ContextMetrics, tokens: int
) -> Untrimmed:
    return Untrimmed(
        session_id=copy.session_id if copy else None,
        output_file=copy.transcript if copy else None,
        parent_file=ref.transcript,
        given_back=len(restorable.changes),
        thoughts_given_back=restorable.left_out.thoughts,
        tokens_given_back=tokens,
        change=Savings.expect(before, -tokens),
        left=restorable.left,
        resume_command=resume_command(ref.agent, copy.session_id) if copy else None,
        folder=Path(ref.project) if ref.project else None,
        left_behind=copy.left_behind if copy else (),
    )
