"""Generated blocks in a document that people edit too: each carries the hash of what we wrote.

    <!-- leftoff:quick-context 3f2a9c1b -->
    …
    <!-- /leftoff:quick-context -->

A block whose hash differs was edited by a person: it is theirs for good, and never written again. So is what stands outside
of blocks, and a block that somebody took out is not put back. Line ends are not part of the hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field

from leftoff.model.values import dataclass

_HASH_CHARS = 8
_OPENING = re.compile(
    r"^<!-- leftoff:(?P<name>[a-z][\w.:-]*) (?P<hash>[0-9a-f]{8})(?P<attributes>(?: [a-z_]+=[\w.:-]+)*) -->[ \t]*\r?\n",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block as it stands: its content without the markers, and whether that is still what we wrote."""

    name: str
    content: str
    is_ours: bool
    start: int  # of the opening marker
    end: int  # behind the closing one
    attributes: Mapping[str, str] = field(default_factory=dict)


def found_in(text: str) -> dict[str, Block]:
    """The blocks by name, in their order; of two with one name the first."""
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
            is_ours=digest(content) == opening["hash"],
            start=opening.start(),
            end=closing.end(),
            attributes={key: value for key, _, value in pairs},
        )
    return found


def written(name: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """A new block, with plain line ends."""
    told = "".join(f" {key}={value}" for key, value in (attributes or {}).items())
    return f"<!-- leftoff:{name} {digest(content)}{told} -->\n{content}\n<!-- /leftoff:{name} -->\n"


def replaced(text: str, name: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """The text with the block's content replaced, if it is there and ours; else as it was."""
    block = found_in(text).get(name)
    if block is None or not block.is_ours:
        return text
    wanted = {**block.attributes} if attributes is None else {**attributes}
    if block.content == content and wanted == {**block.attributes}:
        return text
    return text[: block.start] + in_line_ends_of(text, written(name, content, wanted)) + text[block.end :]


def renumbered(text: str, name: str, attributes: Mapping[str, str]) -> str:
    """The text with other attributes at a block that a person has edited: its words and its hash stay, and so it stays theirs."""
    block = found_in(text).get(name)
    if block is None:
        return text
    opening = _OPENING.match(text, block.start)
    assert opening is not None
    told = "".join(f" {key}={value}" for key, value in attributes.items())
    return text[: opening.end("hash")] + told + text[opening.end("attributes") :]


def in_line_ends_of(text: str, addition: str) -> str:
    """The addition with the line ends that the text has."""
    first = text.find("\n")
    return addition.replace("\n", "\r\n") if first > 0 and text[first - 1] == "\r" else addition


def digest(content: str) -> str:
    """The hash that a block carries."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
