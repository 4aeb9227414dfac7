"""Trim, smart-trim, rollover and lineage for callers in Python, by file or by opened session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from leftoff.agents.registry import agent_of
from leftoff.core.session import Derivation, Session, SessionNode
from leftoff.core.trim_plan import NotCopied, TrimPlan
from leftoff.core.wire import JsonValue
from leftoff.errors import UsageError
from leftoff.resume_logs.save import session_state_of
from leftoff.sessions import ancestry
from leftoff.sessions.find import ref_of_session
from leftoff.sessions.lineage import newest_first, oldest_first
from leftoff.sessions.status import status_of
from leftoff.shrink import family, rollover, trim
from leftoff.shrink.trim import PlannedTrim, TrimOptions
from leftoff.workspace import SessionRef, Workspace

_ORIGINAL = "original"


class _Fields:
    """Fields that are also available as ``result["name"]``, so that ``"name" in result`` and ``dict(result)`` work too."""

    __slots__ = ()

    def keys(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        return tuple(field.name for field in fields(self))  # type: ignore[arg-type]  # of the dataclasses below

    def __getitem__(self, key: str) -> Any:
        if key not in self.keys():
            raise KeyError(key)
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in self.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimResult(_Fields):
    """The result of a trim. It unpacks as its first five values, and each field is also available as ``result["name"]``.

    If there was nothing to trim, nothing is written, and ``session_id`` and ``output_file`` are None.
    """

    session_id: str | None
    output_file: Path | None
    num_tools_trimmed: int
    chars_saved: int
    tokens_saved: int
    num_assistant_trimmed: int
    detected_agent: str
    nothing_to_trim: bool
    reused: bool = False  # an earlier copy of the same content by the same settings; nothing was written
    left_behind: tuple[NotCopied, ...] = ()  # what could not be taken along; it is still with the session

    def __iter__(self) -> Iterator[Any]:
        return iter(
            (self.session_id, self.output_file, self.num_tools_trimmed, self.chars_saved, self.tokens_saved)
        )

    def __len__(self) -> int:
        return 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloverResult(_Fields):
    """A fresh session. It unpacks as id and file, and each field is also available as ``result["name"]``."""

    session_id: str
    output_file: Path
    parent_file: Path
    tokens_saved: int
    summary_included: bool

    def __iter__(self) -> Iterator[Any]:
        return iter((self.session_id, self.output_file))


def trim_and_create_session(
    agent: str | None,
    input_file: Path | str,
    target_tools: Iterable[str] | str | None,
    threshold: int,
    output_dir: Path | str | None = None,
    trim_assistant_messages: int | bool | None = None,
    min_token_savings: int = 300,
) -> TrimResult:
    """Write a trimmed copy of a session.

    ``agent`` None: detected from the file. ``target_tools`` None or empty: all tools; a string: that one.
    ``trim_assistant_messages``: N cuts the first N long replies, -N all but the last N, True all of them.
    ``min_token_savings``: if less would be saved, nothing is written; 0 writes a copy even if nothing can be cut.
    """
    trimmed = trim.trim_file(
        Path(input_file),
        Workspace.open(),
        TrimOptions(
            tools=_tool_names(target_tools),
            threshold=threshold,
            trim_assistant=_reply_count(trim_assistant_messages),
            min_token_savings=min_token_savings,
        ),
        agent_id=agent,
        folder=None if output_dir is None else Path(output_dir),
    )
    plan = trimmed.plan
    return TrimResult(
        session_id=trimmed.session_id,
        output_file=trimmed.output_file,
        num_tools_trimmed=plan.tools_trimmed,
        chars_saved=plan.saved_chars,
        tokens_saved=plan.saved_tokens,
        num_assistant_trimmed=sum(cut.part == "text" for cut in plan.cuts),
        detected_agent=trimmed.agent_id,
        nothing_to_trim=trimmed.output_file is None,
        reused=trimmed.is_reused,
        left_behind=trimmed.left_behind,
    )


def identify_trimmable_lines_cli(
    input_file: Path | str, agent: str | None = None
) -> list[tuple[int, str, str]]:
    """Return the lines that could be cut: ``(line_idx, rationale, description)``, counted from 0.

    ``agent`` is an agent or command that proposes them, ``rules`` for the rules, None for the summariser of the user's settings.
    """
    return trim.trimmable_lines(Path(input_file), Workspace.open(), by=agent)


def trim_lines(
    input_file: Path | str,
    line_indices: Iterable[int],
    output_file: Path | str,
    parent_file: Path | str | None = None,
    descriptions: Mapping[int, str] | Sequence[str] | None = None,
) -> dict[str, JsonValue]:
    """Write a copy to ``output_file`` without the content of these lines, counted from 0; no line is removed.

    Returns ``session_id, tools_trimmed, chars_saved, tokens_saved, skipped`` (lines in which nothing could be cut).
    """
    indices = [*line_indices]
    texts = (
        descriptions
        if isinstance(descriptions, Mapping)
        else dict(zip(indices, descriptions or (), strict=False))
    )
    return trim.trim_file_lines(
        Path(input_file),
        [(index, "asked for", texts.get(index, "")) for index in indices],
        Path(output_file),
        parent_file=None if parent_file is None else Path(parent_file),
    )


def rollover_session(input_file: Path | str, summary: str | None = None) -> RolloverResult:
    """Write a fresh session that continues the one in the file; its first message holds lineage, summary and restored log."""
    source = Path(input_file)
    # A caller who names a file wants the session written even if that makes no room.
    options = rollover.RolloverOptions(summary=summary, with_summary=summary is not None, even_if_larger=True)
    ref = SessionRef(agent=agent_of(source), transcript=source)
    derived = rollover.roll_over_of(ref, Workspace.open(source.parent), options)
    assert derived.session_id is not None
    assert derived.output_file is not None
    return RolloverResult(
        session_id=derived.session_id,
        output_file=derived.output_file,
        parent_file=derived.parent_file,
        tokens_saved=derived.savings.tokens,
        summary_included=summary is not None,
    )


def _tool_names(tools: Iterable[str] | str | None) -> tuple[str, ...]:
    """Return the names as a tuple, empty for all tools, whatever the settings say for the command line."""
    named = (tools,) if isinstance(tools, str) else tuple(tools or ())
    if not all(name.strip() for name in named):
        raise UsageError(f"{tools!r} are not names of tools. None means all of them.")
    return named


def _reply_count(count: int | bool | None) -> int | None:
    if isinstance(count, bool):
        return trim.ALL_REPLIES if count else None
    return count


def extract(session: Session) -> dict[str, Any]:
    """Return the session state of an opened session, from which a resume log is built."""
    return session_state_of(ref_of_session(session), Workspace.open())


def plan_trim(
    session: Session,
    *,
    threshold: int | None = None,
    tools: Sequence[str] | None = None,
    trim_assistant: int | None = None,
) -> TrimPlan:
    """Plan a trim without writing; None means "as the settings say"."""
    options = TrimOptions(threshold=threshold, tools=tools, trim_assistant=trim_assistant)
    return trim.prepare_trim_of(ref_of_session(session), Workspace.open(), options).plan


def plan_smart_trim(session: Session, *, by: str | None = None) -> TrimPlan:
    """Plan a smart-trim without writing, by rules or as an agent or a command proposes."""
    return trim.prepare_trim_of(
        ref_of_session(session), Workspace.open(), TrimOptions(strategy="smart-trim", by=by)
    ).plan


def write_copy(session: Session, plan: TrimPlan) -> Path | None:
    """Write the copy that a plan describes; returns its file, or None if there is nothing to cut."""
    ref = ref_of_session(session)
    gauge = status_of(ref, Workspace.open()).metrics
    planned = PlannedTrim(ref=ref, plan=plan, options=TrimOptions(), gauge=gauge)
    return trim.write_trim(planned).output_file


def get_parent_info(session_file: Path | str) -> tuple[Path | None, str | None, Path | None]:
    """Return the parent's file, the kind of derivation, and the parent's exported text; None for what does not exist."""
    node = ancestry.load_family().node(Path(session_file))
    if node.parent is None:
        return None, None, None
    return node.parent.session_file, node.derivation_type, node.exported_file


def get_continuation_lineage(session_file: Path | str) -> list[SessionNode]:
    """Return the session and its ancestors, oldest first; one whose file is gone is marked as missing."""
    return oldest_first(ancestry.load_family().node(Path(session_file)))


def get_full_lineage_chain(session_file: Path | str) -> list[tuple[Path, str]]:
    """Return each file with its kind of derivation, newest first; the last one is the original."""
    nodes = newest_first(ancestry.load_family().node(Path(session_file)))
    return [(node.session_file, node.derivation_type or _ORIGINAL) for node in nodes]


def inject_lineage_into_first_user_message(
    output_file: Path | str, input_file: Path | str, agent: str | None, derivation_type: Derivation
) -> bool:
    """Put the lineage block before the first user message of a derived file, replacing an older one; False without such a message.

    Files that leftoff writes already have the block; it is then written again.
    """
    return family.inject_lineage(
        Path(output_file), Path(input_file), agent_id=agent, derivation=derivation_type
    )
