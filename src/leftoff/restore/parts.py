"""A resume log taken apart into items, each ready to stand in Markdown, with what it is worth when space is short.

Lists of what happened are in order of time, and the newest are worth most; next steps, rules and critical context stand
best first. What is drawn keeps the log's own order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from leftoff.model import markdown
from leftoff.model.entries import is_superseded
from leftoff.model.resume_log import ResumeLog, shown_decision
from leftoff.model.values import dataclass
from leftoff.restore.fence import width

Profile = Literal["fresh", "after_compaction"]

_RULES = ("pins", "user_rules")
_LABELS = {"pins": ("Pinned", "pins"), "user_rules": ("Said", "rules")}
_MISSION_WEIGHT: Mapping[Profile, int] = {"fresh": 6, "after_compaction": 2}
# What of the room for critical context each of its entries may take when all want more; any other takes 1.
_CONTEXT_WEIGHTS = {"files": 4, "commands": 5, "names": 5, "ids_and_urls": 2, "environment_variables": 1}
# After a compaction the exact things come first, because a summary has paraphrased them away.
_CONTEXT_ORDER: Mapping[Profile, tuple[str, ...]] = {
    "fresh": ("files", "commands", "names", "ids_and_urls", "environment_variables"),
    "after_compaction": ("names", "commands", "files", "ids_and_urls", "environment_variables"),
}


_NOTHING: Mapping[int, str] = {}
_LISTS = ("names",)  # of which a part is better than nothing; any other exact thing is whole or not there


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Items that belong together. ``name`` is what they are counted as when left out; ``by_worth`` are their numbers."""

    name: str
    items: tuple[str, ...]
    by_worth: tuple[int, ...]
    weight: int
    label: str = ""  # a bold line above them, where a section has several parts
    can_be_cut: bool = False  # prose and lists of names

    @property
    def need_chars(self) -> int:
        """What all of it takes, line ends included."""
        return width(self.drawn(range(len(self.items)))) + 1 if self.items else 0

    def drawn(self, kept: Iterable[int], begun: Mapping[int, str] = _NOTHING) -> str:
        """Those of the items, in the log's order, below the label; of those in ``begun`` that much."""
        lines = [begun.get(number, self.items[number]) for number in sorted(kept)]
        return "\n".join(([f"**{self.label}:**"] if self.label else []) + lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and its parts."""

    heading: str
    parts: tuple[Part, ...]

    @property
    def frame_chars(self) -> int:
        """What the heading takes, with the blank lines around it."""
        return width(f"## {self.heading}\n\n") + 1


def mission(log: ResumeLog, profile: Profile) -> Section:
    """What was asked: the first words are worth most, then the latest. Who was there knows it, who comes fresh does not."""
    paragraphs = [text for text in log.mission_summary.split("\n\n") if text.strip()]
    items = tuple(f"{markdown.block(text)}\n" for text in paragraphs)
    worth = (0, *range(len(items) - 1, 0, -1)) if items else ()
    return _section(
        "Mission Summary",
        Part(name="mission", items=items, by_worth=worth, weight=_MISSION_WEIGHT[profile], can_be_cut=True),
    )


def rules(log: ResumeLog) -> Section:
    """Pins, and the user's own words; those that others superseded are worth least."""
    parts = []
    for key in _RULES:
        items = _bullets(_texts(log.critical_context.get(key)))
        in_force = [number for number, item in enumerate(items) if not is_superseded(item)]
        others = [number for number in range(len(items)) if number not in in_force]
        label, name = _LABELS[key]
        parts.append(Part(name=name, items=items, by_worth=(*in_force, *others), weight=1, label=label))
    return Section(heading="Rules of the User", parts=tuple(parts))


def next_steps(log: ResumeLog) -> Section:
    """What is open, in order of doing."""
    items = _bullets(log.next_steps)
    part = Part(name="next steps", items=items, by_worth=tuple(range(len(items))), weight=4, can_be_cut=True)
    return _section("Next Steps", part)


def happened(log: ResumeLog) -> tuple[Section, Section, Section]:
    """Accomplishments, findings and decisions: the newest are worth most."""
    return (
        _section("Accomplishments", _newest("accomplishments", _bullets(log.accomplishments), 3)),
        _section("Key Findings", _newest("findings", _bullets(log.key_findings), 4)),
        _section("Decisions & Rationale", _newest("decisions", tuple(map(shown_decision, log.decisions)), 3)),
    )


def custom(log: ResumeLog) -> tuple[Section, ...]:
    """What section providers made, each as one item."""
    return tuple(
        _section(
            markdown.inline(own.name)[:100],
            Part(
                name=markdown.inline(own.name)[:40],
                items=(text,),
                by_worth=(0,),
                weight=1,
                can_be_cut=True,
            ),
        )
        for own in log.custom_sections
        if (text := markdown.block(own.content))
    )


def critical_context(log: ResumeLog, profile: Profile) -> Section:
    """Exact things, best first, in the order of the profile; other entries follow."""
    order = _CONTEXT_ORDER[profile]
    keys = sorted(
        (key for key in log.critical_context if key not in _RULES),
        key=lambda key: order.index(key) if key in order else len(order),
    )
    parts = []
    for key in keys:
        items = _bullets(_texts(log.critical_context[key]))
        label = (
            key.replace("_", " ").title() if key.isidentifier() and key.islower() else markdown.inline(key)
        )
        parts.append(
            Part(
                name=label.lower()[:40],
                items=items,
                by_worth=tuple(range(len(items))),
                weight=_CONTEXT_WEIGHTS.get(key, 1),
                label=label[:100],
                can_be_cut=key in _LISTS,
            )
        )
    return Section(heading="Critical Context", parts=tuple(parts))


def _section(heading: str, part: Part) -> Section:
    return Section(heading=heading, parts=(part,))


def _newest(name: str, items: tuple[str, ...], weight: int) -> Part:
    worth = tuple(range(len(items) - 1, -1, -1))
    return Part(name=name, items=items, by_worth=worth, weight=weight, can_be_cut=True)


def _bullets(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"- {markdown.item(text)}" for text in texts if text.strip())


def _texts(value: Any) -> Sequence[str]:
    """The entries of a value of critical context, each in words."""
    match value:
        case None:
            return ()
        case dict():
            return [f"{key}: {_words(inner)}" for key, inner in value.items()]
        case list():
            return [inner if isinstance(inner, str) else _words(inner) for inner in value]
        case _:
            return [_words(value)]


def _words(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key}: {_words(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(_words(inner) for inner in value)
        case None:
            return "unknown"
        case _:
            return markdown.inline(str(value))
