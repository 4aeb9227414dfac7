"""Puts what a person changed by hand on a resume log: at once, and on every later log of the same session.

An edit finds what it replaces by its text, so it holds on a log that was made anew; where that text is gone, what the person
wrote is added all the same. Sources follow the items they belong to; a person's own words need none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from leftoff.model import markdown
from leftoff.model.budget import TRUNCATED
from leftoff.model.edits import Edit
from leftoff.model.resume_log import CustomSection, ResumeLog, shown_decision, shown_tree
from leftoff.model.sources import Source
from leftoff.model.values import dataclass
from leftoff.resume_logs.edited_text import CUSTOM, items_of, label_of

_NOTES = "notes"  # where critical context goes that stands under no name
_OWN_BUDGET_TOKENS = 1000  # of a section that a person added
_DECISION = re.compile(r"\*\*(?P<what>.+?)\*\*(?:\s*- Rationale: (?P<why>.+))?", re.DOTALL)


def applied(log: ResumeLog, edits: Iterable[Edit]) -> ResumeLog:
    """The log as the person left it, with the edits noted in it."""
    for edit in edits:
        log = replace(_applied(log, edit), edits=[*log.edits, edit])
    return log


def _applied(log: ResumeLog, edit: Edit) -> ResumeLog:
    match edit.section:
        case "mission_summary":
            return replace(
                log,
                mission_summary=edit.wrote,
                sources=_moved(log.sources, "mission_summary", lambda _: None),
            )
        case "accomplishments" | "key_findings" | "next_steps":
            return _with_item(log, edit, _shown_text, str)
        case "decisions":
            return _with_item(log, edit, _shown_decision, _decision_in)
        case "critical_context":
            return _with_context(log, edit)
        case section if section.startswith(CUSTOM):
            return replace(log, custom_sections=_with_custom(log.custom_sections, edit))
        case _:  # a section that a newer leftoff knows
            return log


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """An item on its way from one list to the next; ``was_at`` None: the person wrote it."""

    value: Any
    shown: str
    was_at: int | None


def _with_item(
    log: ResumeLog, edit: Edit, shown: Callable[[Any], str], value_in: Callable[[str], Any]
) -> ResumeLog:
    values = getattr(log, edit.section)
    entries = [_Entry(value=value, shown=shown(value), was_at=place) for place, value in enumerate(values)]
    place = _place_of(edit.before, entries)
    own = _Entry(value=value_in(edit.wrote), shown=edit.wrote, was_at=None)
    if place is not None:
        entries[place : place + 1] = [own] if edit.wrote else []
    elif edit.wrote and _place_of(edit.wrote, entries) is None:
        entries.insert(_place_for(edit, entries), own)
    now_at = {entry.was_at: place for place, entry in enumerate(entries)}
    fields: dict[str, Any] = {edit.section: [entry.value for entry in entries]}
    return replace(log, sources=_moved(log.sources, edit.section, now_at.get), **fields)


def _place_of(text: str, entries: list[_Entry]) -> int | None:
    if not text:
        return None
    return next((place for place, entry in enumerate(entries) if _is_shown_as(entry.shown, text)), None)


def _is_shown_as(full: str, text: str) -> bool:
    """Whether an item may have been shown so: as it is, or cut for want of room."""
    return full == text or (
        text.endswith(TRUNCATED) and full.startswith(text.removesuffix(TRUNCATED).rstrip())
    )


def _place_for(edit: Edit, entries: list[_Entry]) -> int:
    """Behind the item that it followed; else where it is kept when space is short: first of what is to come, last of what was."""
    before = _place_of(edit.after, entries)
    if before is not None:
        return before + 1
    return 0 if not edit.after or edit.section == "next_steps" else len(entries)


def _shown_text(value: str) -> str:
    return _body(f"- {markdown.item(value)}")


def _shown_decision(value: Mapping[str, Any]) -> str:
    return _body(shown_decision(value))


def _body(bullet: str) -> str:
    """A bullet as it comes back when the document is read."""
    return "\n".join(items_of(bullet))


def _decision_in(text: str) -> dict[str, str]:
    found = _DECISION.fullmatch(text)
    if found is None:
        return {"decision": text}
    return {"decision": found["what"]} | ({"rationale": found["why"].strip()} if found["why"] else {})


def _with_custom(sections: list[CustomSection], edit: Edit) -> list[CustomSection]:
    name = edit.section.removeprefix(CUSTOM)
    others = [section for section in sections if markdown.inline(section.name) != name]
    if not edit.wrote:
        return others
    own = next((section for section in sections if section not in others), None)
    if own is None:
        return [*sections, CustomSection(name=name, budget_tokens=_OWN_BUDGET_TOKENS, content=edit.wrote)]
    return [replace(section, content=edit.wrote) if section is own else section for section in sections]


def _with_context(log: ResumeLog, edit: Edit) -> ResumeLog:
    context = dict(log.critical_context)
    sources = log.sources
    for key, entry in log.critical_context.items():
        if edit.before and (part := _part_shown_as(key, entry, edit.before)) is not None:
            context[key], sources = _without(key, entry, part, sources)
            break
    if edit.wrote:
        _put(context, edit)
    return replace(
        log,
        critical_context={key: entry for key, entry in context.items() if entry not in ([], {}, None)},
        sources=sources,
    )


def _part_shown_as(key: str, entry: Any, text: str) -> int | str | None:
    """The place or name of the part of an entry that is shown so; the empty name for all of a single value."""
    parts: dict[int | str, Any] = {"": entry}
    if isinstance(entry, list):
        parts = {place: [value] for place, value in enumerate(entry)}
    elif isinstance(entry, dict):
        parts = {name: {name: value} for name, value in entry.items()}
    for part, alone in parts.items():
        shown = [*shown_tree({key: alone})]
        if shown and _is_shown_as(_body(shown[-1]), text):
            return part
    return None


def _without(key: str, entry: Any, part: int | str, sources: list[Source]) -> tuple[Any, list[Source]]:
    where = f"critical_context/{key}"
    if isinstance(entry, list):
        rest = [value for place, value in enumerate(entry) if place != part]
        return rest, _moved(sources, where, lambda at: None if at == part else at - (at > int(part)))
    if isinstance(entry, dict):
        return {name: value for name, value in entry.items() if name != part}, sources
    return None, sources


def _put(context: dict[str, Any], edit: Edit) -> None:
    """Under the name it was written under, whatever shape stands there."""
    single = label_of(edit.wrote)
    label = single[0] if single else edit.after
    key = next((key for key in context if label and _label(key) == label), label or _NOTES)
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
            _put(context, replace(edit, after=""))
        case value:
            context[key] = [value, edit.wrote]


def _label(key: str) -> str:
    """The name that a key of critical context is shown under."""
    named = label_of(_body("\n".join(shown_tree({key: "x"}))))
    return named[0] if named else key


def _moved(sources: list[Source], where: str, now_at: Callable[[int], int | None]) -> list[Source]:
    """The sources with the places of the items below ``where`` as they are now; those of items that are gone go too."""
    moved = []
    for source in sources:
        above, _, place = source.item.rpartition("/")
        if source.item == where:
            continue
        if above != where or not place.isdecimal():
            moved.append(source)
        elif (now := now_at(int(place))) is not None:
            moved.append(replace(source, item=f"{where}/{now}"))
    return moved
