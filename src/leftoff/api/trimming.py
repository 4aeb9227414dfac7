"""Trim, smart-trim and rollover by file, with the names and return values of 002."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from leftoff.errors import UsageError
from leftoff.flows import file_shrinking as flow
from leftoff.model.copying import LeftBehind
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimResult:
    """What trimming made. Unpacks as 002's five values, and answers each field by its name in brackets too.

    Where there was nothing to trim nothing is written: ``session_id`` and ``output_file`` are None.
    """

    session_id: str | None
    output_file: Path | None
    num_tools_trimmed: int
    chars_saved: int
    tokens_saved: int
    num_assistant_trimmed: int
    detected_agent: str
    nothing_to_trim: bool
    left_behind: tuple[LeftBehind, ...] = ()  # what could not be taken along; it is still with the session

    def __iter__(self) -> Iterator[Any]:
        return iter(
            (self.session_id, self.output_file, self.num_tools_trimmed, self.chars_saved, self.tokens_saved)
        )

    def __getitem__(self, key: str) -> Any:
        if key not in self.__slots__:
            raise KeyError(key)
        return getattr(self, key)

    def __len__(self) -> int:
        return 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloverResult:
    """A fresh session. Unpacks as id and file, and answers each field by its name in brackets too."""

    session_id: str
    output_file: Path
    parent_file: Path
    tokens_saved: int
    summary_included: bool

    def __iter__(self) -> Iterator[Any]:
        return iter((self.session_id, self.output_file))

    def __getitem__(self, key: str) -> Any:
        if key not in self.__slots__:
            raise KeyError(key)
        return getattr(self, key)


def trim_and_create_session(
    agent: str | None,
    input_file: Path | str,
    target_tools: Iterable[str] | str | None,
    threshold: int,
    output_dir: Path | str | None = None,
    trim_assistant_messages: int | bool | None = None,
    min_token_savings: int = 300,
) -> TrimResult:
    """A trimmed copy of a session. ``agent`` None: found out from the file. ``target_tools`` None or empty: all; a string: that one.

    ``trim_assistant_messages``: N the first N long replies, -N all but the last N, True all.
    """
    trimmed = flow.trimmed(
        Path(input_file),
        flow.Asked(
            agent_id=agent,
            tools=_names(target_tools),
            threshold=threshold,
            trim_assistant=_replies(trim_assistant_messages),
            min_token_savings=min_token_savings,
        ),
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
        nothing_to_trim=plan.nothing_to_trim,
        left_behind=trimmed.left_behind,
    )


def identify_trimmable_lines_cli(
    input_file: Path | str, agent: str | None = None
) -> list[tuple[int, str, str]]:
    """What could go: ``(line_idx, rationale, description)``, lines counted from 0.

    By the summariser of the user's settings, or the agent or command named; by rules where that is ``rules``.
    """
    return flow.trimmable_lines(Path(input_file), by=agent)


def trim_lines(
    input_file: Path | str,
    line_indices: Iterable[int],
    output_file: Path | str,
    parent_file: Path | str | None = None,
    descriptions: Mapping[int, str] | Sequence[str] | None = None,
) -> dict[str, JsonValue]:
    """A copy at ``output_file`` in which the content of these lines (counted from 0) gave way; no line is taken out.

    Gives the numbers: ``session_id, tools_trimmed, chars_saved, tokens_saved, skipped`` (lines in which nothing could be cut).
    """
    indices = [*line_indices]
    told = (
        descriptions
        if isinstance(descriptions, Mapping)
        else dict(zip(indices, descriptions or (), strict=False))
    )
    return flow.lines_trimmed(
        Path(input_file),
        [(index, "asked for", told.get(index, "")) for index in indices],
        Path(output_file),
        parent_file=None if parent_file is None else Path(parent_file),
    )


def rollover_session(input_file: Path | str, summary: str | None = None) -> RolloverResult:
    """A fresh session that continues the one in the file; its first message holds lineage, summary and what was restored."""
    made = flow.continued(Path(input_file), summary)
    assert made.session_id is not None
    assert made.output_file is not None
    return RolloverResult(
        session_id=made.session_id,
        output_file=made.output_file,
        parent_file=made.parent_file,
        tokens_saved=made.tokens_saved,
        summary_included=summary is not None,
    )


def _names(tools: Iterable[str] | str | None) -> tuple[str, ...]:
    """Empty where all are meant, whatever the settings say for the command line."""
    named = (tools,) if isinstance(tools, str) else tuple(tools or ())
    if not all(name.strip() for name in named):
        raise UsageError(f"{tools!r} are no names of tools. None means all of them.")
    return named


def _replies(wanted: int | bool | None) -> int | None:
    if isinstance(wanted, bool):
        return flow.ALL_REPLIES if wanted else None
    return wanted
