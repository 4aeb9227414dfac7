"""Add entries to the lists of a resume state (decisions, assumptions, blockers, models, files) and notes to its history. Pure.

What the user says is never lost: if a person has edited a generated list, the entry goes into a new block below it; if they
wrote the list themselves, below that; if they removed it, it is put back. What a session did goes only into unedited lists,
because a person may have removed it on purpose. Entries are never dropped; old ones may move to the history file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from leftoff.errors import NotFoundError
from leftoff.projects import body, render
from leftoff.projects.body import LISTS, NOTES, Item, ListName
from leftoff.projects.document import Document
from leftoff.projects.history import SessionWork
from leftoff.projects.progress import UserInput


def with_lists(
    document: Document,
    given: UserInput,
    work: SessionWork | None,
    moved_decisions: frozenset[str] = frozenset(),
) -> Document:
    """Add what the user said and what a session did to the lists; no entry is added twice.

    ``moved_decisions`` are in the history file; a session does not bring them back.
    """
    work = work or SessionWork(agent="", session_id="")
    # A file that was created earlier and changed now is still listed as created.
    created = {item.key for item in body.list_items(document.body, "created")}
    modified = [path for path in work.modified if Item(text=path).key not in created]
    by_user: dict[ListName, Iterable[Item]] = {
        "decisions": [Item(text=text) for text in given.decisions],
        "assumptions": [Item(text=text) for text in given.assumptions],
        "blockers": [Item(text=text, is_done=False) for text in given.blockers],
        "mental-models": [Item(text=text) for text in given.models],
        "created": (),
        "modified": (),
        "pending": [Item(text=text) for text in given.pending],
    }
    by_session: dict[ListName, Iterable[Item]] = {
        "decisions": [item for item in map(Item, work.decisions) if item.key not in moved_decisions],
        "created": [Item(text=f"`{path}`") for path in work.created],
        "modified": [Item(text=f"`{path}`") for path in modified],
    }
    touched = {Item(text=path).key for path in (*work.created, *work.modified)}
    for name, items in by_user.items():
        document = _add_items(document, name, LISTS[name], _normalize_items(items))
        document = _add_session_items(document, name, _normalize_items(by_session.get(name, ())), touched)
    return _tick_resolved(document, given.resolved)


def with_notes(document: Document, notes: Sequence[str]) -> Document:
    """Add notes that no entry of a session holds to the history."""
    return _add_items(document, "notes", NOTES, _normalize_items(Item(text=text) for text in notes))


def with_empty_lists(document: Document) -> Document:
    """Add an empty block for each list that has none, below what a person wrote there."""
    for name, (section, label) in LISTS.items():
        if name not in body.find_blocks(document.text):
            is_empty = not body.list_items(document.body, name)
            content = render.render_list([]) if is_empty else ""
            document = _with_new_block(document, name, (section, label), content)
    return document


def _add_items(document: Document, name: str, where: tuple[str, str], items: Sequence[Item]) -> Document:
    """Add the new entries to the first unedited block of the list, else to a new one."""
    known = {item.key for item in body.items_below(document.body, *where)}
    new = {item.key: item for item in items if item.key not in known}
    if not new:
        return document
    blocks = body.find_blocks(document.text)
    own = _block_names(name, blocks)
    unedited = next((block for block in own if blocks[block].is_unedited), None)
    if unedited is not None:
        all_items = [*body.parse_items(blocks[unedited].content), *new.values()]
        return document.with_block(unedited, render.render_list(all_items, numbered=name in render.NUMBERED))
    content = render.render_list(new.values(), numbered=name in render.NUMBERED)
    if not own:
        return _with_new_block(document, name, where, content)
    free = next(f"{name}.{number}" for number in count(2) if f"{name}.{number}" not in blocks)
    at = max(blocks[block].end for block in own)
    return _insert(document, at, body.render_block(free, content))


def _add_session_items(
    document: Document, name: ListName, items: Sequence[Item], touched: set[str]
) -> Document:
    """Add what a session did to an unedited list; remove pending files that it touched.

    Files that it touched again move to the end, where the newest are. Decisions keep their place.
    """
    block = body.find_blocks(document.text).get(name)
    if block is None or not block.is_unedited:
        return document
    new = {item.key: item for item in items}
    before = body.parse_items(block.content)
    if name == "decisions":
        known = {item.key for item in body.list_items(document.body, name)}
        new = {key: item for key, item in new.items() if key not in known}
    kept = [
        item
        for item in before
        if item.key not in new and (name != "pending" or _item_path(item) not in touched)
    ]
    after = [*kept, *new.values()]
    if not after and not before:
        return document
    return document.with_block(name, render.render_list(after, numbered=name in render.NUMBERED))


def _tick_resolved(document: Document, parts: Sequence[str]) -> Document:
    """Tick the blockers that contain one of ``parts``; raise NotFoundError for a part that no blocker contains."""
    known = body.list_items(document.body, "blockers")
    for part in parts:
        if not any(part.lower() in item.text.lower() for item in known):
            some = "; ".join(item.text[:60] for item in known[:6]) or "none"
            raise NotFoundError(f"No blocker holds {part[:40]!r}. There are: {some}.")
    for name in _block_names("blockers", body.find_blocks(document.text)):
        block = body.find_blocks(document.text)[name]
        items = [_tick_item(item, parts) for item in body.parse_items(block.content)]
        if block.is_unedited and items:
            document = document.with_block(name, render.render_list(items))
    return document.with_text(lambda text: _tick_by_hand(text, len(text) - len(document.body), parts))


def _tick_by_hand(text: str, start: int, parts: Sequence[str]) -> str:
    """Tick blockers in lines that a person wrote, changing one character each."""
    section, label = LISTS["blockers"]
    unedited = [block for block in body.find_blocks(text).values() if block.is_unedited]
    marks = []
    for line in body.lines_below(text, start, section, label):
        item = body.parse_item(line.text)
        is_generated = any(block.start <= line.at < block.end for block in unedited)
        if item is not None and not is_generated and _tick_item(item, parts) != item:
            marks.append(line.at + line.text.index("[") + 1)
    for at in marks:
        text = f"{text[:at]}x{text[at + 1 :]}"
    return text


def _tick_item(item: Item, parts: Sequence[str]) -> Item:
    is_resolved = item.is_done is False and any(part.lower() in item.text.lower() for part in parts)
    return item._replace(is_done=True) if is_resolved else item


def _with_new_block(document: Document, name: str, where: tuple[str, str], content: str) -> Document:
    text = document.text
    at, before = body.find_insertion(text, len(text) - len(document.body), *where)
    return _insert(document, at, before + body.render_block(name, content))


def _insert(document: Document, at: int, addition: str) -> Document:
    def insert(text: str) -> str:
        gap = "" if not at or text[at - 1] == "\n" else "\n"
        return text[:at] + body.match_line_ends(text, gap + addition) + text[at:]

    return document.with_text(insert)


def _block_names(name: str, blocks: Iterable[str]) -> list[str]:
    """Return the names of the blocks of a list: ``decisions``, ``decisions.2`` …"""
    return [block for block in blocks if block == name or block.startswith(f"{name}.")]


def _normalize_items(items: Iterable[Item]) -> list[Item]:
    """Return the entries as they will be read back, so that they can be compared; empty ones are left out."""
    return [written for item in items for written in body.parse_items(render.render_list([item]))]


def _item_path(item: Item) -> str:
    return Item(text=item.text.partition(" - ")[0]).key
