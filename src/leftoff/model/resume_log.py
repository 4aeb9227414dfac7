"""The resume log: what the next session must know, as a value, as Markdown within a budget, and as JSON without loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar

from leftoff.errors import DocumentError, InvalidValueError
from leftoff.model import budget, markdown
from leftoff.model.budget import Keep, Section, truncate
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.edits import Edit
from leftoff.model.sources import Ground, Source
from leftoff.model.tokens import estimate_tokens, prefix_within, quarters
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, as_json, upgraded, well_formed

_LONGEST_LINE_TOKENS = 100  # of an id, a name or a heading
_NONE = "(none)"
_LEFT_OUT = "(left out)"  # there is something, and no room for it
_METADATA_LABELS = {
    "files_modified": "Files Modified",
    "agents_used": "Agents Used",
    "errors": "Errors/Warnings",
}
# What each field must be, and what its entries must be.
_SHAPES: Mapping[str, type] = {
    "session_id": str,
    "mission_summary": str,
    "accomplishments": list,
    "key_findings": list,
    "decisions": list,
    "next_steps": list,
    "critical_context": dict,
    "metadata": dict,
}
_ENTRIES: Mapping[str, type] = {
    "accomplishments": str,
    "key_findings": str,
    "decisions": dict,
    "next_steps": str,
}
_WORDS: Mapping[type, str] = {str: "text", list: "a list", dict: "a mapping"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomSection:
    """A section that a section provider made."""

    name: str
    budget_tokens: int
    content: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", well_formed(self.name))
        object.__setattr__(self, "content", well_formed(self.content))


@dataclass(frozen=True, slots=True)
class ResumeLog:
    """Everything the next session needs. Lists are in order of time, next steps in order of doing.

    It keeps copies of what it is given, as JSON can hold them, so ``to_dict`` and ``from_dict`` are exact opposites.
    ``to_markdown`` never takes more than its tokens, headings and metadata included, and text in it can never become a
    heading.
    """

    TOKEN_BUDGET: ClassVar[Mapping[str, int]] = {
        "context_metrics": 500,
        "mission_summary": 1000,
        "accomplishments": 2000,
        "key_findings": 2500,
        "decisions": 1500,
        "next_steps": 1500,
        "critical_context": 1000,
    }
    MAX_TOTAL_TOKENS: ClassVar[int] = 10000
    FRAME_TOKENS: ClassVar[int] = 600  # set aside for headings and metadata

    session_id: str
    context_metrics: ContextMetrics
    mission_summary: str = ""
    accomplishments: list[str] = field(default_factory=list)
    key_findings: list[str] = field(default_factory=list)
    decisions: list[dict[str, str]] = field(default_factory=list)
    next_steps: list[str] = field(default_factory=list)
    critical_context: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    custom_sections: list[CustomSection] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    ground: Ground | None = None  # None: nobody looked
    edits: list[Edit] = field(
        default_factory=list
    )  # what a person changed by hand, in the order of the changes

    def __post_init__(self) -> None:
        for name, shape in _SHAPES.items():
            value = as_json(getattr(self, name))
            if not isinstance(value, shape):
                raise InvalidValueError(f"{name} is not {_WORDS[shape]}.")
            if isinstance(value, list) and not _all_are(_ENTRIES[name], value):
                raise InvalidValueError(f"{name} holds something that is not {_WORDS[_ENTRIES[name]]}.")
            object.__setattr__(self, name, value)
        for name in ("custom_sections", "sources", "edits"):
            object.__setattr__(self, name, list(getattr(self, name)))

    @staticmethod
    def estimate_tokens(text: str) -> int:
        """Tokens that ``text`` takes, on the safe side."""
        return estimate_tokens(text)

    @staticmethod
    def truncate_to_budget(text: str, budget: int) -> str:
        """``text`` within so many tokens, whole sentences where possible, the marker included."""
        return truncate(text, budget)

    def to_markdown(self, max_tokens: int | None = None) -> str:
        """The document for people and agents, never above ``max_tokens`` nor MAX_TOTAL_TOKENS."""
        limit = self.MAX_TOTAL_TOKENS if max_tokens is None else min(max_tokens, self.MAX_TOTAL_TOKENS)
        head = _head(self)
        sections, room = _affordable([*_sections(self), _metadata_section(self), *_custom(self)], head, limit)
        given = budget.shares(sections, room, lend_first="critical_context")
        parts = [head]
        for section in sections:
            body = "\n".join(budget.fit(section, given[section.name])).strip("\n")
            parts.append(f"## {section.heading}\n\n{body or (_LEFT_OUT if section.items else _NONE)}")
        text = "\n\n".join(parts) + "\n"
        return text if sections else truncate(text, limit)  # the shares of sections are within the limit

    def to_dict(self) -> dict[str, Any]:
        """The wire form: everything, in full."""
        return {
            "schema": SCHEMAS["resume_log"],
            "session_id": self.session_id,
            "context_metrics": self.context_metrics.to_dict(),
            "mission_summary": self.mission_summary,
            "accomplishments": list(self.accomplishments),
            "key_findings": list(self.key_findings),
            "decisions": as_json(self.decisions),
            "next_steps": list(self.next_steps),
            "critical_context": as_json(self.critical_context),
            "metadata": as_json(self.metadata),
            "custom_sections": [
                {"name": own.name, "budget_tokens": own.budget_tokens, "content": own.content}
                for own in self.custom_sections
            ],
            "sources": [source.to_dict() for source in self.sources],
            "ground": None if self.ground is None else self.ground.to_dict(),
        } | ({"edits": [edit.to_dict() for edit in self.edits]} if self.edits else {})

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, where: str = "resume log") -> ResumeLog:
        """The value behind a wire form of any known schema; ``where`` names it in errors."""
        known = upgraded("resume_log", data, where=where)
        try:
            return cls(**_fields(known))
        except (InvalidValueError, DocumentError) as error:
            raise DocumentError(f"{where}: {error}", path=where) from error


def _all_are(shape: type, values: list[Any]) -> bool:
    """Asked of each kind that there is, not of each value."""
    return all(issubclass(kind, shape) for kind in {*map(type, values)})


def _fields(known: JsonObject) -> dict[str, Any]:
    """The arguments of a ResumeLog; what is missing or null keeps its default."""
    metrics, ground = known.get("context_metrics"), known.get("ground")
    if known.get("session_id") is None or not isinstance(metrics, dict):
        raise InvalidValueError("no session_id or context_metrics in it; this is not a resume log.")
    return {name: known[name] for name in _SHAPES if known.get(name) is not None} | {
        "context_metrics": ContextMetrics.from_dict(metrics),
        "custom_sections": [_custom_from(own) for own in _list(known, "custom_sections")],
        "sources": [Source.from_dict(source) for source in _list(known, "sources")],
        "ground": None if ground is None else Ground.from_dict(ground),
        "edits": [Edit.from_dict(edit) for edit in _list(known, "edits")],
    }


def _affordable(sections: list[Section], head: str, limit_tokens: int) -> tuple[list[Section], int]:
    """The sections whose headings have room, and the tokens that are left for what stands below them."""
    room = limit_tokens * 4 - quarters(f"{head}\n")
    for number, section in enumerate(sections):
        frame = quarters(f"\n\n## {section.heading}\n\n{_LEFT_OUT}")
        if frame > room:
            return sections[:number], max(0, room) // 4
        room -= frame
    return sections, room // 4


def _head(log: ResumeLog) -> str:
    return f"# Session Resume Log: {_short(log.session_id)}\n\nGenerated: {_short(log.context_metrics.timestamp)}"


def _short(text: str) -> str:
    """``text`` on one line of ours, however long it is."""
    line = markdown.inline(text)
    cut = prefix_within(line, _LONGEST_LINE_TOKENS)
    return line if cut == line else f"{cut}…"


def _sections(log: ResumeLog) -> Iterator[Section]:
    """The seven sections of 000, in its order."""
    yield _section("context_metrics", "Context Metrics", tuple(_metric_lines(log.context_metrics)))
    yield _section(
        "mission_summary", "Mission Summary", tuple(filter(None, [markdown.block(log.mission_summary)]))
    )
    yield _section("accomplishments", "Accomplishments", _bullets(log.accomplishments), keep="last")
    yield _section("key_findings", "Key Findings", _bullets(log.key_findings), keep="last")
    yield _section(
        "decisions", "Decisions & Rationale", tuple(map(shown_decision, log.decisions)), keep="last"
    )
    yield _section("next_steps", "Next Steps", _bullets(log.next_steps))
    yield _section("critical_context", "Critical Context", tuple(shown_tree(log.critical_context)))


def _section(name: str, heading: str, items: tuple[str, ...], keep: Keep = "first") -> Section:
    return Section(
        name=name, heading=heading, items=items, budget_tokens=ResumeLog.TOKEN_BUDGET[name], keep=keep
    )


def _metric_lines(metrics: ContextMetrics) -> Iterator[str]:
    yield f"- Model: {_short(metrics.model)}"
    yield f"- Total Budget: {_count(metrics.total_budget)}"
    share = "" if metrics.percentage_used is None else f" ({metrics.percentage_used:.1f}%)"
    yield f"- Used: {_count(metrics.used_tokens)}{share}"
    yield f"- Remaining: {_count(metrics.remaining_tokens)}"
    yield f"- Stop Reason: {_short(metrics.stop_reason)}"


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,} tokens"


def _bullets(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(map("- ".__add__, markdown.items([*filter(str.strip, items)])))


def shown_decision(decision: Mapping[str, Any]) -> str:
    """A decision as a bullet of the Markdown."""
    what, reason = _flat(decision.get("decision", "")), _flat(decision.get("rationale", ""))
    return f"- **{what or '(not said)'}**" + (f"\n  - Rationale: {reason}" if reason else "")


def shown_tree(value: Mapping[str, Any]) -> Iterator[str]:
    """A bold name for each entry with its value behind it, or below it a bullet per part; what is deeper on one line."""
    for name, entry in value.items():
        match entry:
            case [] | {} if not entry:
                continue
            case dict():
                parts = [f"{key}: {_part(inner)}" for key, inner in entry.items()]
            case list():
                parts = entry if _all_are(str, entry) else [_part(inner) for inner in entry]
            case _:
                yield f"\n**{_label(name)}:** {_flat(entry)}"
                continue
        if bullets := _bullets(parts):
            yield f"\n**{_label(name)}:**"
            yield from bullets


def _label(name: str) -> str:
    """``file_paths`` reads File Paths; any other name stands as it is, because it may be an exact one."""
    return _short(name.replace("_", " ").title() if name.islower() and name.isidentifier() else name)


def _part(value: Any) -> str:
    return value if isinstance(value, str) else _flat(value)  # a command keeps its lines


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return markdown.inline(value)
    match value:
        case dict():
            return ", ".join(f"{markdown.inline(key)}: {_flat(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(_flat(inner) for inner in value)
        case None:
            return "unknown"
        case _:
            return markdown.inline(str(value))


def _custom(log: ResumeLog) -> Iterator[Section]:
    for number, own in enumerate(log.custom_sections):
        text = markdown.block(own.content)
        yield Section(
            name=f"custom/{number}",
            heading=_short(own.name),
            items=(text,) if text else (),
            budget_tokens=own.budget_tokens,
        )


def _metadata_section(log: ResumeLog) -> Section:
    """Session metadata in the words of 000; other keys follow."""
    others = dict(log.metadata)
    known = {label: others.pop(key, None) or [] for key, label in _METADATA_LABELS.items()}
    minutes = others.pop("session_duration_minutes", None)
    if minutes is not None:
        known["Session Duration"] = f"{_flat(minutes)} minutes"
    return Section(
        name="metadata",
        heading="Session Metadata",
        items=(*shown_tree(known), *shown_tree(others)),
        budget_tokens=ResumeLog.FRAME_TOKENS,
    )


def _list(data: JsonObject, key: str) -> list[Any]:
    value = data.get(key) or []
    if not isinstance(value, list):
        raise InvalidValueError(f"{key} is not a list.")
    return value


def _custom_from(data: Any) -> CustomSection:
    match data:
        case {"name": str(name), "budget_tokens": int(tokens), "content": str(content)}:
            return CustomSection(name=name, budget_tokens=tokens, content=content)
        case _:
            raise InvalidValueError("a custom section is not in the known form.")
