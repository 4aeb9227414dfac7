"""Rebuild the conversation of a running session so that it fits, without a model: in stages, until the target is reached.

    1. smart-trim             what the work no longer needs becomes a placeholder, with the lines that still matter
    2. old results and inputs become placeholders too, oldest first, with their two ends
    3. the oldest messages    give way to the session's resume log

What the user typed, the last turns and errors that are not resolved stay word for word. Calls and results stay in pairs. The messages
are those that the agent holds, because its transcript may lag behind; what to cut is read from the transcript, where each placeholder
says that its original is. So nothing is lost, and ``restore_before`` undoes the last compaction from the transcript alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from leftoff.core.live_messages import LiveMessage
from leftoff.core.markdown import fence
from leftoff.core.quantities import count
from leftoff.core.records import RecordKind
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.derive import copying_agent, live_pieces
from leftoff.shrink.in_place_draft import CompactionOrder, Draft, Need
from leftoff.shrink.live_conversation import (
    GAVE_WAY,
    OPENING,
    RESTORED,
    all_texts_of,
    count_chars,
    has_any_image,
    is_own_text,
    live_messages,
    paired,
    with_image_notes,
)
from leftoff.workspace import SessionRef

_LEAST_FREED_SHARE = 0.05  # a compaction that frees less is not worth a new cache


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
    draft = Draft.read(ref, messages, order, parameters)
    draft.cut_stale()
    draft.cut_old(Need.OUTDATED)
    if not order.keeps_messages:
        draft.drop_oldest(keeps_views=True)
    if not draft.is_reached:
        draft.cut_old(Need.CURRENT)
        if not order.keeps_messages:
            draft.drop_oldest(keeps_views=False)
    draft.replace_images()
    rebuilt = draft.messages()
    left = {call.call_id for message in rebuilt for call in message.calls}
    placeholders = sum(call_id in left for _, call_id in draft.cuts)  # others gave way
    head = _head_message(draft, rebuilt, placeholders, log_body, pins)
    chars = sum(map(count_chars, (head, *rebuilt)))
    freed_tokens = int((draft.chars_before - chars) * draft.live.tokens_per_char)
    if freed_tokens < order.used_tokens * _LEAST_FREED_SHARE and freed_tokens < draft.wanted_tokens:
        raise NothingToDoError(f"only {count(max(0, freed_tokens), 'token')} could be freed")
    return Rebuilt((head, *rebuilt), placeholders, draft.given_way, freed_tokens)


def _head_message(
    draft: Draft,
    rebuilt: Sequence[LiveMessage],
    placeholders: int,
    log_body: Callable[[int, str], str],
    pins: Sequence[str],
) -> LiveMessage:
    """Return the message that begins the conversation: what was done, what is pinned, and the log of what gave way."""
    lines = []
    if placeholders:
        lines.append(
            f"{count(placeholders, 'result or input', 'results and inputs')} below became placeholders; "
            "`leftoff expand KEY` prints an original."
        )
    if draft.given_way:
        lines.append(
            f"The oldest {count(draft.given_way, 'message')} {GAVE_WAY}; what the user typed in them follows it"
            f"{', long pastes by their two ends' if draft.shortened else ''}{_but_for(draft.typed_left_out)}. "
            f"`leftoff show {draft.ref.session_id}` shows everything."
        )
    elif draft.log_room:
        lines.append(f"What came before {GAVE_WAY} at an earlier compaction.")
    log = ""
    if draft.log_room:
        log = log_body(draft.log_room, "\n".join(all_texts_of(rebuilt))) or draft.earlier
    if draft.order.instructions:
        lines.append(f"The user asked of this compaction: {draft.order.instructions}")
    missing = [pin for pin in pins if pin not in log]
    pinned = "\n".join(["## Pins", *(f"- {pin}" for pin in missing)]) if missing else ""
    body = "\n\n".join(filter(None, ["\n".join(lines), pinned, log])) or "Only thinking was left out."
    return LiveMessage(role="user", text=fence(OPENING, body))


def _but_for(left_out: int) -> str:
    return f", but for {count(left_out, 'message')} of the user that had no room" if left_out else ""


def restore_before(ref: SessionRef, messages: Sequence[LiveMessage]) -> Rebuilt:
    """Undo the last compaction, if leftoff made it: everything as it was before, then what came since.

    A line takes the place of an image that went with the compaction. The line in front of all shows that it is undone: undoing that would
    bring the placeholders back. NothingToDoError where the last compaction is undone or was another's, or there was none; LeftoffError
    where a result with an image came since, because a rebuilt message cannot hold it.
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
    own = next((each.text for each in after if each.id in repeated and is_own_text(each.text)), "")
    if own == RESTORED:
        raise NothingToDoError(
            "the last compaction is undone already; leftoff expand KEY prints what one before it replaced"
        )
    if boundary is None or not own:
        raise NothingToDoError(
            "leftoff did not make the last compaction of this session, so there is nothing to undo"
        )
    new = [message for message in messages if message.handle not in repeated]
    with_image_now = {each.id: each for each in after if each.id is not None and has_any_image(each)}
    held: dict[
        str, LiveMessage | None
    ] = {  # prompts that the compaction kept with their image: the agent goes on keeping them
        with_image_now[message.handle].text: message
        for message in messages
        if message.handle in repeated and message.handle in with_image_now and not message.results
    }
    lost = next((each for each in new if each.results and each.handle in with_image_now), None)
    if lost is not None:
        line = with_image_now[lost.handle or ""].place.line_idx + 1
        raise LeftoffError(f"line {line} of the transcript, a result, has an image, which would be lost")
    before = [each for each in records if each.place.start < boundary.place.start]
    with_image = {each.id: each for each in before if each.id is not None and has_any_image(each)}
    old = [
        held.pop(record.text, None) or with_image_notes(message, record, ref.session_id)
        if (record := with_image.get(message.handle or ""))
        else message
        for message in live_messages(ref.agent, ref.session._replace(records=before))
    ]
    restored = [
        each if each.handle in with_image_now else each._replace(handle=None)
        for each in paired([*old, *new])
        if not each.is_empty and each.text != RESTORED
    ]
    restored.insert(0, LiveMessage(role="user", text=RESTORED))
    chars = sum(map(count_chars, restored)) - sum(map(count_chars, messages))
    tokens_per_char = live_pieces(copying_agent(ref.agent), ref.session).tokens_per_char
    return Rebuilt(tuple(restored), freed_tokens=-int(chars * tokens_per_char))
