"""How much of what was needed a document holds: counts, so that cuts of any size can be added up.

*Coverage*: of the files, commands and names that the next calls mention and that also occur before the cut, the share that the
document holds. *Agreement*: of the paths and back-ticked names in the agent's own summary, the share that the document holds
too; what a summary says without its having occurred counts, so not even all of the context reaches 100 %. *Outside*: the
share of characters under other headings than Critical Context and Session Metadata. *Stale*: the share of bullets that
show as current what was over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from typing import Any, Literal

from leftoff.flows.retention_cut import Cut
from leftoff.flows.retention_mentions import (
    KINDS,
    Files,
    Held,
    Kind,
    Mention,
    expected,
    files_before,
    named_in,
)
from leftoff.flows.retention_stale import Past, Stale, items, past, stale
from leftoff.model.values import dataclass

Measure = Literal["coverage", "files", "commands", "names", "agreement", "outside", "stale"]
MEASURES: tuple[Measure, ...] = ("coverage", "files", "commands", "names", "agreement", "outside", "stale")

_HEADING = re.compile(r"^## (.+?)\s*$", re.MULTILINE)
_LISTS = frozenset({"Critical Context", "Session Metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of all. The share is None when there was nothing to hold."""

    held: int = 0
    of: int = 0

    @property
    def share(self) -> float | None:
        """Between 0 and 1."""
        return self.held / self.of if self.of else None

    def __add__(self, other: Part) -> Part:
        return Part(held=self.held + other.held, of=self.of + other.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One document at one cut, or the sum of several."""

    cuts: int = 0
    characters: int = 0
    outside_characters: int = 0
    files: Part = field(default_factory=Part)
    commands: Part = field(default_factory=Part)
    names: Part = field(default_factory=Part)
    agreement: Part = field(default_factory=Part)
    missed: tuple[Mention, ...] = ()
    not_agreed: tuple[Mention, ...] = ()
    items: int = 0
    stale_items: tuple[Stale, ...] = ()

    @property
    def coverage(self) -> Part:
        """Files, commands and names together."""
        return self.files + self.commands + self.names

    @property
    def outside(self) -> Part:
        """The characters that are more than a list of words."""
        return Part(held=self.outside_characters, of=self.characters)

    def parts(self) -> Mapping[Measure, Part]:
        """Every measure by its name."""
        return {
            "coverage": self.coverage,
            "files": self.files,
            "commands": self.commands,
            "names": self.names,
            "agreement": self.agreement,
            "outside": self.outside,
            "stale": Part(held=len(self.stale_items), of=self.items),
        }

    def to_dict(self) -> dict[str, Any]:
        """For scripts: shares as fractions, null where there was nothing to hold."""
        return {
            "cuts": self.cuts,
            "characters": self.characters // self.cuts,
            **{f"{name}_fraction": part.share for name, part in self.parts().items()},
            "counts": {name: asdict(part) for name, part in self.parts().items()},
            "missed": [asdict(each) for each in self.missed],
            "not_agreed": [asdict(each) for each in self.not_agreed],
            "stale": [asdict(each) for each in self.stale_items],
        }

    def __add__(self, other: Score) -> Score:
        return Score(
            cuts=self.cuts + other.cuts,
            characters=self.characters + other.characters,
            outside_characters=self.outside_characters + other.outside_characters,
            files=self.files + other.files,
            commands=self.commands + other.commands,
            names=self.names + other.names,
            agreement=self.agreement + other.agreement,
            missed=self.missed + other.missed,
            not_agreed=self.not_agreed + other.not_agreed,
            items=self.items + other.items,
            stale_items=self.stale_items + other.stale_items,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What a document of the cut should hold: worked out once, for all documents."""

    known: Files
    next_calls: tuple[Mention, ...]
    summary: tuple[Mention, ...]
    over: Past


def needed(cut: Cut) -> Needed:
    """The mentions that the next calls and the agent's summary make of what came before."""
    known = files_before(cut)
    named = named_in(cut.summary, cut) if cut.summary else []
    return Needed(
        known=known,
        next_calls=tuple(expected(cut, known)),
        summary=tuple(named),
        over=past(cut),
    )


def score(document: str, wanted: Needed) -> Score:
    """The counts of one document."""
    held = Held(document)
    missed = [each for each in wanted.next_calls if not held.holds(each, wanted.known)]
    lacking = [each for each in wanted.summary if not held.holds(each, wanted.known)]
    listed = items(document)
    parts = {kind: _part(wanted.next_calls, missed, kind) for kind in KINDS}
    return Score(
        cuts=1,
        characters=len(document),
        outside_characters=outside_characters(document),
        files=parts["files"],
        commands=parts["commands"],
        names=parts["names"],
        agreement=Part(held=len(wanted.summary) - len(lacking), of=len(wanted.summary)),
        missed=tuple(missed),
        not_agreed=tuple(lacking),
        items=len(listed),
        stale_items=tuple(stale(listed, wanted.over, wanted.known)),
    )


def outside_characters(document: str) -> int:
    """The characters that stand under other headings than Critical Context and Session Metadata."""
    heads = [(head.start(), head[1]) for head in _HEADING.finditer(document)]
    ends = [start for start, _ in heads[1:]] + [len(document)]
    lists = sum(end - start for (start, title), end in zip(heads, ends, strict=False) if title in _LISTS)
    return len(document) - lists


def _part(wanted: Iterable[Mention], missed: Iterable[Mention], kind: Kind) -> Part:
    of = sum(each.kind == kind for each in wanted)
    return Part(held=of - sum(each.kind == kind for each in missed), of=of)
