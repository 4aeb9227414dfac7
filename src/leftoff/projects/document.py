"""``_resume.md`` as text: front matter and body taken apart, changed in place, and put together again byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from leftoff.errors import DocumentError
from leftoff.projects import blocks, values
from leftoff.projects.values import READS_KEY, Plain, State
from leftoff.projects.yaml_text import YamlText
from leftoff.projects.yaml_values import scalar_text

LARGEST_BYTES = 4 * 1024 * 1024
_OPENING = re.compile("\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_OURS = re.compile(rf"{READS_KEY}:[ \t]*# kept by leftoff (?P<hash>[0-9a-f]{{8}})[ \t]*\r?\n")


@dataclass(frozen=True, kw_only=True)
class Document:
    """The text of one resume state. ``where`` names it in errors."""

    text: str
    where: str

    @classmethod
    def of_bytes(cls, data: bytes, where: str) -> Document:
        """The document behind the bytes of a file; what is no UTF-8 survives as it is."""
        if len(data) > LARGEST_BYTES:
            raise DocumentError(f"{where}: too large to be a resume state.", path=where)
        return cls(text=data.decode("utf-8", "surrogateescape"), where=where)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        return self.text.encode("utf-8", "surrogateescape")

    @cached_property
    def _parts(self) -> tuple[str, YamlText, str]:
        """The opening fence, the front matter, and all from the closing fence on."""
        opening = _OPENING.match(self.text)
        closing = _CLOSING.search(self.text, opening.end()) if opening else None
        if opening is None or closing is None:
            raise DocumentError(
                f"{self.where}: no front matter: it begins and ends with a line of three hyphens. "
                "leftoff project import makes one.",
                path=self.where,
                line=1,
            )
        middle = self.text[opening.end() : closing.start()]
        return opening[0], YamlText(text=middle, where=self.where, first_line=2), self.text[closing.start() :]

    @property
    def front(self) -> YamlText:
        """The front matter."""
        return self._parts[1]

    @property
    def body(self) -> str:
        """What stands behind the front matter, without the closing fence."""
        rest = self._parts[2]
        return rest[rest.find("\n") + 1 :] if "\n" in rest else ""

    @cached_property
    def values(self) -> dict[str, Plain]:
        """The front matter as plain values, known keys and others."""
        return self.front.values

    @cached_property
    def state(self) -> State:
        """The front matter as a value; DocumentError where a known key is of the wrong kind."""
        return values.state_of(self.values, where=self.where, lines=self.front.lines)

    def with_values(self, changes: Mapping[str, Plain]) -> Document:
        """With these keys set, and everything else as it stands."""
        return self._with_front(self.front.with_values(changes, [*values.KEYS])) if changes else self

    def with_reads(self, reads: tuple[str, ...]) -> Document:
        """With our own reading list; one that a person has written or changed is theirs, and stays."""
        found = self.front.raw(READS_KEY)
        if found and not self._lists_ours(found):
            return self
        items = "".join(f"  - {scalar_text(each)}\n" for each in reads)
        lines = f"{READS_KEY}:  # kept by leftoff {blocks.digest(items)}\n{items}"
        if found.replace("\r\n", "\n") == lines:
            return self
        told = blocks.in_line_ends_of(self.text, lines)
        return self._with_front(self.front.with_lines(READS_KEY, told, [*values.KEYS]))

    def with_key_lines(self, key: str, lines: str) -> Document:
        """With a key that we do not know, at the end; itself where it has one of that name, or the lines do not fit in."""
        if key in self.values:
            return self
        front = self.front.with_lines(key, blocks.in_line_ends_of(self.text, lines), [*self.values, key])
        try:
            return self._with_front(front) if {*front.values} == {*self.values, key} else self
        except DocumentError:  # an alias whose anchor stands elsewhere
            return self

    def with_block(self, name: str, content: str, attributes: Mapping[str, str] | None = None) -> Document:
        """With a generated block told anew, where it is there and ours."""
        return self.with_text(lambda text: blocks.replaced(text, name, content, attributes))

    def with_text(self, change: Callable[[str], str]) -> Document:
        """With the whole text changed."""
        text = change(self.text)
        return self if text == self.text else replace(self, text=text)

    @staticmethod
    def _lists_ours(found: str) -> bool:
        head = _OURS.match(found)
        return head is not None and blocks.digest(found[head.end() :].replace("\r\n", "\n")) == head["hash"]

    def _with_front(self, front: YamlText) -> Document:
        opening, before, rest = self._parts
        return self if front.text == before.text else replace(self, text=opening + front.text + rest)
