"""The live conversation as smart-trim reads it: tool calls with their effects and answers, and the messages between them.

It also finds the names that the conversation has mentioned since an old result, because lines near them still matter. Names come from
prompts, replies and inputs that are never cut (commands, reads, searches). A copy therefore mentions the same names as its source, and
smart-trimming twice gives the same result as once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from leftoff.agents.jsonl import all_texts
from leftoff.core.actions import (
    Action,
    Answer,
    Changed,
    Delegated,
    Fetched,
    Looked,
    Planned,
    Proposed,
    Ran,
    Searched,
    Wrote,
)
from leftoff.core.protocols import Agent
from leftoff.core.records import Place, Record, RecordKind, ToolResult, ToolUse
from leftoff.core.trim_plan import LivePieces, Piece
from leftoff.shrink.placeholder import first_words, parse_placeholder

_LONG_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{4,}")
_LONG_WORD = 7  # a shorter word counts as a name only with an inner capital or underscore


class Step(NamedTuple):
    """One tool call. ``input_piece`` and ``result_piece`` are None where that side is not in the live chain."""

    call_id: str
    tool: str
    actions: tuple[Action, ...]
    answer: Answer | None  # None: not answered yet
    input_piece: Piece | None
    result_piece: Piece | None
    input_text: str  # all strings of the input

    @property
    def succeeded(self) -> bool:
        """Whether it is known to have succeeded; an answer that was cut does not show it."""
        return (
            self.answer is not None and not self.answer.failed and parse_placeholder(self.answer.text) is None
        )


class Message(NamedTuple):
    """Text between the calls: a prompt or a reply."""

    text: str


ConversationItem: TypeAlias = Step | Message


def read_conversation(
    agent: Agent, live: LivePieces, since_live: Sequence[Record] | None = None
) -> Iterator[ConversationItem]:
    """Yield the live conversation in the order of its requests.

    ``since_live`` are the records since ``live.live_from``; None reads what is needed of them.
    """
    parts = {(piece.place, piece.part, piece.call_id): piece for piece in live.pieces}
    piece_places = [*dict.fromkeys(piece.place for piece in live.pieces)]
    records = _read_records(agent, piece_places, since_live)
    places = _insert_prompts(piece_places, records)
    results = {
        block.call_id: (place, block)
        for place in places
        for block in records[place].blocks
        if isinstance(block, ToolResult)
    }
    for place in places:
        for block in records[place].blocks:
            if isinstance(block, ToolUse):
                result_place, result = results.get(block.call_id, (None, None))
                yield Step(
                    call_id=block.call_id,
                    tool=block.tool,
                    actions=agent.actions(block),
                    answer=agent.answer(block, result) if result else None,
                    input_piece=parts.get((place, "input", block.call_id)),
                    result_piece=parts.get((result_place, "result", block.call_id)) if result_place else None,
                    input_text="\n".join(all_texts(block.input)),
                )
        if _is_prompt(records[place]):
            yield Message(agent.typed(records[place]))
        if (place, "text", None) in parts:
            yield Message(records[place].text)


def _read_records(
    agent: Agent, places: Sequence[Place], since_live: Sequence[Record] | None
) -> dict[Place, Record]:
    """Return the records at those places and the prompts between them, from the first place to the last."""
    records: dict[Place, Record] = {}
    for transcript in {place.transcript for place in places}:
        here = {place.start: place for place in places if place.transcript == transcript}
        first, last = min(here), max(here)
        before = Place(transcript, here[first].line_idx - 1, 0, first) if first else None
        found = agent.read(Path(transcript), before) if since_live is None else since_live
        for record in (each for each in found if each.place.start >= first):
            # By position: where objects are glued, reading begins inside a line, and its number is not known.
            if place := here.get(record.place.start):
                records[place] = record
            elif _is_prompt(record):
                records[record.place] = record
            if record.place.start >= last:
                break
    return records


def _is_prompt(record: Record) -> bool:
    """Return whether a record is a prompt of the conversation, or repeats one after a compaction."""
    if record.actor is not None or record.kind not in {RecordKind.PROMPT, RecordKind.REPEATED}:
        return False
    return record.kind is RecordKind.PROMPT or bool(record.messages[0].role == "user" and record.text)


def _insert_prompts(places: Sequence[Place], records: Mapping[Place, Record]) -> list[Place]:
    """Return the places with each prompt inserted before the first place that follows it in the file."""
    prompts = iter(sorted(records.keys() - {*places}, key=_start))
    next_prompt = next(prompts, None)
    merged: list[Place] = []
    for place in places:
        while next_prompt is not None and next_prompt.start < place.start:
            merged.append(next_prompt)
            next_prompt = next(prompts, None)
        merged.append(place)
    return merged


def _start(place: Place) -> int:
    return place.start


class Reach(NamedTuple):
    """How many lines around a name are kept, provided that the name occurs in at most ``most_lines`` lines."""

    lines: int
    most_lines: int


def last_mentions(conversation: Sequence[ConversationItem]) -> dict[str, int]:
    """Return the index at which each name was last mentioned."""
    last: dict[str, int] = {}
    for index, item in enumerate(conversation):
        for name in _names(mentioning_text(item)):
            last[name] = index
    return last


def near_names(lines: Sequence[str], last: dict[str, int], index: int, reach: Reach) -> list[bool]:
    """Say of each line whether it is near a name that was mentioned after ``index``."""
    named = [{name for name in _names(line) if last.get(name, -1) > index} for line in lines]
    frequency = Counter(name for names in named for name in names)
    near = [False] * len(lines)
    for at, names in enumerate(named):
        if any(frequency[name] <= reach.most_lines for name in names):
            begin, end = max(0, at - reach.lines), min(len(lines), at + reach.lines + 1)
            near[begin:end] = [True] * (end - begin)
    return near


def mentioning_text(item: ConversationItem) -> str:
    """Return the text of an item in which something can be mentioned; empty for an input that may be cut."""
    if isinstance(item, Message):
        return item.text
    if any(isinstance(action, Changed | Wrote | Planned | Proposed | Delegated) for action in item.actions):
        return ""  # such an input may be cut
    return item.input_text


def _names(text: str) -> set[str]:
    return {
        word
        for word in _LONG_NAME.findall(text)
        if len(word) >= _LONG_WORD or "_" in word.strip("_") or not word[1:].islower()
    }


def does(step: Step, kind: type | object) -> bool:
    """Whether one of the call's actions is of that kind."""
    return any(isinstance(action, kind) for action in step.actions)  # type: ignore[arg-type]


def command_of(step: Step) -> str:
    """Return the command that the call runs, in one line; empty if it runs none."""
    command = next((action.command for action in step.actions if isinstance(action, Ran)), "")
    return " ".join(command.split())


def identity_of(step: Step) -> tuple[str, str]:
    """Return what identifies a call that is tried again: the command, or the file it is about."""
    for action in step.actions:
        match action:
            case Changed(path=about) | Wrote(path=about) | Looked(path=about) | Searched(pattern=about):
                return step.tool, about
            case _:
                pass
    return step.tool, command_of(step) or step.input_text


def describe(step: Step) -> str:
    """Return a short description of the call."""
    for action in step.actions:
        match action:
            case Ran(command=text) | Fetched(what=text) | Delegated(task=text) | Looked(path=text):
                return _short(text)
            case Searched(pattern=text, path=path):
                return _short(f"{text} in {path}" if path else text)
            case _:
                pass
    return _short(step.input_text) or step.tool


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{first_words(line, 79) or line[:79]}…"
