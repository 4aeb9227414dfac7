"""The body of a resume state, read: its sections, and the lists below their labels. People write in it, so reading is lenient."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from leftoff.model.values import dataclass

_HEADING = re.compile(r"## +(?P<name>.*?)[ \t#]*$")
_LABEL = re.compile(r"\*\*(?P<name>[^*]+?):?\*\*:?")
_ITEM = re.compile(r"(?:[-+*]|\d{1,5}[.)])[ \t]+(?:\[(?P<mark>[ xX])\][ \t]+)?(?P<text>.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_WHOLE_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SPACES = re.compile(r"\s+")
NOTHING = ("none yet", "none", "nothing yet")

ListName = Literal["decisions", "assumptions", "blockers", "mental-models", "created", "modified", "pending"]
CRITICAL = "Critical Context to Remember"
FILES = "Files Modified This Project"
HISTORY = "Session History"
NOTES = (HISTORY, "Notes")
# Each list: its section, its label.
LISTS: dict[ListName, tuple[str, str]] = {
    "decisions": (CRITICAL, "Key Decisions Made"),
    "assumptions": (CRITICAL, "Important Assumptions"),
    "blockers": (CRITICAL, "Blockers/Risks Identified"),
    "mental-models": (CRITICAL, "Mental Models Applied"),
    "created": (FILES, "Created"),
    "modified": (FILES, "Modified"),
    "pending": (FILES, "Pending"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One entry of a list. ``is_done`` is None where it has no box."""

    text: str
    is_done: bool | None = None

    @property
    def key(self) -> str:
        """By what two entries are the same, however they are spaced or back-ticked."""
        return _SPACES.sub(" ", self.text.replace("`", "")).strip(" .").lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line outside code, without its end; ``after`` is where the next one begins."""

    at: int
    after: int
    text: str


def lines_outside_code(text: str, start: int = 0) -> Iterator[Line]:
    """The lines that stand in no code fence, from ``start`` on."""
    fence = ""
    for found in _WHOLE_LINE.finditer(text, start):
        line = found[0].rstrip("\r\n")
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            fence = "" if mark and line.strip().startswith(fence) else fence
        else:
            yield Line(at=found.start(), after=found.end(), text=line)


def place_for(text: str, start: int, section: str, label: str) -> tuple[int, str]:
    """Where a new entry of a list goes, and what must be written before it where the label or the section is missing."""
    is_inside, found, at, end = False, False, 0, len(text)
    for line in lines_outside_code(text, start):
        heading, name = _HEADING.match(line.text), _LABEL.match(line.text)
        if is_inside and (
            heading or line.text.strip() == "---" or (found and (name or line.text[:1] == "#"))
        ):
            end = line.at
            break
        if heading and heading["name"].lower() == section.lower():
            is_inside, at = True, line.after
        elif is_inside and name and name["name"].lower() == label.lower():
            found, at = True, line.after
        elif is_inside and line.text.strip():
            at = line.after
    if not is_inside:
        return len(text), f"\n---\n\n## {section}\n\n**{label}**:\n"
    if not found:
        at = end
    return at, "" if found else f"\n**{label}**:\n"


def sections(body: str) -> dict[str, str]:
    """The text below each second-level heading; of two with one name the first."""
    found: dict[str, str] = {}
    heads = [(line, match) for line in lines_outside_code(body) if (match := _HEADING.match(line.text))]
    ends = [line.at for line, _ in heads[1:]] + [len(body)]
    for (line, match), end in zip(heads, ends, strict=True):
        text = body[line.after : end].replace("\r\n", "\n").strip("\n")
        found.setdefault(match["name"], text)
    return found


def listed(body: str, name: ListName) -> list[Item]:
    """The entries of a list, generated or written by hand."""
    return below(body, *LISTS[name])


def below(body: str, section: str, label: str) -> list[Item]:
    """The entries below a label of a section."""
    found = (item_of(line.text) for line in lines_below(body, 0, section, label))
    return [item for item in found if item is not None]


def lines_below(text: str, start: int, section: str, label: str) -> Iterator[Line]:
    """The lines below a label of a section, up to the next label or heading."""
    is_inside = is_below = False
    for line in lines_outside_code(text, start):
        heading, name = _HEADING.match(line.text), _LABEL.match(line.text)
        if heading is not None:
            if is_inside:  # of two sections with one name the first counts
                return
            is_inside = heading["name"].lower() == section.lower()
        elif name is not None:
            is_below = is_inside and name["name"].lower() == label.lower()
        elif line.text.startswith("#"):
            is_below = False
        elif is_below:
            yield line


def items_of(content: str) -> list[Item]:
    """The entries of a generated list."""
    found = (item_of(line) for line in content.split("\n"))
    return [item for item in found if item is not None]


def item_of(line: str) -> Item | None:
    """The entry that a line is; None for any other line, and for one that says that there is nothing."""
    match = _ITEM.match(line)
    if match is None or not match["text"].strip() or match["text"].strip().lower().strip("(_).") in NOTHING:
        return None
    is_done = None if match["mark"] is None else match["mark"] != " "
    return Item(text=match["text"].strip(), is_done=is_done)
