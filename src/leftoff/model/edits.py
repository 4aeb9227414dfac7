"""What a person changed in a resume log by hand: kept beside the log, so that it stands when the log is made anew."""

from __future__ import annotations

from typing import TypedDict

from leftoff.errors import DocumentError
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue, well_formed


class EditWire(TypedDict):
    """An edit as it stands in a resume log's JSON."""

    section: str
    before: str
    wrote: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change, in the words of the Markdown.

    ``section`` is a field of the log (``next_steps``) or a custom section (``custom/Code Changes``). ``before`` is what
    stood there, empty where nothing did; ``wrote`` is what the person put there, empty where it was taken out. ``after`` is
    the item that it follows, in critical context the name it stands under; empty for the first.
    """

    section: str
    before: str = ""
    wrote: str = ""
    after: str = ""

    def __post_init__(self) -> None:
        for name in ("section", "before", "wrote", "after"):
            object.__setattr__(self, name, well_formed(getattr(self, name)))

    def to_dict(self) -> EditWire:
        """The wire form."""
        return {"section": self.section, "before": self.before, "wrote": self.wrote, "after": self.after}

    @classmethod
    def from_dict(cls, data: JsonValue) -> Edit:
        """The value behind a wire form."""
        match data:
            case {"section": str(section), "before": str(before), "wrote": str(wrote), "after": str(after)}:
                return cls(section=section, before=before, wrote=wrote, after=after)
            case _:
                raise DocumentError(f"An edit of the resume log is not in the known form: {str(data)[:80]}")
