"""Every setting with its default, its meaning and who may set it: the one place where they are declared.

``docs/configuration.md`` is generated from here. The keys stand below ``context_management:`` in ``configuration.yaml``;
a dot in a key is a level of indentation. A value for which ``project`` is true may also be set by a project's own file,
which can come from anywhere: thresholds, budgets, layout and restore mode, never what runs code or sends data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

TRIGGERS = (
    "model_context_window_exceeded",
    "max_tokens",
    "manual_pause",
    "threshold_critical",
    "threshold_warning",
)
Trigger = Literal[
    "model_context_window_exceeded", "max_tokens", "manual_pause", "threshold_critical", "threshold_warning"
]


def setting(
    default: Any,
    words: str,
    *,
    project: bool = False,
    at_least: float | None = None,
    at_most: float | None = None,
    folder: bool = False,
) -> Any:
    """A field of a settings class: its default, what it means, whether a project may set it, its lowest and highest value.

    ``folder``: it names one that must lie below the project's root, or several.
    """
    metadata = {
        "words": words,
        "project": project,
        "at_least": at_least,
        "at_most": at_most,
        "folder": folder,
    }
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def group(factory: type) -> Any:
    """A field that holds a group of settings."""
    return field(default_factory=factory)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdSettings:
    """Marks on the gauge: a fraction of the usable window (0-1), or a whole number of tokens that remain."""

    caution: float | int = setting(0.70, "First word to the user.", project=True)
    warning: float | int = setting(0.85, "Finish what is open.", project=True)
    auto_pause: float | int = setting(
        0.90, "From here on actions are recorded for the next session.", project=True
    )
    critical: float | int = setting(0.95, "A resume log is saved.", project=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupSettings:
    """What happens to old resume logs."""

    enabled: bool = setting(True, "Whether `leftoff log cleanup` may delete anything.")
    keep_count: int = setting(10, "How many logs of a project are kept.", at_least=1)
    auto_cleanup: bool = setting(True, "Clean up after each save.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeLogSettings:
    """How resume logs are made and kept."""

    enabled: bool = setting(True, "Whether resume logs are made at all.")
    auto_generate: bool = setting(True, "Whether hooks save one when a trigger says so.")
    max_tokens: int = setting(
        10000, "The most a log may take, headings included.", project=True, at_least=500, at_most=10000
    )
    storage_dir: str = setting(".leftoff/resume-logs", "Where logs are kept, below the project's root.")
    format: Literal["markdown"] = setting("markdown", "Markdown, with JSON beside it, is the only form.")
    triggers: tuple[Trigger, ...] = setting(TRIGGERS, "What makes a log due.")
    cleanup: CleanupSettings = group(CleanupSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSettings:
    """What a new session is given of the last one."""

    on_startup: Literal["offer", "full", "off"] = setting(
        "offer", "offer: one line, the whole on request. full: at once. off: never.", project=True
    )
    max_chars: int = setting(
        9900, "The most that is handed over; agents cut at 10,000.", project=True, at_least=200, at_most=9900
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseSettings:
    """The incremental pause."""

    enabled: bool = setting(True, "Record actions from auto_pause on.")
    git_commit: bool = setting(False, "Commit the snapshot's own files when a pause is finalised.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStateSettings:
    """The resume state of projects (`_resume.md`)."""

    warn: float = setting(0.90, "Fraction of the window at which saving is suggested.", project=True)
    auto_save: float = setting(0.975, "Fraction of the window at which the state is saved.", project=True)
    root: str = setting(
        "02-projects", "Folder of all projects, below the project's root.", project=True, folder=True
    )
    layout: Mapping[str, str] = setting(
        {"planning": "01-planning", "resources": "02-resources", "working": "03-working"},
        "Folders inside each project.",
        project=True,
        folder=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimSettings:
    """Defaults of `leftoff trim` and `smart-trim`."""

    threshold: int = setting(1000, "Tool results above so many characters are cut.", at_least=1)
    tools: tuple[str, ...] = setting((), "Only these tools; empty: all.")
    protect_turns: int = setting(2, "The last turns that are never touched.", at_least=0)
    head: int = setting(200, "Characters kept from the beginning of what is cut.", at_least=0)
    tail: int = setting(200, "Characters kept from its end.", at_least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionSettings:
    """Credentials are taken out before anything is written."""

    enabled: bool = setting(True, "Whether credentials are looked for at all.")
    allow: tuple[str, ...] = setting((), "Regular expressions of what is never redacted.")
    deny: tuple[str, ...] = setting((), "Regular expressions of what is always redacted.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """What is never taken over from a transcript."""

    exclude_tools: tuple[str, ...] = setting((), "Tools whose inputs and results are left out everywhere.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    """Copies of finished sessions, kept when the agent deletes its own."""

    enabled: bool = setting(False, "Whether copies are kept (asked at install).")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings:
    """Plugins by dotted path (`package.module:Name`), beside those found by entry point."""

    sections: tuple[str, ...] = setting((), "Section providers.")
    triggers: tuple[str, ...] = setting((), "Trigger conditions.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """The chat loop."""

    auto_save: bool = setting(True, "Save after every answer, with a summary on exit.")
    folder: str = setting(".leftoff/chats", "Where chats are kept, below the working folder.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set."""

    enabled: bool = setting(
        True, "false makes hooks and status line silent; what you type yourself is still answered."
    )
    budget_total: int = setting(
        200000,
        "Budget of the hand-fed classes; live metering knows the window itself.",
        project=True,
        at_least=1,
    )
    accounting: Literal["occupancy", "cumulative"] = setting(
        "occupancy", "What usage means: what stands in the window, or the sum of all replies."
    )
    windows: Mapping[str, int] = setting(
        {}, "Window in tokens by model, where leftoff's table is wrong.", at_least=1
    )
    warn_agent_below_tokens: int = setting(
        30000, "The agent itself is told only below so many remaining tokens.", project=True, at_least=0
    )
    triggers_prefix: str = setting(">", "What typed triggers begin with.")
    summariser: str = setting(
        "rules", "rules, an agent's id, or a command that reads a prompt and prints a summary."
    )
    storage: str = setting("files", "Storage backend for resume logs.")
    thresholds: ThresholdSettings = group(ThresholdSettings)
    resume_logs: ResumeLogSettings = group(ResumeLogSettings)
    restore: RestoreSettings = group(RestoreSettings)
    pause: PauseSettings = group(PauseSettings)
    project_state: ProjectStateSettings = group(ProjectStateSettings)
    trim: TrimSettings = group(TrimSettings)
    redaction: RedactionSettings = group(RedactionSettings)
    capture: CaptureSettings = group(CaptureSettings)
    archive: ArchiveSettings = group(ArchiveSettings)
    plugins: PluginSettings = group(PluginSettings)
    chat: ChatSettings = group(ChatSettings)
