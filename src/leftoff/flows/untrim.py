"""Give a trimmed session its originals back, in a new copy that keeps the work done since.

Every placeholder of the live conversation whose original is still there is replaced by it; the others stay, and are named. What was
cut without a placeholder, thoughts above all, is looked for in the sessions that it was cut from. What the last reply says that it
took is written up by what came back, so that the agent does not believe it has more room than it has.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.flows.ancestry import Family, family_here
from leftoff.flows.choose import Chosen, choose
from leftoff.flows.derive import Progress, copier, require_known, resume_command, told_behind, written_copy
from leftoff.flows.expand import Originals
from leftoff.lineage.metadata import untrim_metadata
from leftoff.model.copying import Copy, CopyOrder, LeftBehind, LeftOut, Uncut
from leftoff.model.records import Place, Record, Text, ToolResult, ToolUse
from leftoff.model.session import Session
from leftoff.model.trim_plan import CutPart
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.shrink.placeholders import Placeholder, parsed
from leftoff.system import clock

_CHARS_PER_TOKEN = 4
_NO_PIECE_CHARS = 10**12  # only where the chain begins is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Untrimmed:
    """What was given back, and what could not be. ``session_id`` is None when nothing was written."""

    session_id: str | None
    output_file: Path | None
    parent_file: Path
    given_back: int
    thoughts_given_back: int
    tokens_given_back: int
    left: tuple[str, ...]
    resume_command: tuple[str, ...] | None
    folder: Path | None = None
    left_behind: tuple[LeftBehind, ...] = ()

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.session_id,
            "output_file": None if self.output_file is None else str(self.output_file),
            "parent_file": str(self.parent_file),
            "given_back": self.given_back,
            "thoughts_given_back": self.thoughts_given_back,
            "tokens_given_back": self.tokens_given_back,
            "left": [*self.left],
            "resume_command": None if self.resume_command is None else shlex.join(self.resume_command),
            **told_behind(self.left_behind),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hole:
    place: Place
    part: CutPart
    call_id: str | None
    stands: Placeholder


@dataclass(frozen=True, slots=True, kw_only=True)
class _Back:
    """What comes back: originals by the keys of their placeholders, and what had none. ``left`` says why something does not."""

    changes: dict[str, list[Uncut]]
    left_out: LeftOut
    tokens: int
    left: tuple[str, ...]
    measured_at: tuple[Place, ...]

    def __bool__(self) -> bool:
        return bool(self.changes or self.left_out)


def untrim(
    words: str,
    working_folder: Path,
    *,
    dry_run: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Untrimmed:
    """Write the copy; NothingToDoError for a session that nothing was cut from, LeftoffError when nothing could be given back."""
    chosen = choose(words, working_folder)
    session = chosen.open()
    copier(chosen.agent)
    if not force:
        require_known(chosen.agent, session)
    back = _found(chosen, session)
    if dry_run:
        return _untrimmed(chosen, session, None, back)
    at = clock.now()
    used = chosen.agent.occupancy(chosen.transcript).used_tokens
    live = copier(chosen.agent).live_pieces(session, at_least_chars=_NO_PIECE_CHARS, head=0, tail=0)
    copy = written_copy(
        chosen,
        session,
        [change for each in back.changes.values() for change in each],
        CopyOrder(
            at=at,
            metadata=untrim_metadata(session, at, given_back=len(back.changes)),
            used_tokens=None if used is None else used + back.tokens,
            measured_at=back.measured_at,
            first_prompt=live.first_prompt,
            live_from=live.live_from,
            left_out=back.left_out,
            progress=progress,
        ),
    )
    return _untrimmed(chosen, session, copy, back)


def _found(chosen: Chosen, session: Session) -> _Back:
    """All that can be given back, of which there is something."""
    family = family_here()
    holes, measured_at = _read(chosen, session)
    changes, left = _filled(holes, family, family.ancestor_ids(chosen.transcript))
    ancestors, gone = _cut_from(chosen, family)
    left_out = copier(chosen.agent).left_out(session, ancestors)
    if not holes and not left_out and not gone:
        raise NothingToDoError(
            f"Nothing of session {session.session_id} was cut by leftoff: there is nothing to give back."
        )
    filled = [
        min(hole.stands.original_chars, _most_chars(changes[hole.stands.key][0].value))
        for hole in holes
        if hole.stands.key in changes
    ]
    back = _Back(
        changes=changes,
        left_out=left_out,
        tokens=(sum(filled) + left_out.chars) // _CHARS_PER_TOKEN,
        left=left + gone,
        measured_at=measured_at,
    )
    if not back:
        raise LeftoffError(
            f"None of {len(holes)} originals could be given back. {back.left[0]}" if holes else back.left[0]
        )
    return back


def _cut_from(chosen: Chosen, family: Family) -> tuple[Sequence[Path], tuple[str, ...]]:
    """The sessions that something may have been cut from, oldest first; and in words which of them is gone."""
    found: list[Path] = []
    node = family.node(chosen.transcript)
    while node.parent is not None and node.derivation_type in {"trimmed", "forked"}:
        node = node.parent
        if node.missing:
            name = node.session_id or node.session_file.name
            return found[::-1], (
                f"Session {name} is gone, and with it thoughts that may have been cut from it.",
            )
        found.append(node.session_file)
    return found[::-1], ()


def _most_chars(value: JsonValue) -> int:
    """What a value takes at most, whatever its placeholder says; a picture takes less."""
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False))


def _filled(
    holes: list[_Hole], family: Family, ancestors: Collection[str]
) -> tuple[dict[str, list[Uncut]], tuple[str, ...]]:
    """Originals of the same part of the same call of an ancestor: any tool may have printed a placeholder of anybody's."""
    originals = Originals(family)
    originals.expect([hole.stands.key for hole in holes])
    changes: dict[str, list[Uncut]] = {}
    left: dict[str, None] = {}
    for hole in holes:
        if hole.stands.session_id not in ancestors:
            left[f"{hole.stands.key}: of no session that this one was made from; it stays as it is."] = None
            continue
        found = originals.of(hole.stands.key, hole.part, hole.call_id)
        if isinstance(found, LeftoffError):
            left[found.message] = None
            continue
        changes.setdefault(hole.stands.key, []).append(
            Uncut(place=hole.place, part=hole.part, call_id=hole.call_id, value=found.value)
        )
    return changes, tuple(left)


def _read(chosen: Chosen, session: Session) -> tuple[list[_Hole], tuple[Place, ...]]:
    """Every placeholder of the live conversation, and where its last reply says what it took: several records may."""
    live = {*chosen.agent.live_chain(session).places}
    holes: list[_Hole] = []
    reply: str | None = None
    measured: tuple[Place, ...] = ()
    for record in session.records:
        if record.place in live:
            holes += _holes_in(record)
        if _is_measured(record) and (record.place in live or not record.messages):
            is_again = record.reply_id is not None and record.reply_id == reply
            measured = (*measured, record.place) if is_again else (record.place,)
            reply = record.reply_id
    return holes, measured


def _is_measured(record: Record) -> bool:
    return record.usage is not None and record.usage.occupancy_tokens > 0 and record.actor is None


def _holes_in(record: Record) -> Iterator[_Hole]:
    for block in record.blocks:
        part: CutPart
        name: str | None
        match block:
            case ToolResult(call_id=call_id):
                part, name, stands = "result", call_id, parsed(block.text)
            case ToolUse(call_id=call_id, input=given):
                part, name, stands = "input", call_id, _within(given)
            case Text(text=text) if record.reply_id is not None or record.kind == "reply":
                part, name, stands = "text", None, parsed(text)
            case _:
                continue
        if stands is not None:
            yield _Hole(place=record.place, part=part, call_id=name, stands=stands)


def _within(given: JsonValue) -> Placeholder | None:
    """The placeholder that an input holds in any of its fields."""
    match given:
        case str():
            return parsed(given)
        case dict():
            return next((found for each in given.values() if (found := _within(each)) is not None), None)
        case list():
            return next((found for each in given if (found := _within(each)) is not None), None)
        case _:
            return None


def _untrimmed(chosen: Chosen, session: Session, copy: Copy | None, back: _Back) -> Untrimmed:
    return Untrimmed(
        session_id=copy.session_id if copy else None,
        output_file=copy.transcript if copy else None,
        parent_file=chosen.transcript,
        given_back=len(back.changes),
        thoughts_given_back=back.left_out.thoughts,
        tokens_given_back=back.tokens,
        left=back.left,
        resume_command=resume_command(chosen.agent, copy.session_id) if copy else None,
        folder=Path(session.project) if session.project else None,
        left_behind=copy.left_behind if copy else (),
    )
