"""``_resume.md`` as text: front matter and body, changed in place; everything that is not changed keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from leftoff.errors import DocumentError
from leftoff.projects import project_state
from leftoff.projects.body import digest, match_line_ends, replace_block
from leftoff.projects.project_state import READS_KEY, Plain, State

if TYPE_CHECKING:
    from leftoff.projects.front_matter import FrontMatter

LARGEST_BYTES = 4 * 1024 * 1024
_OPENING = re.compile("\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_GENERATED_READS = re.compile(rf"{READS_KEY}:[ \t]*# kept by leftoff (?P<hash>[0-9a-f]{{8}})[ \t]*\r?\n")


@dataclass(frozen=True, kw_only=True)
class Document:
    """The text of one resume state; ``where`` names its file in errors, ``moved`` is the text of its history file."""

    text: str
    where: str
    moved: str = ""

    @classmethod
    def of_bytes(cls, data: bytes, where: str) -> Document:
        """Decode a file; bytes that are not UTF-8 survive."""
        if len(data) > LARGEST_BYTES:
            raise DocumentError(f"{where}: too large to be a resume state.", path=where)
        return cls(text=data.decode("utf-8", "surrogateescape"), where=where)

    def to_bytes(self) -> bytes:
        """Encode the document for its file."""
        return self.text.encode("utf-8", "surrogateescape")

    @property
    def front(self) -> FrontMatter:
        """The front matter."""
        return self._parts[1]

    @property
    def body(self) -> str:
        """The text after the closing fence of the front matter."""
        rest = self._parts[2]
        return rest[rest.find("\n") + 1 :] if "\n" in rest else ""

    @cached_property
    def values(self) -> dict[str, Plain]:
        """The front matter as plain values, with unknown keys."""
        return self.front.values

    @cached_property
    def state(self) -> State:
        """The known keys of the front matter; raises DocumentError for a wrong value."""
        return project_state.parse_state(self.values, where=self.where, lines=self.front.lines)

    def with_values(self, changes: Mapping[str, Plain]) -> Document:
        """Set keys of the front matter and keep everything else."""
        return self._with_front(self.front.with_values(changes, [*project_state.KEYS])) if changes else self

    def with_reads(self, reads: tuple[str, ...]) -> Document:
        """Write the generated reading list, unless a person wrote or edited the one in the file."""
        from leftoff.projects.front_matter import scalar_text  # noqa: PLC0415 - slow to import

        current = self.front.entry(READS_KEY).replace("\r\n", "\n")
        head = _GENERATED_READS.match(current)
        if current and (head is None or digest(current[head.end() :]) != head["hash"]):
            return self
        items = "".join(f"  - {scalar_text(path)}\n" for path in reads)
        lines = f"{READS_KEY}:  # kept by leftoff {digest(items)}\n{items}"
        if current == lines:
            return self
        lines = match_line_ends(self.text, lines)
        return self._with_front(self.front.with_entry(READS_KEY, lines, [*project_state.KEYS]))

    def with_unknown_key(self, key: str, lines: str) -> Document:
        """Add the lines of an unknown key at the end; unchanged if the key exists or its lines do not parse here."""
        if key in self.values:
            return self
        front = self.front.with_entry(key, match_line_ends(self.text, lines), [*self.values, key])
        try:
            return self._with_front(front) if {*front.values} == {*self.values, key} else self
        except DocumentError:  # an alias without its anchor
            return self

    def with_block(self, name: str, content: str, attributes: Mapping[str, str] | None = None) -> Document:
        """Replace the content of a generated block, unless a person has edited or removed it."""
        return self.with_text(lambda text: replace_block(text, name, content, attributes))

    def with_text(self, change: Callable[[str], str]) -> Document:
        """Change the whole text."""
        text = change(self.text)
        return self if text == self.text else replace(self, text=text)

    def _with_front(self, front: FrontMatter) -> Document:
        opening, before, rest = self._parts
        return self if front.text == before.text else replace(self, text=opening + front.text + rest)

    @cached_property
    def _parts(self) -> tuple[str, FrontMatter, str]:
        """The opening fence, the front matter, and the rest from the closing fence on."""
        from leftoff.projects.front_matter import FrontMatter  # noqa: PLC0415 - slow to import

        opening = _OPENING.match(self.text)
        closing = _CLOSING.search(self.text, opening.end()) if opening else None
        if opening is None or closing is None:
            raise DocumentError(
                f"{self.where}: no front matter: it begins and ends with a line of three hyphens. "
                "leftoff project import makes one.",
                path=self.where,
                line=1,
            )
        front = self.text[opening.end() : closing.start()]
        return (
            opening[0],
            FrontMatter(text=front, where=self.where, first_line=2),
            self.text[closing.start() :],
        )
