"""Find what a person changed in the Markdown of a resume log, and apply it to this and every later log of the session.

An edit finds what it replaces by its text, so it also applies to a log that was built again; where that text is gone, what the person
wrote is added. Sources follow their items; what a person wrote needs none. The title, context metrics and metadata are computed at
each save: changes there are reported and not kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches
from typing import Any, NamedTuple

from leftoff.core import markdown
from leftoff.core.budget import TRUNCATED
from leftoff.core.provenance import Source
from leftoff.core.resume_log import NOTES_KEY, CustomSection, Edit, ResumeLog, render_decision, render_tree

_ADDED_SECTION_TOKENS = 1000  # budget of a section that a person added
_DECISION = re.compile(r"\*\*(?P<what>.+?)\*\*(?:\s*- Rationale: (?P<why>.+))?", re.DOTALL)
FIELDS = {
    "Mission Summary": "mission_summary",
    "Accomplishments": "accomplishments",
    "Key Findings": "key_findings",
    "Decisions & Rationale": "decisions",
    "Next Steps": "next_steps",
    "Critical Context": "critical_context",
}
CUSTOM = "custom/"
_COMPUTED = ("Context Metrics", "Session Metadata")
_SIMILARITY = 0.5  # difflib's measure; a longer sentence that begins the same is the same item
_TITLE = ""  # what is above the first heading
_NOTHING = {"(none)", "(left out)"}
_HEADING = re.compile(r"^## +(.+?) *#*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BULLET = re.compile(r"[-*+](?: +|$)")
_LEFT_OUT = re.compile(r"\(… \d+ (?:earlier|further) left out to fit the budget\)")
_LABEL = re.compile(r"\*\*(.+?):\*\*(?: +(.+))?", re.DOTALL)


def apply_edits(log: ResumeLog, edits: Iterable[Edit]) -> ResumeLog:
    """Return the log with the edits applied, and recorded in it."""
    for edit in edits:
        log = replace(_apply(log, edit), edits=[*log.edits, edit])
    return log


def _apply(log: ResumeLog, edit: Edit) -> ResumeLog:
    match edit.section:
        case "mission_summary":
            return replace(
                log,
                mission_summary=edit.wrote,
                sources=_renumber(log.sources, "mission_summary", lambda _: None),
            )
        case "accomplishments" | "key_findings" | "next_steps":
            return _edit_item(log, edit, _rendered_text, str)
        case "decisions":
            return _edit_item(log, edit, _rendered_decision, _parse_decision)
        case "critical_context":
            return _edit_context(log, edit)
        case section if section.startswith(CUSTOM):
            return replace(log, custom_sections=_edit_custom(log.custom_sections, edit))
        case _:  # a section of a newer version
            return log


class _Entry(NamedTuple):
    """An item, its text in the Markdown, and its old position; None for what the person wrote."""

    value: Any
    text: str
    old_position: int | None


def _edit_item(
    log: ResumeLog, edit: Edit, render: Callable[[Any], str], parse: Callable[[str], Any]
) -> ResumeLog:
    values = getattr(log, edit.section)
    entries = [
        _Entry(value=value, text=render(value), old_position=place) for place, value in enumerate(values)
    ]
    place = _find_position(edit.before, entries)
    own = _Entry(value=parse(edit.wrote), text=edit.wrote, old_position=None)
    if place is not None:
        entries[place : place + 1] = [own] if edit.wrote else []
    elif edit.wrote and _find_position(edit.wrote, entries) is None:
        entries.insert(_insert_position(edit, entries), own)
    new_position = {entry.old_position: place for place, entry in enumerate(entries)}
    fields: dict[str, Any] = {edit.section: [entry.value for entry in entries]}
    return replace(log, sources=_renumber(log.sources, edit.section, new_position.get), **fields)


def _find_position(text: str, entries: list[_Entry]) -> int | None:
    if not text:
        return None
    return next((place for place, entry in enumerate(entries) if _is_rendered_as(entry.text, text)), None)


def _is_rendered_as(full: str, text: str) -> bool:
    """Return whether an item may have been rendered so: in full, or cut to fit the budget."""
    return full == text or (
        text.endswith(TRUNCATED) and full.startswith(text.removesuffix(TRUNCATED).rstrip())
    )


def _insert_position(edit: Edit, entries: list[_Entry]) -> int:
    """Return the position after the item that it followed; else where items survive a short budget: first of the next steps, last
    of what happened.
    """
    previous = _find_position(edit.after, entries)
    if previous is not None:
        return previous + 1
    return 0 if not edit.after or edit.section == "next_steps" else len(entries)


def _rendered_text(value: str) -> str:
    return _parse_bullet(f"- {markdown.escape_item(value)}")


def _rendered_decision(value: Mapping[str, Any]) -> str:
    return _parse_bullet(render_decision(value))


def _parse_bullet(bullet: str) -> str:
    """Return a bullet as it is read back from the document."""
    return "\n".join(parse_items(bullet))


def _parse_decision(text: str) -> dict[str, str]:
    found = _DECISION.fullmatch(text)
    if found is None:
        return {"decision": text}
    return {"decision": found["what"]} | ({"rationale": found["why"].strip()} if found["why"] else {})


def _edit_custom(sections: list[CustomSection], edit: Edit) -> list[CustomSection]:
    name = edit.section.removeprefix(CUSTOM)
    others = [section for section in sections if markdown.escape_inline(section.name) != name]
    if not edit.wrote:
        return others
    own = next((section for section in sections if section not in others), None)
    if own is None:
        return [*sections, CustomSection(name=name, budget_tokens=_ADDED_SECTION_TOKENS, content=edit.wrote)]
    return [replace(section, content=edit.wrote) if section is own else section for section in sections]


def _edit_context(log: ResumeLog, edit: Edit) -> ResumeLog:
    context = dict(log.critical_context)
    sources = log.sources
    for key, entry in log.critical_context.items():
        if edit.before and (part := _find_part(key, entry, edit.before)) is not None:
            context[key], sources = _remove_part(key, entry, part, sources)
            break
    if edit.wrote:
        _add_context(context, edit)
    return replace(
        log,
        critical_context={key: entry for key, entry in context.items() if entry not in ([], {}, None)},
        sources=sources,
    )


def _find_part(key: str, entry: Any, text: str) -> int | str | None:
    """Return the position or name of the part of an entry that is rendered as ``text``; an empty name for a single value."""
    parts: dict[int | str, Any] = {"": entry}
    if isinstance(entry, list):
        parts = {place: [value] for place, value in enumerate(entry)}
    elif isinstance(entry, dict):
        parts = {name: {name: value} for name, value in entry.items()}
    for part, alone in parts.items():
        rendered = [*render_tree({key: alone})]
        if rendered and _is_rendered_as(_parse_bullet(rendered[-1]), text):
            return part
    return None


def _remove_part(key: str, entry: Any, part: int | str, sources: list[Source]) -> tuple[Any, list[Source]]:
    where = f"critical_context/{key}"
    if isinstance(entry, list):
        rest = [value for place, value in enumerate(entry) if place != part]
        return rest, _renumber(sources, where, lambda at: None if at == part else at - (at > int(part)))
    if isinstance(entry, dict):
        return {name: value for name, value in entry.items() if name != part}, sources
    return None, sources


def _add_context(context: dict[str, Any], edit: Edit) -> None:
    """Add an entry below the name that the person wrote it under, whatever the shape of the existing value."""
    single = parse_label(edit.wrote)
    label = single[0] if single else edit.after
    key = next((key for key in context if label and _label(key) == label), label or NOTES_KEY)
    if single:
        context[key] = single[1]
        return
    match context.get(key):
        case dict(pairs) if ": " in edit.wrote:
            name, _, value = edit.wrote.partition(": ")
            context[key] = pairs | {name: value}
        case list(values):
            context[key] = values if edit.wrote in values else [*values, edit.wrote]
        case None:
            context[key] = [edit.wrote]
        case dict():
            _add_context(context, replace(edit, after=""))
        case value:
            context[key] = [value, edit.wrote]


def _label(key: str) -> str:
    """Return the name that a key of critical context is rendered as."""
    label = parse_label(_parse_bullet("\n".join(render_tree({key: "x"}))))
    return label[0] if label else key


def _renumber(sources: list[Source], where: str, new_position: Callable[[int], int | None]) -> list[Source]:
    """Return the sources with the new positions of the items below ``where``, without those of removed items."""
    renumbered = []
    for source in sources:
        above, _, place = source.item.rpartition("/")
        if source.item == where:
            continue
        if above != where or not place.isdecimal():
            renumbered.append(source)
        elif (position := new_position(int(place))) is not None:
            renumbered.append(replace(source, item=f"{where}/{position}"))
    return renumbered


class Changes(NamedTuple):
    """The edits in the order of the document; ``not_kept`` names the headings whose content is computed at each save.

    ``removed`` names sections that had content and whose heading is gone.
    """

    edits: tuple[Edit, ...]
    not_kept: tuple[str, ...]
    removed: tuple[str, ...] = ()


def find_changes(before: str, after: str) -> Changes:
    """Return what a person changed in a log's Markdown."""
    old, new = _split_sections(before), _split_sections(after)
    edits: list[Edit] = []
    not_kept: list[str] = []
    for heading in [*old, *(heading for heading in new if heading not in old)]:
        was, now = old.get(heading, ""), new.get(heading, "")
        if was == now:
            continue
        if heading == _TITLE or heading in _COMPUTED:
            not_kept.append(heading or "the title")
        else:
            edits += _section_edits(FIELDS.get(heading, CUSTOM + heading), was, now)
    kept = (*new, *not_kept)
    removed = tuple(heading for heading, body in old.items() if body and heading not in kept)
    return Changes(edits=tuple(edits), not_kept=tuple(not_kept), removed=removed)


def is_empty(text: str) -> bool:
    """Return whether a document has nothing but blanks and comments: then the person wants no change."""
    return not _COMMENT.sub("", text).strip()


def parse_items(body: str) -> list[str]:
    """Return the items of a section without their bullets and indents; a paragraph without a bullet is an item too."""
    items: list[list[str]] = []
    blank = True  # in Markdown a line at the margin continues its item unless a blank line is between
    for line in body.split("\n"):
        at_margin = line[:1] not in {"", " "} and line != TRUNCATED
        bullet = _BULLET.match(line)
        if at_margin and (blank or not items or bullet or _LABEL.match(line)):
            items.append([line[bullet.end() :] if bullet else line])
        elif items:
            items[-1].append(line.removeprefix("  "))
        blank = not line.strip()
    texts = ("\n".join(lines).strip() for lines in items)
    return [text for text in texts if text and not _LEFT_OUT.fullmatch(text)]


def parse_label(item: str) -> tuple[str, str] | None:
    """Return the name and value of ``**Branch:** main``; the value is empty above a list. None for any other item."""
    found = _LABEL.fullmatch(item)
    return None if found is None else (found[1], found[2] or "")


def _split_sections(text: str) -> dict[str, str]:
    """Return the section bodies by heading, in order; sections with the same heading are joined."""
    parts = _HEADING.split(text.replace("\r\n", "\n"))
    sections = {_TITLE: parts[0].strip()}
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        stripped = body.strip()
        content = "" if stripped in _NOTHING else stripped
        sections[heading] = f"{sections[heading]}\n{content}" if heading in sections else content
    return sections


def _section_edits(section: str, was: str, now: str) -> Iterator[Edit]:
    if section == "mission_summary" or section.startswith(CUSTOM):
        yield Edit(section=section, before=was, wrote=now)
    elif section == "critical_context":
        yield from _labelled_edits(section, [*_items_with_labels(was)], [*_items_with_labels(now)])
    else:
        yield from _item_edits(section, parse_items(was), parse_items(now))


def _item_edits(section: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Edit]:
    before = {text: place for place, text in reversed([*enumerate(new)])}
    for was, now in _diff_items(old, new):
        place = before.get(now, 0)
        yield Edit(section=section, before=was, wrote=now, after=new[place - 1] if place else "")


def _labelled_edits(
    section: str, old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]
) -> Iterator[Edit]:
    """Yield the edits of critical context; their ``after`` is the name that an item is listed under."""
    labels = {item: label for label, item in [*old, *new]}
    for was, now in _diff_items([item for _, item in old], [item for _, item in new]):
        yield Edit(section=section, before=was, wrote=now, after=labels[now or was])


def _items_with_labels(body: str) -> Iterator[tuple[str, str]]:
    """Yield each item of critical context with the name it is listed under, which is its own for a single value."""
    above = ""
    for item in parse_items(body):
        named = parse_label(item)
        if named is None:
            yield above, item
        elif named[1]:
            above = ""
            yield named[0], item
        else:
            above = named[0]


def _diff_items(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (old, new) for what was removed, then for what was replaced, then for what was added; the missing side is empty.

    In this order a moved item is not lost: it is removed before it is added.
    """
    removed: list[str] = []
    replaced: list[tuple[str, str]] = []
    added: list[str] = []
    for what, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        new_items = [*new[j1:j2]]
        for text in old[i1:i2]:
            if close := _counterpart(text, new_items, alone=i2 - i1 == 1):
                new_items.remove(close)
                replaced.append((text, close))
            else:
                removed.append(text)
        added += new_items
    yield from ((text, "") for text in removed)
    yield from replaced
    yield from (("", text) for text in added)


def _counterpart(text: str, new_items: list[str], *, alone: bool) -> str | None:
    """Return what replaces an item: the most similar one, or the only one where one item was replaced by one."""
    if alone and len(new_items) == 1:
        return new_items[0]
    return next(iter(get_close_matches(text, new_items, n=1, cutoff=_SIMILARITY)), None)
