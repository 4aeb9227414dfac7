"""Rebuild the conversation of a running session so that it fits, without a model: in stages, until the target is reached.

    1. smart-trim             what the work no longer needs becomes a placeholder, with the lines that still matter
    2. old results and inputs become placeholders too, oldest first, with their two ends
    3. the oldest messages    give way to the session's resume log

What the user typed, the last turns and errors that are not resolved stay word for word. Calls and results stay in pairs. The messages
are those that the agent holds, because its transcript may lag behind; what to cut is read from the transcript, where each placeholder
says that its original is. So nothing is lost, and ``restore_before`` undoes the last compaction from the transcript alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import orjson

from leftoff.agents.base import USUAL_IMAGE_CHARS
from leftoff.agents.cut_values import NOTE_KEY, cut_input
from leftoff.agents.jsonl import all_texts
from leftoff.core.actions import Changed, Looked, Wrote
from leftoff.core.live_messages import LiveMessage
from leftoff.core.markdown import fence
from leftoff.core.protocols import Agent, CompactsInPlace
from leftoff.core.quantities import count
from leftoff.core.records import Block, Image, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.core.session import Session
from leftoff.core.trim_plan import Cut, LivePieces, Piece
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.shrink.cuts import TrimParameters, cut_by_rules, cut_to_ends, cuttable
from leftoff.shrink.derive import CopyingAgent, copying_agent
from leftoff.shrink.kept import protected_from, unresolved_errors
from leftoff.shrink.planners import invariants_of, read_live_pieces
from leftoff.shrink.steps import ConversationItem, Step, read_conversation
from leftoff.workspace import SessionRef

OPENING = "leftoff compacted this conversation in place, without a model. A record, not instructions."
_PROTECTED_SHARE = 0.1  # of the content, for the last turns
_SHORTEST_CUT_CHARS = 400
_LEAST_SAVED_CHARS = 200
_LOG_SHARE = 0.6  # of the room, for the log of what gives way, where there is little room
_MOST_LOG_CHARS = 24_000
_LEAST_LOG_CHARS = 8_000
_LEAST_WORDS_CHARS = 2_000
_WORDS_SHARE = 0.25  # of the room, for what the user typed in messages that give way
_LEAST_FREED_SHARE = 0.05  # a compaction that frees less is not worth a new cache
_NAMED = re.compile(r"[\w./-]{4,}")
# What instructions say to a summariser, and nothing about the work.
_INSTRUCTION_WORDS = frozenset(
    {
        "about",
        "compact",
        "context",
        "conversation",
        "drop",
        "everything",
        "focus",
        "from",
        "keep",
        "only",
        "please",
        "preserve",
    }
    | {
        "remember",
        "summarise",
        "summarize",
        "summary",
        "that",
        "them",
        "these",
        "this",
        "those",
        "what",
        "with",
    }
)


class CompactionOrder(NamedTuple):
    """How far to go. ``instructions`` are what the user typed after the command; ``keeps_messages`` leaves out the last stage."""

    used_tokens: int
    target_tokens: int
    instructions: str = ""
    keeps_messages: bool = False


class Rebuilt(NamedTuple):
    """The messages that replace the conversation, and what that changed."""

    messages: tuple[LiveMessage, ...]
    placeholders: int = 0  # new ones
    given_way: int = 0  # messages that are in the log only
    freed_tokens: int = 0  # estimated

    @property
    def done(self) -> str:
        """What went, in words."""
        parts = [count(self.placeholders, "placeholder")] if self.placeholders else []
        parts += [f"{count(self.given_way, 'message')} now in the log only"] if self.given_way else []
        return ", ".join(parts) or "only thinking went"


def rebuild(
    ref: SessionRef,
    messages: Sequence[LiveMessage],
    order: CompactionOrder,
    parameters: TrimParameters,
    *,
    log_body: Callable[[int, str], str],
    pins: Sequence[str] = (),
) -> Rebuilt:
    """Rebuild the conversation; LeftoffError says why it is better left to the agent.

    ``log_body`` returns the session's log in so many characters, without what the text given to it already says.
    """
    draft = _Draft.read(ref, messages, order, parameters)
    draft.cut_stale()
    draft.cut_old(_Need.OUTDATED)
    if not order.keeps_messages:
        draft.drop_oldest(keeps_views=True)
    if not draft.is_reached:
        draft.cut_old(_Need.CURRENT)
        if not order.keeps_messages:
            draft.drop_oldest(keeps_views=False)
    draft.replace_images()
    rebuilt = draft.messages()
    head = _head_message(draft, rebuilt, log_body, pins)
    chars = sum(map(_chars, (head, *rebuilt)))
    freed_tokens = int((draft.chars_before - chars) * draft.tokens_per_char)
    if freed_tokens < order.used_tokens * _LEAST_FREED_SHARE and freed_tokens < draft.wanted_tokens:
        raise NothingToDoError(f"only {count(max(0, freed_tokens), 'token')} could be freed")
    return Rebuilt((head, *rebuilt), len(draft.cuts), draft.given_way, freed_tokens)


def _head_message(
    draft: _Draft, rebuilt: Sequence[LiveMessage], log_body: Callable[[int, str], str], pins: Sequence[str]
) -> LiveMessage:
    """Return the message that begins the conversation: what was done, what is pinned, and the log of what gave way."""
    lines = []
    if draft.cuts:
        lines.append(
            f"{count(len(draft.cuts), 'result or input', 'results and inputs')} below became placeholders; "
            "`leftoff expand KEY` prints an original."
        )
    log = ""
    if draft.given_way:
        lines.append(
            f"The oldest {count(draft.given_way, 'message')} gave way to the log below; what the user typed in them follows it. "
            f"`leftoff show {draft.ref.session_id}` shows everything."
        )
        log = log_body(draft.log_room, "\n".join(_texts(rebuilt)))
    if draft.order.instructions:
        lines.append(f"The user asked of this compaction: {draft.order.instructions}")
    missing = [pin for pin in pins if pin not in log]
    pinned = "\n".join(["## Pins", *(f"- {pin}" for pin in missing)]) if missing else ""
    body = "\n\n".join(filter(None, ["\n".join(lines), pinned, log])) or "Only thinking was left out."
    return LiveMessage(role="user", text=fence(OPENING, body))


class _Need(IntEnum):
    """How likely the work needs something again: what commands print, files that were changed since, files as they are now."""

    PASSING = 0
    OUTDATED = 1
    CURRENT = 2


class _FileView(NamedTuple):
    """A call that shows or changes files: when they were last worked on, and whether they are still as it shows them."""

    last_work: int
    is_current: bool


@dataclass
class _Draft:
    """The conversation while it is being rebuilt. ``records`` are those of its messages, by handle, as far as they are on disk."""

    ref: SessionRef
    agent: CopyingAgent
    given: list[LiveMessage]
    order: CompactionOrder
    parameters: TrimParameters
    live: LivePieces
    records: Mapping[str, Record]
    cuts: dict[tuple[str, str], Cut] = field(default_factory=dict)
    first_kept: int = 0  # index of the first message that does not give way
    kept_before: tuple[int, ...] = ()  # messages before it that stay
    log_room: int = 0

    @classmethod
    def read(
        cls,
        ref: SessionRef,
        messages: Sequence[LiveMessage],
        order: CompactionOrder,
        parameters: TrimParameters,
    ) -> _Draft:
        """Read what the stages need from the transcript."""
        agent = copying_agent(ref.agent)
        live = read_live_pieces(agent, ref.session, parameters)
        handles = {message.handle for message in messages} - {None}
        records = {
            record.id: record
            for record in agent.read(Path(ref.session.transcript), _before(live.live_from))
            if record.id in handles and record.id is not None
        }
        if not records:
            raise LeftoffError("the transcript does not have these messages yet")
        paired = [*_paired(messages)]
        own = [message for message in paired if not _is_own(message)]
        return cls(ref, agent, own, order, parameters, live, records)

    @cached_property
    def names(self) -> frozenset[str]:
        """What the user's instructions name."""
        words = {word.strip(".-/") for word in _NAMED.findall(self.order.instructions.lower())}
        exact = frozenset(word for word in words if not word.isalpha())  # paths, numbers, identifiers
        return exact or frozenset(words) - _INSTRUCTION_WORDS

    @cached_property
    def conversation(self) -> Sequence[ConversationItem]:
        """The calls and texts of the live conversation, as on disk."""
        return [*read_conversation(self.agent, self.live)]

    @cached_property
    def unresolved(self) -> frozenset[str]:
        """The calls that failed and have not passed since."""
        return unresolved_errors(self.live.pieces)

    @property
    def tokens_per_char(self) -> float:
        return self.live.tokens_per_char

    @property
    def wanted_tokens(self) -> int:
        """How many tokens have to go."""
        return max(0, self.order.used_tokens - self.order.target_tokens)

    @property
    def chars_before(self) -> int:
        """The characters of all messages, images at what they cost: none of them stays.

        Thinking goes too, but how much of it the agent still sends is not known.
        """
        return sum(map(_chars, self.given)) + self._images * USUAL_IMAGE_CHARS

    @cached_property
    def _images(self) -> int:
        parts = (
            part
            for record in self.records.values()
            for block in record.blocks
            for part in (block.parts if isinstance(block, ToolResult) else (block,))
        )
        return sum(isinstance(part, Image) for part in parts)

    @property
    def given_way(self) -> int:
        return self.first_kept - len(self.kept_before)

    def messages(self) -> list[LiveMessage]:
        """Return the messages as they are rebuilt so far, without those that hold nothing."""
        kept = [*self.kept_before, *range(self.first_kept, len(self.given))]
        rebuilt = (_with_cuts(self.given[index], self.cuts) for index in kept)
        return [message._replace(handle=None) for message in rebuilt if not message.is_empty]

    def cut_stale(self) -> None:
        """Stage 1: cut what smart-trim cuts."""
        parameters = self.parameters._replace(min_token_savings=0)
        plan = cut_by_rules(
            self.live, self.conversation, parameters, self.ref.session, invariants_of(self.agent)
        )
        here = self._call_ids
        self.cuts |= {
            (cut.part, cut.call_id): cut
            for cut in plan.cuts
            if cut.call_id in here and cut.part in ("result", "input") and not self._is_named(cut.call_id)
        }

    @property
    def is_reached(self) -> bool:
        """Whether enough is freed, with the log that takes the place of messages."""
        return self._missing_chars() + (self.log_room if self.given_way else 0) <= 0

    def cut_old(self, most_needed: _Need) -> None:
        """Stage 2: leave only the two ends of results and inputs until enough is freed, what is least likely to be needed first."""
        self.first_kept, self.kept_before = 0, ()
        missing = self._missing_chars()
        here = self._call_ids
        candidates = [
            piece
            for piece in cuttable(self.live, _SHORTEST_CUT_CHARS, self.parameters.protect_turns)
            if piece.part in ("result", "input")
            and piece.call_id in here
            and self._need(piece)[1] <= most_needed
        ]
        candidates.sort(key=self._need)
        rules = invariants_of(self.agent)
        for piece in candidates:
            if missing <= 0:
                return
            key = (piece.part, piece.call_id or "")
            cut = cut_to_ends(piece, self.parameters, self.ref.session_id)
            now = len(self.cuts[key].replacement) if key in self.cuts else piece.chars
            saved = now - len(cut.replacement)
            if saved > _LEAST_SAVED_CHARS and not any(rule.forbids(cut) for rule in rules):
                self.cuts[key] = cut
                missing -= saved

    def _need(self, piece: Piece) -> tuple[bool, _Need, int]:
        """Return how likely the work needs a piece again. What the user named comes last, and before it files as they are now.

        The next edits are made in files that were read and not changed since; then in those that were last worked on.
        """
        call_id = piece.call_id or ""
        is_named = self._is_named(call_id)
        view = self._file_views.get(call_id)
        if view is None:
            return is_named, _Need.PASSING, piece.place.start
        is_current = view.is_current and piece.part == "result"
        return is_named, _Need.CURRENT if is_current else _Need.OUTDATED, view.last_work

    def _is_named(self, call_id: str) -> bool:
        """Say whether the user's instructions name something in the call or in its result."""
        return _mentions(self._call_texts.get(call_id, ""), self.names)

    @cached_property
    def _call_texts(self) -> Mapping[str, str]:
        """What each call was given and answered, as far as the user's instructions name anything."""
        if not self.names:
            return {}
        messages = self.given
        inputs = {call.call_id: "\n".join(all_texts(call.input)) for each in messages for call in each.calls}
        results = {result.call_id: result.text for each in messages for result in each.results}
        return {call_id: f"{text}\n{results.get(call_id, '')}" for call_id, text in inputs.items()}

    @property
    def _current_views(self) -> frozenset[str]:
        """The calls that show files as they are now and are not cut."""
        return frozenset(
            call_id
            for call_id, view in self._file_views.items()
            if view.is_current and ("result", call_id) not in self.cuts
        )

    @cached_property
    def _file_views(self) -> Mapping[str, _FileView]:
        """The calls that show or change a file."""
        worked: dict[str, int] = {}
        changed: dict[str, int] = {}
        paths: dict[str, tuple[int, set[str]]] = {}
        for index, step in enumerate(self.conversation):
            if not isinstance(step, Step):
                continue
            found = {each.path for each in step.actions if isinstance(each, Looked | Changed | Wrote)}
            if found:
                paths[step.call_id] = index, found
                worked |= dict.fromkeys(found, index)
                changed |= {each.path: index for each in step.actions if isinstance(each, Changed | Wrote)}
        return {
            call_id: _FileView(
                last_work=max(worked[path] for path in found),
                is_current=all(changed.get(path, -1) < index for path in found),
            )
            for call_id, (index, found) in paths.items()
        }

    def drop_oldest(self, *, keeps_views: bool) -> None:
        """Stage 3: let the oldest messages give way to the log, as few as suffice; files as they are now may stay."""
        missing = self._missing_chars()
        if missing <= 0:
            return
        sizes = [_chars(_with_cuts(message, self.cuts)) for message in self.given]
        room = max(sum(sizes) - missing, 0)
        log_room = max(_LEAST_LOG_CHARS, min(_MOST_LOG_CHARS, int(room * _LOG_SHARE)))
        protected = self._first_protected()
        views = self._current_views if keeps_views else frozenset()
        stays = [self._stays(message) or _has_call(message, views) for message in self.given]
        points = [*_cut_points(self.given)]
        freed = [0, *accumulate(sizes)]
        kept = [0, *accumulate(size if stay else 0 for size, stay in zip(sizes, stays, strict=True))]
        share = room - log_room if keeps_views else int(room * _WORDS_SHARE)
        most_kept = max(share, _LEAST_WORDS_CHARS)
        enough = (
            point for point in points if freed[point] - min(kept[point], most_kept) - log_room >= missing
        )
        self.first_kept = next(enough, max((point for point in points if point <= protected), default=0))
        self.kept_before = self._kept_before(sizes, stays, most_kept)
        left = room - sum(sizes[self.first_kept :]) - sum(sizes[index] for index in self.kept_before)
        self.log_room = max(_LEAST_LOG_CHARS, min(_MOST_LOG_CHARS, left))

    def _stays(self, message: LiveMessage) -> bool:
        """Say whether a message that gives way stays all the same: typed by the user, an open error, or asked to be kept."""
        is_asked_for = not message.results and _mentions(message.text, self.names)
        return self._is_typed(message) or is_asked_for or _has_call(message, self.unresolved)

    def _kept_before(self, sizes: Sequence[int], stays: Sequence[bool], most_chars: int) -> tuple[int, ...]:
        """Return which messages that give way stay all the same: the newest that there is room for, with whole pairs."""
        kept = []
        for index in range(self.first_kept - 1, -1, -1):
            if stays[index] and sizes[index] <= most_chars:
                kept.append(index)
                most_chars -= sizes[index]
        calls = {call.call_id for index in kept for call in self.given[index].calls}
        answered = {result.call_id for index in kept for result in self.given[index].results}
        halves = calls ^ answered
        return tuple(sorted(index for index in kept if not _has_call(self.given[index], halves)))

    def replace_images(self) -> None:
        """Replace images and documents, which a rebuilt message cannot hold; LeftoffError for one of the last turns."""
        protected = self._first_protected()
        for index in (*self.kept_before, *range(self.first_kept, len(self.given))):
            record = self.records.get(self.given[index].handle or "")
            if record is None:
                continue
            with_image = [
                each for each in record.blocks if isinstance(each, ToolResult) and _has_image(each.parts)
            ]
            if not with_image and not _has_image(record.blocks):
                continue
            line = record.place.line_idx + 1
            if index >= protected:
                raise LeftoffError(f"line {line} of the transcript, in the last turns, has an image")
            if _has_image(record.blocks):
                note = f"[An image was here: line {line} of {self.ref.session_id}]"
                text = "\n".join(filter(None, [self.given[index].text, note]))
                self.given[index] = self.given[index]._replace(text=text)
            for result in with_image:
                self._cut_image(result)

    def _cut_image(self, result: ToolResult) -> None:
        """Replace a result that has an image by a placeholder."""
        key = ("result", result.call_id)
        piece = next((each for each in self.live.pieces if (each.part, each.call_id) == key), None)
        if piece is not None and key not in self.cuts:
            self.cuts[key] = cut_to_ends(piece, self.parameters, self.ref.session_id)

    @property
    def _call_ids(self) -> frozenset[str]:
        return frozenset(call.call_id for message in self.given for call in message.calls)

    def _missing_chars(self) -> int:
        """Return how many more characters have to go."""
        freed = self.chars_before - sum(map(_chars, self.messages()))
        return int(self.wanted_tokens / self.tokens_per_char) - freed

    def _first_protected(self) -> int:
        """Return the index of the first message of the last turns."""
        end = protected_from(self.live, self.parameters.protect_turns, most_share=_PROTECTED_SHARE)
        if end >= len(self.live.pieces):
            return len(self.given)
        start = self.live.pieces[end].place.start
        for index, message in enumerate(self.given):
            record = self.records.get(message.handle or "")
            if record is None or record.place.start >= start:
                return index
        return len(self.given)

    def _is_typed(self, message: LiveMessage) -> bool:
        return (
            message.role == "user"
            and not message.results
            and isinstance(self.agent, CompactsInPlace)
            and self.agent.is_typed(message.text)
        )


def restore_before(ref: SessionRef, messages: Sequence[LiveMessage]) -> Rebuilt:
    """Undo the last compaction, if leftoff made it: everything as it was before, then what came since.

    NothingToDoError where the last compaction was another's, or there was none.
    """
    records = [*ref.session.records]
    boundary = next(
        (
            record
            for record in reversed(records)
            if record.compaction and record.compaction.trigger != "micro"
        ),
        None,
    )
    after = [] if boundary is None else [each for each in records if each.place.start > boundary.place.start]
    repeated = {record.id for record in after if record.kind is RecordKind.REPEATED}
    if boundary is None or not any(_is_own_text(each.text) for each in after if each.id in repeated):
        raise NothingToDoError(
            "leftoff did not make the last compaction of this session, so there is nothing to undo"
        )
    before = [each for each in records if each.place.start < boundary.place.start]
    old = live_messages(ref.agent, ref.session._replace(records=before))
    new = [message for message in messages if message.handle not in repeated]
    restored = [each for each in _paired([*old, *new]) if not each.is_empty]
    chars = sum(map(_chars, restored)) - sum(map(_chars, messages))
    return Rebuilt(tuple(each._replace(handle=None) for each in restored), freed_tokens=-chars // 4)


def live_messages(agent: Agent, session: Session) -> list[LiveMessage]:
    """Return the messages of a session as its agent holds them, from the transcript."""
    by_place = {record.place: record for record in session.records}
    places = agent.live_chain(session).places
    found = (_as_message(by_place[place]) for place in places if place in by_place)
    return [message for message in found if message is not None]


def _as_message(record: Record) -> LiveMessage | None:
    """Return a record as the agent holds it; None for what the agent adds itself."""
    kinds = {RecordKind.PROMPT, RecordKind.REPLY, RecordKind.RESULT, RecordKind.REPEATED}
    if record.kind not in kinds or record.actor is not None:
        return None
    role = record.messages[0].role if record.messages else "user"
    return LiveMessage(
        role="assistant" if role == "assistant" else "user",
        text=record.text,
        calls=tuple(block for block in record.blocks if isinstance(block, ToolUse)),
        results=tuple(block for block in record.blocks if isinstance(block, ToolResult)),
        handle=record.id,
    )


def _before(live_from: Place | None) -> Place | None:
    """Return the place after which the live records are read; None for the whole file."""
    if live_from is None or live_from.start == 0:
        return None
    return Place(live_from.transcript, live_from.line_idx - 1, 0, live_from.start)


def _paired(messages: Iterable[LiveMessage]) -> Iterator[LiveMessage]:
    """Yield the messages without calls that have no result and results that have no call."""
    messages = [*messages]
    calls = {call.call_id for message in messages for call in message.calls}
    results = {result.call_id for message in messages for result in message.results}
    for message in messages:
        yield message._replace(
            calls=tuple(call for call in message.calls if call.call_id in results),
            results=tuple(result for result in message.results if result.call_id in calls),
        )


def _cut_points(messages: Sequence[LiveMessage]) -> Iterator[int]:
    """Yield the indices before which no call waits for its result."""
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if index and not waiting:
            yield index
        waiting |= {call.call_id for call in message.calls}
        waiting -= {result.call_id for result in message.results}


def _with_cuts(message: LiveMessage, cuts: Mapping[tuple[str, str], Cut]) -> LiveMessage:
    """Return the message with placeholders in place of what is cut."""
    if not message.calls and not message.results:
        return message
    calls = tuple(
        call._replace(input=_as_input(cut_input(call.input, cut)))
        if (cut := cuts.get(("input", call.call_id)))
        else call
        for call in message.calls
    )
    results = tuple(
        result._replace(parts=(Text(text=cut.replacement),))
        if (cut := cuts.get(("result", result.call_id)))
        else result
        for result in message.results
    )
    return message._replace(calls=calls, results=results)


def _as_input(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {NOTE_KEY: value}


def _chars(message: LiveMessage) -> int:
    """Count the characters that the model is sent."""
    inputs = sum(len(orjson.dumps(call.input)) for call in message.calls)
    return len(message.text) + inputs + sum(len(result.text) for result in message.results)


def _texts(messages: Iterable[LiveMessage]) -> Iterator[str]:
    for message in messages:
        if message.text:
            yield message.text
        yield from (result.text for result in message.results)


def _is_own(message: LiveMessage) -> bool:
    """Say whether the message is the one with which leftoff began the conversation at an earlier compaction."""
    return message.role == "user" and _is_own_text(message.text)


def _is_own_text(text: str) -> bool:
    return text.startswith(OPENING)


def _has_image(blocks: Iterable[Block]) -> bool:
    return any(isinstance(block, Image) for block in blocks)


def _has_call(message: LiveMessage, call_ids: Collection[str]) -> bool:
    """Say whether the message makes or answers one of these calls."""
    return any(call.call_id in call_ids for call in message.calls) or any(
        result.call_id in call_ids for result in message.results
    )


def _mentions(text: str, names: Collection[str]) -> bool:
    lowered = text.lower() if names else ""
    return any(name in lowered for name in names)
