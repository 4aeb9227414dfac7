"""Where the items of a resume log come from: the record behind each item, and the project's files at that time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from leftoff.core.records import Place
from leftoff.core.wire import JsonValue, replace_surrogates
from leftoff.errors import DocumentError

EXCERPT_CHARS = 200


class SourceWire(TypedDict):
    """A source in the JSON of a resume log."""

    item: str
    transcript: str
    line_idx: int
    start: int
    end: int
    sha256: str
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The record that one item of a resume log comes from.

    ``item`` names the item (``next_steps/0``). ``sha256`` is the hash of the record's bytes, so that the source can be
    verified. ``excerpt`` has at most 200 characters, redacted.
    """

    item: str
    place: Place
    sha256: str
    excerpt: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "excerpt", replace_surrogates(self.excerpt[:EXCERPT_CHARS]))

    def to_dict(self) -> SourceWire:
        """Return the JSON form."""
        return {
            "item": self.item,
            "transcript": self.place.transcript,
            "line_idx": self.place.line_idx,
            "start": self.place.start,
            "end": self.place.end,
            "sha256": self.sha256,
            "excerpt": self.excerpt,
        }

    @classmethod
    def from_dict(cls, data: JsonValue) -> Source:
        """Read the JSON form."""
        match data:
            case {
                "item": str(item),
                "transcript": str(transcript),
                "line_idx": int(line_idx),
                "start": int(start),
                "end": int(end),
                "sha256": str(sha256),
                "excerpt": str(excerpt),
            }:
                place = Place(transcript, line_idx, start, end)
                return cls(item=item, place=place, sha256=sha256, excerpt=excerpt)
            case _:
                raise DocumentError(f"A source of the resume log is not in the known form: {str(data)[:80]}")


class GroundWire(TypedDict):
    """The ground in the JSON of a resume log."""

    head: str | None
    branch: str | None
    worktree: str | None
    dirty: list[str] | None
    hashes: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The state of the project's files when a document was written, against which drift is measured.

    ``head``: None outside git and before the first commit, ``branch`` also on a detached HEAD. ``dirty`` is ``None`` if not
    known. ``worktree`` names a checkout that is not the main one. ``hashes`` are SHA-256 of the files that the session
    touched. Paths are relative to the project's root.
    """

    head: str | None = None
    branch: str | None = None
    worktree: str | None = None
    dirty: tuple[str, ...] | None = None
    hashes: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> GroundWire:
        """Return the JSON form."""
        return {
            "head": self.head,
            "branch": self.branch,
            "worktree": self.worktree,
            "dirty": None if self.dirty is None else list(self.dirty),
            "hashes": dict(self.hashes),
        }

    @classmethod
    def from_dict(cls, data: JsonValue) -> Ground:
        """Read the JSON form."""
        match data:
            case {
                "head": str() | None as head,
                "branch": str() | None as branch,
                "worktree": str() | None as worktree,
                "dirty": list() | None as dirty,
                "hashes": dict(hashes),
            }:
                return cls(
                    head=head,
                    branch=branch,
                    worktree=worktree,
                    dirty=None if dirty is None else tuple(str(path) for path in dirty),
                    hashes={path: str(digest) for path, digest in hashes.items()},
                )
            case _:
                raise DocumentError(
                    f"The ground of the resume log is not in the known form: {str(data)[:80]}"
                )
