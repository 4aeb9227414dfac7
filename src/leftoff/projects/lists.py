"""The lists of a resume state, added to: decisions, assumptions, blockers, models, files; and notes that belong to no session.

What a person says is never lost: where they have edited a list, it goes into a generated block of its own below theirs, where
they wrote the list themselves, below that, and where they took it out, it is put back. What a session did goes only into lists
that are ours: whoever has edited one may have taken it out on purpose. Entries are never dropped. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count

from leftoff.errors import NotFoundError
from leftoff.projects import blocks, body, telling
from leftoff.projects.body import LISTS, NOTES, Item, ListName
from leftoff.projects.derive import Given
from leftoff.projects.document import Document
from leftoff.projects.sessions import Worked

_MOST_OF_SESSIONS = 200  # entries of a list, above which sessions add no more by themselves
_NUMBERED: frozenset[str] = frozenset({"decisions"})
Now = Callable[[Item], Item | None]


def with_lists(document: Document, given: Given, worked: Worked | None) -> Document:
    """What was said and what was done goes into the lists; an entry stands once, wherever somebody wrote it."""
    did = worked or Worked(agent="", session_id="")
    # Created before and changed now is still created.
    created = {item.key for item in body.listed(document.body, "created")}
    modified = [path for path in did.modified if Item(text=path).key not in created]
    said: dict[ListName, Iterable[Item]] = {
        "decisions": [Item(text=text) for text in given.decisions],
        "assumptions": [Item(text=text) for text in given.assumptions],
        "blockers": [Item(text=text, is_done=False) for text in given.blockers],
        "mental-models": [Item(text=text) for text in given.models],
        "created": (),
        "modified": (),
        "pending": [Item(text=text) for text in given.pending],
    }
    done: dict[ListName, Iterable[Item]] = {
        "decisions": [Item(text=text) for text in did.decisions],
        "created": [Item(text=f"`{path}`") for path in did.created],
        "modified": [Item(text=f"`{path}`") for path in modified],
    }
    touched = {Item(text=path).key for path in (*did.created, *did.modified)}
    for name, items in said.items():
        document = _added(document, name, LISTS[name], _as_written(items))
        document = _refreshed(document, name, _as_written(done.get(name, ())), touched)
    return _resolved(document, given.resolved)


def with_notes(document: Document, notes: Sequence[str]) -> Document:
    """Lines for the history that no entry of a session holds."""
    return _added(document, "notes", NOTES, _as_written(Item(text=text) for text in notes))


def with_empty_lists(document: Document) -> Document:
    """A block for each list that a person wrote, below what they wrote: for what comes later."""
    for name, (section, label) in LISTS.items():
        if name not in blocks.found_in(document.text):
            is_empty = not body.listed(document.body, name)
            content = telling.listed([]) if is_empty else ""
            document = _with_new_block(document, name, (section, label), content)
    return document


def _added(document: Document, name: str, where: tuple[str, str], items: Sequence[Item]) -> Document:
    """The entries that are new, in the first block that is ours; in a new one where there is none."""
    there = {item.key for item in body.below(document.body, *where)}
    new = {item.key: item for item in items if item.key not in there}
    if not new:
        return document
    found = blocks.found_in(document.text)
    own = [*_own_names(name, found)]
    ours = next((each for each in own if found[each].is_ours), None)
    if ours is not None:
        kept = [*body.items_of(found[ours].content), *new.values()]
        return document.with_block(ours, telling.listed(kept, numbered=name in _NUMBERED))
    content = telling.listed(new.values(), numbered=name in _NUMBERED)
    if not own:
        return _with_new_block(document, name, where, content)
    free = next(f"{name}.{number}" for number in count(2) if f"{name}.{number}" not in found)
    at = max(found[each].end for each in own)
    return _inserted(document, at, blocks.written(free, content))


def _refreshed(document: Document, name: ListName, done: Sequence[Item], touched: set[str]) -> Document:
    """Our own list with what a session did; a pending file that was touched is pending no more."""
    block = blocks.found_in(document.text).get(name)
    if block is None or not block.is_ours:
        return document
    there = {item.key for item in body.listed(document.body, name)}
    own = body.items_of(block.content)
    kept = [item for item in own if name != "pending" or _path(item) not in touched]
    added = {item.key: item for item in done if item.key not in there}
    room = max(0, _MOST_OF_SESSIONS - len(kept))
    wanted = [*kept, *[*added.values()][:room]]
    if not wanted and not own:
        return document
    return document.with_block(name, telling.listed(wanted, numbered=name in _NUMBERED))


def _resolved(document: Document, parts: Sequence[str]) -> Document:
    """Blockers that are no more are ticked, whoever wrote them; NotFoundError for words that no blocker holds."""
    known = body.listed(document.body, "blockers")
    for part in parts:
        if not any(part.lower() in item.text.lower() for item in known):
            raise NotFoundError(f"No blocker holds {part[:40]!r}. There are: {_shown(known)}.")
    for name in [*_own_names("blockers", blocks.found_in(document.text))]:
        block = blocks.found_in(document.text)[name]
        items = [_done(item, parts) for item in body.items_of(block.content)]
        if block.is_ours and items:
            document = document.with_block(name, telling.listed(items))
    return document.with_text(lambda text: _ticked(text, len(text) - len(document.body), parts))


def _ticked(text: str, start: int, parts: Sequence[str]) -> str:
    """The same in lines that a person wrote: one character each."""
    section, label = LISTS["blockers"]
    ours = [block for block in blocks.found_in(text).values() if block.is_ours]
    marks = []
    for line in body.lines_below(text, start, section, label):
        item = body.item_of(line.text)
        is_ours = any(block.start <= line.at < block.end for block in ours)
        if item is not None and not is_ours and _done(item, parts) != item:
            marks.append(line.at + line.text.index("[") + 1)
    for at in marks:
        text = f"{text[:at]}x{text[at + 1 :]}"
    return text


def _done(item: Item, parts: Sequence[str]) -> Item:
    is_meant = item.is_done is False and any(part.lower() in item.text.lower() for part in parts)
    return replace(item, is_done=True) if is_meant else item


def _with_new_block(document: Document, name: str, where: tuple[str, str], content: str) -> Document:
    text = document.text
    at, before = body.place_for(text, len(text) - len(document.body), *where)
    return _inserted(document, at, before + blocks.written(name, content))


def _inserted(document: Document, at: int, addition: str) -> Document:
    def insert(text: str) -> str:
        gap = "" if not at or text[at - 1] == "\n" else "\n"
        return text[:at] + blocks.in_line_ends_of(text, gap + addition) + text[at:]

    return document.with_text(insert)


def _own_names(name: str, found: Iterable[str]) -> Iterable[str]:
    return (each for each in found if each == name or each.startswith(f"{name}."))


def _as_written(items: Iterable[Item]) -> list[Item]:
    """Entries as they will be read again, by which alone it can be told whether they are there; none of an empty one."""
    return [written for item in items for written in body.items_of(telling.listed([item]))]


def _path(item: Item) -> str:
    return Item(text=item.text.partition(" - ")[0]).key


def _shown(items: Sequence[Item]) -> str:
    return "; ".join(item.text[:60] for item in items[:6]) or "none"
