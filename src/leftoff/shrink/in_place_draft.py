"""A conversation while it is being rebuilt: what each stage cuts, and what stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.base import USUAL_IMAGE_CHARS
from leftoff.agents.jsonl import all_texts
from leftoff.core.live_messages import CompactsInPlace, LiveMessage
from leftoff.core.records import Record, ToolResult
from leftoff.core.trim_plan import Cut, LivePieces, Piece
from leftoff.errors import LeftoffError
from leftoff.shrink.cuts import TrimParameters, cut_by_rules, cut_to_ends, cuttable
from leftoff.shrink.derive import CopyingAgent, copying_agent
from leftoff.shrink.file_views import LastView, last_views
from leftoff.shrink.kept import protected_from, unresolved_errors
from leftoff.shrink.live_conversation import (
    GAVE_WAY,
    count_chars,
    count_images,
    cut_points,
    has_call,
    has_image,
    is_own_text,
    mentions,
    names_in,
    paired,
    place_before,
    with_cuts,
)
from leftoff.shrink.planners import invariants_of, read_live_pieces
from leftoff.shrink.steps import ConversationItem, read_conversation
from leftoff.workspace import SessionRef

_PROTECTED_SHARE = 0.1  # of the content, for the last turns
_SHORTEST_CUT_CHARS = 400
_LEAST_SAVED_CHARS = 200
_LOG_SHARE = 0.6  # of the room, for the log of what gives way, where there is little room
_MOST_LOG_CHARS = 24_000
_LEAST_LOG_CHARS = 8_000
_LEAST_WORDS_CHARS = 2_000
_WORDS_SHARE = 0.25  # of the room, for what the user typed in messages that give way
# Of the room for what the user typed: a longer message is shortened where they do not all fit.
_PASTE_SHARE = 0.25
_PASTE_END_CHARS = 500


class CompactionOrder(NamedTuple):
    """How far to go. ``instructions`` are what the user typed after the command; ``keeps_messages`` leaves out the last stage."""

    used_tokens: int
    target_tokens: int
    instructions: str = ""
    keeps_messages: bool = False


class Need(IntEnum):
    """How likely the work needs something again: what commands print, files that were changed since, files as they are now."""

    PASSING = 0
    OUTDATED = 1
    CURRENT = 2


@dataclass
class Draft:
    """The conversation while it is being rebuilt.

    ``since_live`` are the records of the transcript from the first that is live; ``records`` are those of the messages, by handle.
    """

    ref: SessionRef
    agent: CopyingAgent
    given: list[LiveMessage]
    order: CompactionOrder
    parameters: TrimParameters
    live: LivePieces
    since_live: Sequence[Record]
    records: Mapping[str, Record]
    earlier: str  # leftoff's own messages, from earlier compactions
    cuts: dict[tuple[str, str], Cut] = field(default_factory=dict)
    first_kept: int = 0  # index of the first message that does not give way
    kept_before: tuple[int, ...] = ()  # messages before it that stay
    shortened: dict[int, LiveMessage] = field(default_factory=dict)  # those of them that are long pastes
    log_room: int = 0  # 0: no log is needed

    @classmethod
    def read(
        cls,
        ref: SessionRef,
        messages: Sequence[LiveMessage],
        order: CompactionOrder,
        parameters: TrimParameters,
    ) -> Draft:
        """Read what the stages need from the transcript."""
        agent = copying_agent(ref.agent)
        live = read_live_pieces(agent, ref.session, parameters)
        since_live = [*agent.read(Path(ref.session.transcript), place_before(live.live_from))]
        handles = {message.handle for message in messages} - {None}
        records = {
            record.id: record for record in since_live if record.id in handles and record.id is not None
        }
        if not records:
            raise LeftoffError("the transcript does not have these messages yet")
        # The message with which leftoff began the conversation at an earlier compaction is written anew.
        own = [each.text for each in messages if each.role == "user" and is_own_text(each.text)]
        given = [each for each in paired(messages) if each.role != "user" or not is_own_text(each.text)]
        return cls(ref, agent, given, order, parameters, live, since_live, records, "\n".join(own))

    @cached_property
    def names(self) -> frozenset[str]:
        """What the user's instructions name."""
        return names_in(self.order.instructions)

    @cached_property
    def conversation(self) -> Sequence[ConversationItem]:
        """The calls and texts of the live conversation, as on disk."""
        return [*read_conversation(self.agent, self.live, self.since_live)]

    @cached_property
    def unresolved(self) -> frozenset[str]:
        """The calls that failed and have not passed since."""
        return unresolved_errors(self.live.pieces)

    @property
    def wanted_tokens(self) -> int:
        """How many tokens have to go."""
        return max(0, self.order.used_tokens - self.order.target_tokens)

    @cached_property
    def chars_before(self) -> int:
        """The characters of all messages, and images at what they cost but for those that stay.

        Thinking goes too, but how much of it the agent still sends is not known.
        """
        going = (record for handle, record in self.records.items() if handle not in self._held)
        texts = sum(map(count_chars, self.given)) + len(self.earlier)
        return texts + count_images(going) * USUAL_IMAGE_CHARS

    @cached_property
    def _held(self) -> frozenset[str]:
        """The prompts of the last turns, and the last one, that hold an image or document: the agent keeps these itself."""
        with_image = {handle for handle, record in self.records.items() if has_image(record.blocks)}
        prompts = [
            index
            for index, message in enumerate(self.given)
            if self._is_typed(message) or message.handle in with_image
        ]
        first = min([self._first_protected(), *prompts[-1:]])
        handles = (self.given[index].handle or "" for index in prompts if index >= first)
        return frozenset(with_image.intersection(handles))

    @property
    def given_way(self) -> int:
        """How many messages are in the log only."""
        return self.first_kept - len(self.kept_before)

    @property
    def typed_left_out(self) -> int:
        """How many of them the user typed: what was too long for the room there is."""
        return sum(
            self._is_typed(self.given[index])
            for index in range(self.first_kept)
            if index not in self.kept_before
        )

    def messages(self) -> list[LiveMessage]:
        """Return the messages as they are rebuilt so far, in whole pairs of calls and results, without those that hold nothing."""
        kept = [*self.kept_before, *range(self.first_kept, len(self.given))]
        staying = (self.shortened.get(index, self.given[index]) for index in kept)
        rebuilt = (with_cuts(each, self.cuts) for each in paired(staying))
        return [
            message if message.handle in self._held else message._replace(handle=None)
            for message in rebuilt
            if not message.is_empty or message.handle in self._held
        ]

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
        return self._missing_chars() + self.log_room <= 0

    def _keep_all(self) -> None:
        """Begin again with all messages, and with the log of those that gave way earlier."""
        self.first_kept, self.kept_before, self.shortened = 0, (), {}
        self.log_room = min(len(self.earlier), _MOST_LOG_CHARS) if GAVE_WAY in self.earlier else 0

    def cut_old(self, most_needed: Need) -> None:
        """Stage 2: leave only the two ends of results and inputs until enough is freed, what is least likely to be needed first."""
        self._keep_all()
        missing = self._missing_chars() + self.log_room
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

    def _need(self, piece: Piece) -> tuple[bool, Need, int]:
        """Return how likely the work needs a piece again. What the user named comes last, and before it files as they are now.

        The next edits are made in files that were read and not changed since; then in those that were last worked on.
        """
        call_id = piece.call_id or ""
        is_named = self._is_named(call_id)
        view = self._file_views.get(call_id)
        if view is None:
            return is_named, Need.PASSING, piece.place.start
        is_current = view.is_current and piece.part == "result"
        return is_named, Need.CURRENT if is_current else Need.OUTDATED, view.last_work

    def _is_named(self, call_id: str) -> bool:
        """Say whether the user's instructions name something in the call or in its result."""
        return mentions(self._call_texts.get(call_id, ""), self.names)

    @cached_property
    def _call_texts(self) -> Mapping[str, str]:
        """What each call was given and answered, as far as the user's instructions name anything."""
        if not self.names:
            return {}
        inputs = {
            call.call_id: "\n".join(all_texts(call.input)) for each in self.given for call in each.calls
        }
        results = {result.call_id: result.text for each in self.given for result in each.results}
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
    def _file_views(self) -> Mapping[str, LastView]:
        return last_views(self.conversation)

    def drop_oldest(self, *, keeps_views: bool) -> None:
        """Stage 3: let the oldest messages give way to the log, as few as suffice; files as they are now may stay."""
        self._keep_all()
        missing = self._missing_chars()
        if missing + self.log_room <= 0:
            return
        sizes = [count_chars(with_cuts(message, self.cuts)) for message in self.given]
        room = max(sum(sizes) - missing, 0)
        log_room = max(_LEAST_LOG_CHARS, min(_MOST_LOG_CHARS, int(room * _LOG_SHARE)))
        protected = self._first_protected()
        views = self._current_views if keeps_views else frozenset()
        stays = [self._stays(message) or has_call(message, views) for message in self.given]
        freed = [0, *accumulate(sizes)]
        kept = [0, *accumulate(size if stay else 0 for size, stay in zip(sizes, stays, strict=True))]
        share = room - log_room if keeps_views else int(room * _WORDS_SHARE)
        most_kept = max(share, _LEAST_WORDS_CHARS)
        points = [*cut_points(self.given)]
        early = [point for point in points if point <= protected]
        # The last turns stay whole: a shorter log and fewer words come first.
        ways = [(early, log_room, most_kept)]
        if not keeps_views:
            ways += [(early, _LEAST_LOG_CHARS, _LEAST_WORDS_CHARS), (points, log_room, most_kept)]
        self.first_kept = max(early, default=0)
        for some, for_log, for_words in ways:
            enough = (at for at in some if freed[at] - min(kept[at], for_words) - for_log >= missing)
            if (found := next(enough, None)) is not None:
                self.first_kept, most_kept = found, for_words
                break
        self.kept_before = self._kept_before(sizes, stays, most_kept)
        left = room - sum(map(count_chars, self.messages()))
        if self.given_way:
            self.log_room = max(_LEAST_LOG_CHARS, min(_MOST_LOG_CHARS, left))

    def _stays(self, message: LiveMessage) -> bool:
        """Say whether a message that gives way stays all the same: typed by the user, an open error, or asked to be kept."""
        is_asked_for = not message.results and mentions(message.text, self.names)
        return self._is_typed(message) or is_asked_for or has_call(message, self.unresolved)

    def _kept_before(self, sizes: Sequence[int], stays: Sequence[bool], most_chars: int) -> tuple[int, ...]:
        """Return which messages that give way stay all the same, as far as there is room: a paste takes none from short prompts, but loses its middle."""
        before = range(self.first_kept)
        is_scarce = sum(sizes[index] for index in before if stays[index]) > most_chars
        longest = (
            max(_LEAST_WORDS_CHARS, int(most_chars * _PASTE_SHARE)) if is_scarce else max(sizes, default=0)
        )
        kept = []
        for index in sorted(filter(stays.__getitem__, before), key=lambda each: (sizes[each], -each)):
            if sizes[index] > longest:
                self._shorten(index)
            chars = count_chars(with_cuts(self.shortened.get(index, self.given[index]), self.cuts))
            if chars <= most_chars:
                kept.append(index)
                most_chars -= chars
        return tuple(sorted(kept))

    def _shorten(self, index: int) -> None:
        """Cut a long message of the user to its two ends: what was typed is before or after what was pasted."""
        message = self.given[index]
        record = self.records.get(message.handle or "")
        if record is None or message.handle in self._held or not self._is_typed(message):
            return
        text, end = message.text, _PASTE_END_CHARS
        note = f"[… {len(text) - 2 * end:,} characters: leftoff show {self.ref.session_id} --at {record.place.line_idx + 1} …]"
        self.shortened[index] = message._replace(text=f"{text[:end]}\n{note}\n{text[-end:]}")

    def replace_images(self) -> None:
        """Replace images and documents, which a rebuilt message cannot hold; LeftoffError for a result of the last turns."""
        protected = self._first_protected()
        for index in (*self.kept_before, *range(self.first_kept, len(self.given))):
            handle = self.given[index].handle
            record = self.records.get(handle or "")
            if record is None or handle in self._held:
                continue
            with_image = [
                each for each in record.blocks if isinstance(each, ToolResult) and has_image(each.parts)
            ]
            if not with_image and not has_image(record.blocks):
                continue
            line = record.place.line_idx + 1
            if index >= protected:
                raise LeftoffError(f"line {line} of the transcript, a result in the last turns, has an image")
            if has_image(record.blocks):
                note = f"[An image was here: line {line} of {self.ref.session_id}]"
                messages = self.shortened if index in self.shortened else self.given
                text = "\n".join(filter(None, [messages[index].text, note]))
                messages[index] = messages[index]._replace(text=text)
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
        freed = self.chars_before - sum(map(count_chars, self.messages()))
        return int(self.wanted_tokens / self.live.tokens_per_char) - freed

    def _first_protected(self) -> int:
        """Return the index of the first message of the last turns."""
        end = protected_from(self.live, self.parameters.protect_turns, most_share=_PROTECTED_SHARE)
        if end >= len(self.live.pieces):
            return len(self.given)
        start = self.live.pieces[end].place.start
        first = len(self.given)  # what is not on disk yet is the newest
        for message in reversed(self.given):
            record = self.records.get(message.handle or "")
            if record is not None and record.place.start < start:
                break
            first -= 1
        return first

    def _is_typed(self, message: LiveMessage) -> bool:
        return (
            message.role == "user"
            and not message.results
            and isinstance(self.agent, CompactsInPlace)
            and self.agent.is_typed(message.text)
        )
