"""The body of a resume state: its sections, the lists below their labels, and the blocks that leftoff generates.

People edit the body too, so reading is lenient. A generated block carries the hash of its content:

    <!-- leftoff:quick-context 3f2a9c1b -->
    …
    <!-- /leftoff:quick-context -->

A block whose hash differs was edited by a person and is never written again; a block that a person removed is not put back.
Line ends are not part of the hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

_HEADING = re.compile(r"## +(?P<name>.*?)[ \t#]*$")
_LABEL = re.compile(r"\*\*(?P<name>[^*]+?):?\*\*:?")
_ITEM = re.compile(r"(?:[-+*]|\d{1,5}[.)])[ \t]+(?:\[(?P<mark>[ xX])\][ \t]+)?(?P<text>.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
WHOLE_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # str.splitlines would also split at other characters
_SPACES = re.compile(r"\s+")
EMPTY_MARKS = ("none yet", "none", "nothing yet")
ListName = Literal["decisions", "assumptions", "blockers", "mental-models", "created", "modified", "pending"]
CRITICAL = "Critical Context to Remember"
FILES = "Files Modified This Project"
HISTORY = "Session History"
NOTES = (HISTORY, "Notes")
# The section and the label of each list.
LISTS: dict[ListName, tuple[str, str]] = {
    "decisions": (CRITICAL, "Key Decisions Made"),
    "assumptions": (CRITICAL, "Important Assumptions"),
    "blockers": (CRITICAL, "Blockers/Risks Identified"),
    "mental-models": (CRITICAL, "Mental Models Applied"),
    "created": (FILES, "Created"),
    "modified": (FILES, "Modified"),
    "pending": (FILES, "Pending"),
}
_HASH_CHARS = 8
_OPENING = re.compile(
    r"^<!-- leftoff:(?P<name>[a-z][\w.:-]*) (?P<hash>[0-9a-f]{8})(?P<attributes>(?: [a-z_]+=[\w.:-]+)*) -->[ \t]*\r?\n",
    re.MULTILINE,
)


class Item(NamedTuple):
    """One entry of a list. ``is_done`` is ``None`` if it has no check-box."""

    text: str
    is_done: bool | None = None

    @property
    def key(self) -> str:
        """The text to compare entries by, without differences in spaces and back-ticks."""
        return _SPACES.sub(" ", self.text.replace("`", "")).strip(" .").lower()


class Line(NamedTuple):
    """One line outside code, without its line end; ``after`` is where the next line begins."""

    at: int
    after: int
    text: str


def lines_outside_code(text: str, start: int = 0) -> Iterator[Line]:
    """Yield the lines that are in no code fence, from ``start`` on."""
    fence = ""
    for found in WHOLE_LINE.finditer(text, start):
        line = found[0].rstrip("\r\n")
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            fence = "" if mark and line.strip().startswith(fence) else fence
        else:
            yield Line(at=found.start(), after=found.end(), text=line)


def find_insertion(text: str, start: int, section: str, label: str) -> tuple[int, str]:
    """Return where a new entry of a list goes, and the text before it that adds a missing section or label."""
    is_inside, is_below, at, end = False, False, 0, len(text)
    for line in lines_outside_code(text, start):
        heading, name = _HEADING.match(line.text), _LABEL.match(line.text)
        if is_inside and (
            heading or line.text.strip() == "---" or (is_below and (name or line.text[:1] == "#"))
        ):
            end = line.at
            break
        if heading and heading["name"].lower() == section.lower():
            is_inside, at = True, line.after
        elif is_inside and name and name["name"].lower() == label.lower():
            is_below, at = True, line.after
        elif is_inside and line.text.strip():
            at = line.after
    if not is_inside:
        return len(text), f"\n---\n\n## {section}\n\n**{label}**:\n"
    if not is_below:
        at = end
    return at, "" if is_below else f"\n**{label}**:\n"


def split_sections(body: str) -> dict[str, str]:
    """Return the text below each second-level heading; of two with the same name, the first."""
    found: dict[str, str] = {}
    heads = [(line, match) for line in lines_outside_code(body) if (match := _HEADING.match(line.text))]
    ends = [line.at for line, _ in heads[1:]] + [len(body)]
    for (line, match), end in zip(heads, ends, strict=True):
        text = body[line.after : end].replace("\r\n", "\n").strip("\n")
        found.setdefault(match["name"], text)
    return found


def list_items(body: str, name: ListName) -> list[Item]:
    """Return the entries of a list, generated or written by hand."""
    return items_below(body, *LISTS[name])


def items_below(body: str, section: str, label: str) -> list[Item]:
    """Return the entries below a label of a section."""
    found = (parse_item(line.text) for line in lines_below(body, 0, section, label))
    return [item for item in found if item is not None]


def lines_below(text: str, start: int, section: str, label: str) -> Iterator[Line]:
    """Yield the lines below a label of a section, up to the next label or heading."""
    is_inside = is_below = False
    for line in lines_outside_code(text, start):
        heading, name = _HEADING.match(line.text), _LABEL.match(line.text)
        if heading is not None:
            if is_inside:  # of two sections with the same name, the first counts
                return
            is_inside = heading["name"].lower() == section.lower()
        elif name is not None:
            is_below = is_inside and name["name"].lower() == label.lower()
        elif line.text.startswith("#"):
            is_below = False
        elif is_below:
            yield line


def parse_items(content: str) -> list[Item]:
    """Return the entries of a generated list."""
    found = (parse_item(line) for line in content.split("\n"))
    return [item for item in found if item is not None]


def parse_item(line: str) -> Item | None:
    """Return the entry on a line; None for any other line, and for an entry such as "(none yet)"."""
    match = _ITEM.match(line)
    if (
        match is None
        or not match["text"].strip()
        or match["text"].strip().lower().strip("(_).") in EMPTY_MARKS
    ):
        return None
    is_done = None if match["mark"] is None else match["mark"] != " "
    return Item(text=match["text"].strip(), is_done=is_done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A generated block: its content without the markers, and whether no person has edited it."""

    name: str
    content: str
    is_unedited: bool
    start: int  # where the opening marker begins
    end: int  # where the closing marker ends
    attributes: Mapping[str, str] = field(default_factory=dict)


def find_blocks(text: str) -> dict[str, Block]:
    """Return the blocks by name, in order; of two with the same name, the first."""
    found: dict[str, Block] = {}
    for opening in _OPENING.finditer(text):
        name = opening["name"]
        closing = re.compile(rf"^<!-- /leftoff:{re.escape(name)} -->[ \t]*\r?$\n?", re.MULTILINE).search(
            text, opening.end()
        )
        if closing is None or name in found:
            continue
        content = text[opening.end() : closing.start()].replace("\r\n", "\n").removesuffix("\n")
        pairs = (pair.partition("=") for pair in opening["attributes"].split())
        found[name] = Block(
            name=name,
            content=content,
            is_unedited=digest(content) == opening["hash"],
            start=opening.start(),
            end=closing.end(),
            attributes={key: value for key, _, value in pairs},
        )
    return found


def render_block(name: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return the text of a new block."""
    shown = _attribute_text(attributes or {})
    return f"<!-- leftoff:{name} {digest(content)}{shown} -->\n{content}\n<!-- /leftoff:{name} -->\n"


def replace_block(text: str, name: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """Replace the content of a block; return the text unchanged if the block is missing or edited by a person."""
    block = find_blocks(text).get(name)
    if block is None or not block.is_unedited:
        return text
    wanted = {**block.attributes} if attributes is None else {**attributes}
    if block.content == content and wanted == {**block.attributes}:
        return text
    return (
        text[: block.start] + match_line_ends(text, render_block(name, content, wanted)) + text[block.end :]
    )


def replace_attributes(text: str, name: str, attributes: Mapping[str, str]) -> str:
    """Replace the attributes of a block that a person has edited. Its content and its hash stay, so it stays theirs."""
    block = find_blocks(text).get(name)
    if block is None:
        return text
    opening = _OPENING.match(text, block.start)
    assert opening is not None
    return text[: opening.end("hash")] + _attribute_text(attributes) + text[opening.end("attributes") :]


def _attribute_text(attributes: Mapping[str, str]) -> str:
    return "".join(f" {key}={value}" for key, value in attributes.items())


def match_line_ends(text: str, addition: str) -> str:
    """Return ``addition`` with the line ends that ``text`` has."""
    first = text.find("\n")
    return addition.replace("\n", "\r\n") if first > 0 and text[first - 1] == "\r" else addition


def digest(content: str) -> str:
    """Return the hash that a block carries."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
