"""Where a statement comes from, and what the ground looked like when it was made."""

from __future__ import annotations

from dataclasses import field
from typing import TypedDict

from leftoff.errors import DocumentError
from leftoff.model.records import Place
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue, well_formed

EXCERPT_CHARS = 200


class SourceWire(TypedDict):
    """A source as it stands in a resume log's JSON."""

    item: str
    transcript: str
    line_idx: int
    start: int
    end: int
    sha256: str
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What one item of a resume log rests on.

    ``item`` names the item (``next_steps/0``); ``sha256`` is of the record's bytes, so that anybody can check that the
    source still says the same; ``excerpt`` holds at most 200 redacted characters.
    """

    item: str
    place: Place
    sha256: str
    excerpt: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "excerpt", well_formed(self.excerpt[:EXCERPT_CHARS]))

    def to_dict(self) -> SourceWire:
        """The wire form."""
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
        """The value behind a wire form."""
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
    """The ground as it stands in a resume log's JSON."""

    head: str | None
    branch: str | None
    worktree: str | None
    dirty: list[str] | None
    hashes: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The state of the files when a document was written: what drift is measured against.

    ``head`` and ``branch`` are None outside git, on an unborn branch and (``branch``) on a detached HEAD; ``dirty`` is None
    where nobody could tell, which is not the same as clean; ``worktree`` names a checkout that is not the main one. Paths
    are relative to the project's root; ``hashes`` are sha256 of the files that the session touched.
    """

    head: str | None = None
    branch: str | None = None
    worktree: str | None = None
    dirty: tuple[str, ...] | None = None
    hashes: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> GroundWire:
        """The wire form."""
        return {
            "head": self.head,
            "branch": self.branch,
            "worktree": self.worktree,
            "dirty": None if self.dirty is None else list(self.dirty),
            "hashes": dict(self.hashes),
        }

    @classmethod
    def from_dict(cls, data: JsonValue) -> Ground:
        """The value behind a wire form."""
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
