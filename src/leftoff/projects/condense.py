"""Keep a resume state short, however many sessions there are: what is old moves to the history file beside it, word for word.

Only what leftoff generated moves, and only while the state is longer than ``MOST_BYTES``: first the entries of old sessions, of
which one line stays, later only their number; then the oldest files, decisions and other list entries. The newest stay, and so
does everything that a person wrote or edited. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from leftoff.core.quantities import count
from leftoff.projects import body, history, render
from leftoff.projects.body import LISTS, Block, Item, ListName
from leftoff.projects.document import Document
from leftoff.projects.layout import HISTORY_NAME

MOST_BYTES = 7800  # and about 200 for the line that says what was moved
_BLOCK = "earlier"  # the generated block that says what was moved
_HEADING = re.compile(r"### Session (?P<number>\d+)(?: \(Current\))?: (?P<title>.*) \((?P<day>[\d-]+)\)")
_NOT_TELLING = ("- Resumed at", "- Began at", "- Next: ")  # lines of an entry that a later one repeats
_LONGEST_LINE = 120
_NEW_HISTORY = f"""# Session history and earlier decisions

What leftoff moved here from `_resume.md`, word for word, so that the state stays short.

---

## {body.HISTORY}
"""
_WORDS: dict[ListName, str] = {
    "decisions": "decision",
    "assumptions": "assumption",
    "blockers": "resolved blocker",
    "mental-models": "mental model",
    "created": "created file",
    "modified": "modified file",
}


class HistoryFile(NamedTuple):
    """The text of a history file; empty until it is written."""

    text: str = ""

    @property
    def sessions(self) -> dict[str, Block]:
        """The entries of sessions by the name of their block, in order."""
        blocks = body.find_blocks(self.text)
        return {name: block for name, block in blocks.items() if name.startswith(history.PREFIX)}

    def keys(self, name: ListName) -> frozenset[str]:
        """The entries of a list, as they are compared."""
        return frozenset(item.key for item in body.list_items(self.text, name))

    def with_session(self, block: Block) -> HistoryFile:
        """Return the file with the entry at the end of the history; it replaces an older one of the same session.

        Of one that a person edited, only the numbers change.
        """
        text, known = self.text or _NEW_HISTORY, self.sessions.get(block.name)
        if known is not None and not known.is_unedited:
            return HistoryFile(body.replace_attributes(text, block.name, block.attributes))
        if known is not None:
            text = text[: known.start].rstrip("\n") + "\n" + text[known.end :]
        entry = body.render_block(block.name, history.as_ended(block.content), block.attributes)
        return HistoryFile(history.insert_entry(text, 0, entry))

    def with_item(self, name: ListName, item: Item) -> HistoryFile:
        """Return the file with the entry in its list, once."""
        if item.key in self.keys(name):
            return self
        text = self.text or _NEW_HISTORY
        at, before = body.find_insertion(text, 0, *LISTS[name])
        return HistoryFile(f"{text[:at]}{before}{render.render_list([item])}\n{text[at:]}")


# Takes the document and how many entries must stay; returns None if there are no more than that.
_Step: TypeAlias = "Callable[[Document, int], Document | None]"


def condense(document: Document) -> Document:
    """Return the document after moving as much as is necessary, and no more than is possible."""
    before = document
    for step, keep in _STEPS:
        while _size_bytes(document) > MOST_BYTES and (after := step(document, keep)) is not None:
            document = after
    return document if document is before else _with_pointer(document)


def _size_bytes(document: Document) -> int:
    """Return the size without the line that counts what was moved: moving an entry changes that line."""
    block = body.find_blocks(document.text).get(_BLOCK)
    pointer = block.content.partition("\n")[0] if block is not None else ""
    return len(document.to_bytes()) - len(pointer.encode())


def _move_session(document: Document, keep: int) -> Document | None:
    """Move the oldest of more than ``keep`` entries; one line of it stays."""
    blocks = body.find_blocks(document.text)
    entries = [
        block for name, block in blocks.items() if name.startswith(history.PREFIX) and block.is_unedited
    ]
    if len(entries) <= keep:
        return None
    document = replace(document, moved=HistoryFile(document.moved).with_session(entries[0]).text)
    document = document.with_text(lambda text: _without(text, entries[0]))
    pointer = blocks.get(_BLOCK)
    content = _with_line(pointer.content if pointer is not None else "", entries[0])
    return document.with_block(_BLOCK, content) if pointer is not None else _insert(document, content)


def _without(text: str, block: Block) -> str:
    return text[: block.start] + text[block.end :].lstrip("\r\n")


def _with_line(content: str, entry: Block) -> str:
    """Return the content of the pointer block with one line about the entry, in place of an older one."""
    heading, *lines = entry.content.split("\n")
    match = _HEADING.match(heading)
    if match is None:  # the numbers of a session whose entry a person removed
        return content
    told = [line.removeprefix("- ") for line in lines if line.strip() and not line.startswith(_NOT_TELLING)]
    gist = "; ".join(told) or match["title"]
    gist = gist if len(gist) <= _LONGEST_LINE else f"{gist[: _LONGEST_LINE - 1]}…"
    start = f"- Session {match['number']} "
    pointer, *kept = content.split("\n")
    kept = [line for line in kept if not line.startswith(start)]
    return "\n".join([pointer, *kept, f"{start}({match['day']}): {gist}"])


def _drop_line(document: Document, keep: int) -> Document | None:
    """Drop the oldest of more than ``keep`` lines about sessions; the entries are in the history file."""
    block = body.find_blocks(document.text).get(_BLOCK)
    if block is None or not block.is_unedited:
        return None
    pointer, *lines = block.content.split("\n")
    return document.with_block(_BLOCK, "\n".join([pointer, *lines[1:]])) if len(lines) > keep else None


def _move_item(name: ListName) -> _Step:
    """Return the step that moves the oldest of more than ``keep`` entries of a list; of blockers, only resolved ones."""

    def step(document: Document, keep: int) -> Document | None:
        for block in body.find_blocks(document.text).values():
            items = body.parse_items(block.content)
            movable = [item for item in items if name != "blockers" or item.is_done]
            if block.name.partition(".")[0] == name and block.is_unedited and len(movable) > keep:
                rest = [item for item in items if item is not movable[0]]
                document = replace(
                    document, moved=HistoryFile(document.moved).with_item(name, movable[0]).text
                )
                return document.with_block(
                    block.name, render.render_list(rest, numbered=name in render.NUMBERED)
                )
        return None

    return step


def _with_pointer(document: Document) -> Document:
    """Return the document with what was moved counted, and where it is."""
    blocks, moved = body.find_blocks(document.text), HistoryFile(document.moved)
    sessions = [name for name in moved.sessions if name not in blocks]
    counts = [count(len(sessions), "earlier session")] if sessions else []
    for name, word in _WORDS.items():
        here = {item.key for item in body.list_items(document.body, name)}
        if gone := moved.keys(name) - here:
            counts.append(count(len(gone), word))
    pointer = f"In `{HISTORY_NAME}`, beside this file: {', '.join(counts)}."
    block = blocks.get(_BLOCK)
    if block is None:
        return _insert(document, pointer)
    return document.with_block(_BLOCK, "\n".join([pointer, *block.content.split("\n")[1:]]))


def _insert(document: Document, content: str) -> Document:
    """Insert the pointer block before the first entry of a session, else at the end of the history."""
    text, entry = document.text, body.render_block(_BLOCK, content)
    starts = [
        block.start for name, block in body.find_blocks(text).items() if name.startswith(history.PREFIX)
    ]
    if not starts:
        start = len(text) - len(document.body)
        return document.with_text(lambda whole: history.insert_entry(whole, start, entry))
    at, entry = min(starts), body.match_line_ends(text, f"{entry}\n")
    return document.with_text(lambda whole: whole[:at] + entry + whole[at:])


# What moves, in this order, and how many stay.
_STEPS: tuple[tuple[_Step, int], ...] = (
    (_move_session, 3),
    (_drop_line, 8),
    (_move_item("modified"), 10),
    (_move_item("created"), 10),
    (_move_item("blockers"), 0),
    (_move_item("decisions"), 10),
    (_drop_line, 3),
    (_move_session, 1),
    *((_move_item(name), 3) for name in ("modified", "created", "decisions", "assumptions", "mental-models")),
)
