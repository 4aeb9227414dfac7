"""What a person changed in the Markdown of a resume log, item by item: pure, and made to be put on later logs again.

Sections are told apart by their headings, items by their bullets; a paragraph without a bullet is an item too. What is
computed (context metrics, metadata, the title) is made anew at each save, so changes there are named and not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches

from leftoff.model.budget import TRUNCATED
from leftoff.model.edits import Edit
from leftoff.model.values import dataclass

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
_LIKE = 0.5  # of difflib's measure; a longer sentence that begins the same is the same item
_TITLE = ""  # what stands above the first heading
_NOTHING = {"(none)", "(left out)"}
_HEADING = re.compile(r"^## +(.+?) *#*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BULLET = re.compile(r"[-*+](?: +|$)")
_LEFT_OUT = re.compile(r"\(… \d+ (?:earlier|further) left out to fit the budget\)")
_LABEL = re.compile(r"\*\*(.+?):\*\*(?: +(.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """``edits`` in the order of the document; ``not_kept`` names the headings below which changes do not stand.

    ``removed`` names sections that had something in them, and whose very heading is gone.
    """

    edits: tuple[Edit, ...]
    not_kept: tuple[str, ...]
    removed: tuple[str, ...] = ()


def changes(before: str, after: str) -> Changes:
    """What differs between a log's Markdown as it was shown and as it came back."""
    old, new = _sections(before), _sections(after)
    edits: list[Edit] = []
    not_kept: list[str] = []
    for heading in [*old, *(heading for heading in new if heading not in old)]:
        was, now = old.get(heading, ""), new.get(heading, "")
        if was == now:
            continue
        if heading == _TITLE or heading in _COMPUTED:
            not_kept.append(heading or "the title")
        else:
            edits += _edits(FIELDS.get(heading, CUSTOM + heading), was, now)
    kept = (*new, *not_kept)
    removed = tuple(heading for heading, body in old.items() if body and heading not in kept)
    return Changes(edits=tuple(edits), not_kept=tuple(not_kept), removed=removed)


def is_empty(text: str) -> bool:
    """Whether nothing is left of a document but blanks and comments: how one says that nothing is to be changed."""
    return not _COMMENT.sub("", text).strip()


def items_of(body: str) -> list[str]:
    """The items of a section, without their bullets and the indent of further lines."""
    items: list[list[str]] = []
    blank = True  # a line at the margin goes on with its item, as Markdown has it, unless a blank line stands between
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


def label_of(item: str) -> tuple[str, str] | None:
    """``**Branch:** main`` as its name and its value, which is empty above a list; None for any other item."""
    found = _LABEL.fullmatch(item)
    return None if found is None else (found[1], found[2] or "")


def _sections(text: str) -> dict[str, str]:
    """The bodies by heading, in order; two of the same heading are one."""
    parts = _HEADING.split(text.replace("\r\n", "\n"))
    sections = {_TITLE: parts[0].strip()}
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        stripped = body.strip()
        content = "" if stripped in _NOTHING else stripped
        sections[heading] = f"{sections[heading]}\n{content}" if heading in sections else content
    return sections


def _edits(section: str, was: str, now: str) -> Iterator[Edit]:
    if section == "mission_summary" or section.startswith(CUSTOM):
        yield Edit(section=section, before=was, wrote=now)
    elif section == "critical_context":
        yield from _labelled_edits(section, [*_labelled(was)], [*_labelled(now)])
    else:
        yield from _item_edits(section, items_of(was), items_of(now))


def _item_edits(section: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Edit]:
    before = {text: place for place, text in reversed([*enumerate(new)])}
    for was, now in _differing(old, new):
        place = before.get(now, 0)
        yield Edit(section=section, before=was, wrote=now, after=new[place - 1] if place else "")


def _labelled_edits(
    section: str, old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]
) -> Iterator[Edit]:
    """``after`` holds the name that an item stands under."""
    labels = {item: label for label, item in [*old, *new]}
    for was, now in _differing([item for _, item in old], [item for _, item in new]):
        yield Edit(section=section, before=was, wrote=now, after=labels[now or was])


def _labelled(body: str) -> Iterator[tuple[str, str]]:
    """Each item of critical context with the name it stands under, which is its own for a single value."""
    above = ""
    for item in items_of(body):
        named = label_of(item)
        if named is None:
            yield above, item
        elif named[1]:
            above = ""
            yield named[0], item
        else:
            above = named[0]


def _differing(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What was taken out, then what was replaced and by what, then what was added; empty where the one side has nothing.

    In this order nothing that was moved gets lost: it is taken out before it is added.
    """
    gone: list[str] = []
    replaced: list[tuple[str, str]] = []
    added: list[str] = []
    for what, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        fresh = [*new[j1:j2]]
        for text in old[i1:i2]:
            if close := _counterpart(text, fresh, alone=i2 - i1 == 1):
                fresh.remove(close)
                replaced.append((text, close))
            else:
                gone.append(text)
        added += fresh
    yield from ((text, "") for text in gone)
    yield from replaced
    yield from (("", text) for text in added)


def _counterpart(text: str, fresh: list[str], *, alone: bool) -> str | None:
    """What stands in an item's place: the most like it, or simply the one where one was put for one."""
    if alone and len(fresh) == 1:
        return fresh[0]
    return next(iter(get_close_matches(text, fresh, n=1, cutoff=_LIKE)), None)
