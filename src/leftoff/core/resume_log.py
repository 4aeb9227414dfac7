"""The resume log, with the edits that a person made: as a value, as Markdown within a token budget, and as lossless JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict

from leftoff.core import budget, markdown
from leftoff.core.budget import KeepEnd, Section, count_quarters, estimate_tokens, prefix_within, truncate
from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground, Source
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue, as_json, replace_surrogates, upgrade_document
from leftoff.errors import DocumentError, InvalidValueError

MAX_LOG_BYTES = 5_000_000  # ten times the largest of ours
NOTES_KEY = "notes"  # of critical context, for what has no name
_LONGEST_LINE_TOKENS = 100  # for an id, a name or a heading
_NONE, _LEFT_OUT = "(none)", "(left out)"  # a section without content, and one without a budget
_NEVER_BORROWS = "critical_context"
_BORROW_FIRST = ("next_steps", "key_findings", "decisions", "accomplishments")
_METADATA_LABELS = {
    "files_modified": "Files Modified",
    "agents_used": "Agents Used",
    "errors": "Errors/Warnings",
}
# The type of each field, and of the entries of lists.
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
_TYPE_NAMES: Mapping[type, str] = {str: "text", list: "a list", dict: "a mapping"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomSection:
    """A section written by a section provider."""

    name: str
    budget_tokens: int
    content: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", replace_surrogates(self.name))
        object.__setattr__(self, "content", replace_surrogates(self.content))


@dataclass(frozen=True, slots=True)
class ResumeLog:
    """Everything the next session needs. Lists are in chronological order, next steps in the order of doing.

    Values are copied as what JSON can represent: ``to_dict`` and ``from_dict`` are exact opposites. ``to_markdown`` stays
    within its tokens, headings and metadata included, and no text in it can become a heading.
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
    ground: Ground | None = None  # None: not recorded
    edits: list[Edit] = field(default_factory=list)  # changes made by hand, oldest first

    def __post_init__(self) -> None:
        for name, shape in _SHAPES.items():
            value = as_json(getattr(self, name))
            if not isinstance(value, shape):
                raise InvalidValueError(f"{name} is not {_TYPE_NAMES[shape]}.")
            if isinstance(value, list) and not _all_are(_ENTRIES[name], value):
                raise InvalidValueError(f"{name} holds something that is not {_TYPE_NAMES[_ENTRIES[name]]}.")
            object.__setattr__(self, name, value)
        if not isinstance(self.context_metrics, ContextMetrics):
            raise InvalidValueError(
                f"context_metrics is {self.context_metrics!r:.60}, not a ContextMetrics: ContextMetrics.from_dict makes one of a mapping."
            )
        for name, kind in {"custom_sections": CustomSection, "sources": Source, "edits": Edit}.items():
            value = getattr(self, name)
            if not isinstance(value, list | tuple) or not _all_are(kind, list(value)):
                raise InvalidValueError(f"{name} is not a list of {kind.__name__}.")
            object.__setattr__(self, name, list(value))
        if not isinstance(self.ground, Ground | None):
            raise InvalidValueError(f"ground is {self.ground!r:.60}, not a Ground.")

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing about the work: metrics and metadata alone are nothing to continue from."""
        return not (
            self.mission_summary.strip()
            or self.accomplishments
            or self.key_findings
            or self.decisions
            or self.next_steps
            or self.critical_context
            or self.custom_sections
        )

    @staticmethod
    def estimate_tokens(text: str) -> int:
        """Estimate the tokens of ``text``, on the safe side."""
        _require_kind("text", text, str)
        return estimate_tokens(text)

    @staticmethod
    def truncate_to_budget(text: str, budget: int) -> str:
        """Cut ``text`` to ``budget`` tokens including the marker, at the end of a sentence if possible."""
        _require_kind("text", text, str)
        _require_kind("budget", budget, int)
        return truncate(text, budget)

    def to_markdown(self, max_tokens: int | None = None) -> str:
        """Render the document in at most ``max_tokens``, and never more than MAX_TOTAL_TOKENS."""
        _require_kind("max_tokens", 0 if max_tokens is None else max_tokens, int)
        limit = self.MAX_TOTAL_TOKENS if max_tokens is None else min(max_tokens, self.MAX_TOTAL_TOKENS)
        head = _heading(self)
        sections, available_tokens = _affordable_sections(
            [*_sections(self), _metadata_section(self), *_custom_sections(self)], head, limit
        )
        shares = budget.share_tokens(sections, available_tokens, _BORROW_FIRST, never_borrow=_NEVER_BORROWS)
        parts = [head]
        for section in sections:
            body = "\n".join(budget.fit_section(section, shares[section.name])).strip("\n")
            parts.append(f"## {section.heading}\n\n{body or (_LEFT_OUT if section.items else _NONE)}")
        text = "\n\n".join(parts) + "\n"
        return text if sections else truncate(text, limit)  # with sections, the shares are within the limit

    def to_dict(self) -> dict[str, Any]:
        """Return the complete JSON form."""
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
        """Read a JSON form of any known schema; ``where`` names it in errors."""
        known = upgrade_document("resume_log", data, where=where)
        try:
            return cls(**_constructor_arguments(known))
        except (InvalidValueError, DocumentError) as error:
            raise DocumentError(f"{where}: {error}", path=where) from error


def _require_kind(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        expected = "text" if kind is str else "a whole number"
        raise InvalidValueError(f"{name} is {value!r:.60}: {expected} was expected.")


def _all_are(shape: type, values: list[Any]) -> bool:
    """Return whether all values have that type; checks each type once instead of each value."""
    return all(issubclass(kind, shape) for kind in {*map(type, values)})


def _constructor_arguments(known: JsonObject) -> dict[str, Any]:
    """Return the arguments for a ResumeLog; missing and null fields keep their defaults."""
    metrics, ground = known.get("context_metrics"), known.get("ground")
    if known.get("session_id") is None or not isinstance(metrics, dict):
        raise InvalidValueError("no session_id or context_metrics in it; this is not a resume log.")
    return {name: known[name] for name in _SHAPES if known.get(name) is not None} | {
        "context_metrics": ContextMetrics.from_dict(metrics),
        "custom_sections": [_read_custom_section(own) for own in _require_list(known, "custom_sections")],
        "sources": [Source.from_dict(source) for source in _require_list(known, "sources")],
        "ground": None if ground is None else Ground.from_dict(ground),
        "edits": [Edit.from_dict(edit) for edit in _require_list(known, "edits")],
    }


def _affordable_sections(sections: list[Section], head: str, limit_tokens: int) -> tuple[list[Section], int]:
    """Return the sections whose headings fit, and the tokens left for their content."""
    available = limit_tokens * 4 - count_quarters(f"{head}\n")
    for number, section in enumerate(sections):
        frame = count_quarters(f"\n\n## {section.heading}\n\n{_LEFT_OUT}")
        if frame > available:
            return sections[:number], max(0, available) // 4
        available -= frame
    return sections, available // 4


def _heading(log: ResumeLog) -> str:
    return f"# Session Resume Log: {_one_line(log.session_id)}\n\nGenerated: {_one_line(log.context_metrics.timestamp)}"


def _one_line(text: str) -> str:
    """Put ``text`` on one line and cut it if it is very long."""
    line = markdown.escape_inline(text)
    cut = prefix_within(line, _LONGEST_LINE_TOKENS)
    return line if cut == line else f"{cut}…"


def _sections(log: ResumeLog) -> Iterator[Section]:
    """Return the seven standard sections in their order."""
    yield _section("context_metrics", "Context Metrics", tuple(_metric_lines(log.context_metrics)))
    yield _section(
        "mission_summary",
        "Mission Summary",
        tuple(filter(None, [markdown.escape_block(log.mission_summary)])),
    )
    yield _section("accomplishments", "Accomplishments", _bullets(log.accomplishments), keep="last")
    yield _section("key_findings", "Key Findings", _bullets(log.key_findings), keep="last")
    yield _section(
        "decisions", "Decisions & Rationale", tuple(map(render_decision, log.decisions)), keep="last"
    )
    yield _section("next_steps", "Next Steps", _bullets(log.next_steps))
    yield _section("critical_context", "Critical Context", tuple(render_tree(log.critical_context)))


def _section(name: str, heading: str, items: tuple[str, ...], keep: KeepEnd = "first") -> Section:
    return Section(
        name=name, heading=heading, items=items, budget_tokens=ResumeLog.TOKEN_BUDGET[name], keep=keep
    )


def _metric_lines(metrics: ContextMetrics) -> Iterator[str]:
    yield f"- Model: {_one_line(metrics.model)}"
    yield f"- Total Budget: {_format_tokens(metrics.total_budget)}"
    share = "" if metrics.shown_percentage is None else f" ({metrics.shown_percentage:.1f}%)"
    yield f"- Used: {_format_tokens(metrics.used_tokens)}{share}"
    yield f"- Remaining: {_format_tokens(metrics.remaining_tokens)}"
    yield f"- Stop Reason: {_one_line(metrics.stop_reason)}"


def _format_tokens(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,} tokens"


def _bullets(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(map("- ".__add__, markdown.escape_items([*filter(str.strip, items)])))


def render_decision(decision: Mapping[str, Any]) -> str:
    """Return a decision as a bullet."""
    what, reason = _flat(decision.get("decision", "")), _flat(decision.get("rationale", ""))
    return f"- **{what or '(not said)'}**" + (f"\n  - Rationale: {reason}" if reason else "")


def render_tree(value: Mapping[str, Any]) -> Iterator[str]:
    """Return a bold name for each entry, followed by its value or a bullet per part; deeper values are put on one line."""
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
    """Turn ``file_paths`` into File Paths; leave any other name alone, because it may be an exact one."""
    return _one_line(name.replace("_", " ").title() if name.islower() and name.isidentifier() else name)


def _part(value: Any) -> str:
    return value if isinstance(value, str) else _flat(value)  # keeps line breaks, which matter in commands


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return markdown.escape_inline(value)
    match value:
        case dict():
            return ", ".join(f"{markdown.escape_inline(key)}: {_flat(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(_flat(inner) for inner in value)
        case None:
            return "unknown"
        case _:
            return markdown.escape_inline(str(value))


def _custom_sections(log: ResumeLog) -> Iterator[Section]:
    for number, custom in enumerate(log.custom_sections):
        text = markdown.escape_block(custom.content)
        yield Section(
            name=f"custom/{number}",
            heading=_one_line(custom.name),
            items=(text,) if text else (),
            budget_tokens=custom.budget_tokens,
        )


def _metadata_section(log: ResumeLog) -> Section:
    """Return the session metadata: the standard entries first, then all other keys."""
    others = dict(log.metadata)
    known = {label: others.pop(key, None) or [] for key, label in _METADATA_LABELS.items()}
    minutes = others.pop("session_duration_minutes", None)
    if minutes is not None:
        known["Session Duration"] = f"{_flat(minutes)} minutes"
    return Section(
        name="metadata",
        heading="Session Metadata",
        items=(*render_tree(known), *render_tree(others)),
        budget_tokens=ResumeLog.FRAME_TOKENS,
    )


def _require_list(data: JsonObject, key: str) -> list[Any]:
    value = data.get(key) or []
    if not isinstance(value, list):
        raise InvalidValueError(f"{key} is not a list.")
    return value


def _read_custom_section(data: Any) -> CustomSection:
    match data:
        case {"name": str(name), "budget_tokens": int(tokens), "content": str(content)}:
            return CustomSection(name=name, budget_tokens=tokens, content=content)
        case _:
            raise InvalidValueError("a custom section is not in the known form.")


class EditWire(TypedDict):
    """An edit in the JSON of a resume log."""

    section: str
    before: str
    wrote: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change by hand, as text of the Markdown.

    ``section`` is a field of the log (``next_steps``) or a custom section (``custom/Code Changes``). ``before`` is the old
    text, empty for an addition; ``wrote`` is the new text, empty for a removal. ``after`` is the item before it, or in
    critical context the name that it belongs to; empty for the first item.
    """

    section: str
    before: str = ""
    wrote: str = ""
    after: str = ""

    def __post_init__(self) -> None:
        for name in ("section", "before", "wrote", "after"):
            object.__setattr__(self, name, replace_surrogates(getattr(self, name)))

    def to_dict(self) -> EditWire:
        """Return the JSON form."""
        return {"section": self.section, "before": self.before, "wrote": self.wrote, "after": self.after}

    @classmethod
    def from_dict(cls, data: JsonValue) -> Edit:
        """Read the JSON form."""
        match data:
            case {"section": str(section), "before": str(before), "wrote": str(wrote), "after": str(after)}:
                return cls(section=section, before=before, wrote=wrote, after=after)
            case _:
                raise DocumentError(f"An edit of the resume log is not in the known form: {str(data)[:80]}")
