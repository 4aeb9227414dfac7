"""Every setting with its default, its meaning and who may set it: the one place where they are declared.

``docs/configuration.md`` is generated from here. The keys stand below ``context_management:`` in ``configuration.yaml``;
a dot in a key is a level of indentation. A value for which ``project`` is true may also be set by a project's own file,
which can come from anywhere: thresholds, budgets, layout and restore mode, never what runs code or sends data.
"""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.model.tuples import NamedTuple

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import Any, Literal

    Trigger = Literal[
        "model_context_window_exceeded",
        "max_tokens",
        "manual_pause",
        "threshold_critical",
        "threshold_warning",
    ]

TRIGGERS = (
    "model_context_window_exceeded",
    "max_tokens",
    "manual_pause",
    "threshold_critical",
    "threshold_warning",
)


class Setting(NamedTuple):
    """One setting as it is declared: its default, what it means, whether a project may set it, its lowest and highest value.

    ``folder``: it names one that must lie below the project's root, or several.
    """

    default: Any
    words: str
    project: bool = False
    at_least: float | None = None
    at_most: float | None = None
    folder: bool = False


def setting(
    default: Any,
    words: str,
    *,
    project: bool = False,
    at_least: float | None = None,
    at_most: float | None = None,
    folder: bool = False,
) -> Any:
    """A setting of the type that it is annotated with."""
    return Setting(default, words, project, at_least, at_most, folder)


class Group:
    """Settings that belong together, as attributes that cannot be set. ``values`` are by name; the rest is as declared.

    No dataclass: each would generate code for a millisecond, and every command waits for all of them.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        for name, declared in self.declared().items():
            self.__dict__[name] = _copy(declared.default) if isinstance(declared, Setting) else declared()
        self.__dict__.update(values or {})

    @classmethod
    def declared(cls) -> dict[str, Setting | type[Group]]:
        """What is declared in the body of the class, by name: settings, and groups of them."""
        return {name: each for name, each in vars(cls).items() if isinstance(each, _DECLARED)}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: settings are read, never set.")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))  # few of a kind are ever compared

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self)})"


_DECLARED = (Setting, type)


def _copy(default: Any) -> Any:
    return default.copy() if isinstance(default, dict) else default


def group(of: type[Group]) -> Any:
    """A group of settings inside another."""
    return of


class ThresholdSettings(Group):
    """Marks on the gauge: a fraction of the usable window (0-1), or a whole number of tokens that remain."""

    caution: float | int = setting(0.70, "First word to the user.", project=True)
    warning: float | int = setting(0.85, "Finish what is open.", project=True)
    auto_pause: float | int = setting(
        0.90, "From here on actions are recorded for the next session.", project=True
    )
    critical: float | int = setting(0.95, "A resume log is saved.", project=True)


class CleanupSettings(Group):
    """What happens to old resume logs."""

    enabled: bool = setting(True, "Whether `leftoff log cleanup` may delete anything.")
    keep_count: int = setting(10, "How many logs of a project are kept.", at_least=1)
    auto_cleanup: bool = setting(True, "Clean up after each save.")


class ResumeLogSettings(Group):
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


class RestoreSettings(Group):
    """What a new session is given of the last one."""

    on_startup: Literal["offer", "full", "off"] = setting(
        "offer", "offer: one line, the whole on request. full: at once. off: never.", project=True
    )
    max_chars: int = setting(
        9900, "The most that is handed over; agents cut at 10,000.", project=True, at_least=200, at_most=9900
    )


class PauseSettings(Group):
    """The incremental pause."""

    enabled: bool = setting(True, "Record actions from auto_pause on.")
    git_commit: bool = setting(False, "Commit the snapshot's own files when a pause is finalised.")


class ProjectStateSettings(Group):
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


class TrimSettings(Group):
    """Defaults of `leftoff trim` and `smart-trim`."""

    threshold: int = setting(1000, "Tool results above so many characters are cut.", at_least=1)
    tools: tuple[str, ...] = setting((), "Only these tools; empty: all.")
    protect_turns: int = setting(
        2,
        "The last turns that are not touched, as far as they take no more than a fifth (trim) or a tenth (smart-trim) of what is live.",
        at_least=0,
    )
    head: int = setting(200, "Characters kept from the beginning of what is cut.", at_least=0)
    tail: int = setting(200, "Characters kept from its end.", at_least=0)


class HandoffSettings(Group):
    """What a rollover leaves in the project besides the resume log; nothing, unless named here."""

    folder: str = setting("", "Folder for handoff documents, such as _handoffs.", project=True, folder=True)
    ledger: str = setting(
        "", "File that names the current session, such as _ledgers/CURRENT.md.", project=True, folder=True
    )


class RedactionSettings(Group):
    """Credentials are taken out before anything is written."""

    enabled: bool = setting(True, "Whether credentials are looked for at all.")
    allow: tuple[str, ...] = setting((), "Regular expressions of what is never redacted.")
    deny: tuple[str, ...] = setting((), "Regular expressions of what is always redacted.")


class CaptureSettings(Group):
    """What is never taken over from a transcript."""

    exclude_tools: tuple[str, ...] = setting((), "Tools whose inputs and results are left out everywhere.")


class ArchiveSettings(Group):
    """Copies of finished sessions, kept when the agent deletes its own."""

    enabled: bool = setting(False, "Whether copies are kept (asked at install).")
    keep_days: int = setting(0, "How long a copy is kept; 0: for ever.", at_least=0)


class PluginSettings(Group):
    """Plugins by dotted path (`package.module:Name`), beside those found by entry point."""

    sections: tuple[str, ...] = setting((), "Section providers.")
    triggers: tuple[str, ...] = setting((), "Trigger conditions.")


class ChatSettings(Group):
    """The chat loop."""

    auto_save: bool = setting(True, "Save after every answer, with a summary on exit.")
    folder: str = setting(".leftoff/chats", "Where chats are kept, below the working folder.")
    summariser: str = setting(
        "agent",
        "Who writes the summary: agent (the one you talk to), rules (no model), or as `summariser` above.",
    )
    summary_seconds: int = setting(120, "How long a summary may take; it is tried twice.", at_least=1)


class Settings(Group):
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
    storage: str = setting(
        "files",
        "Where logs are kept beside the local files: sqlite, s3, postgres, a plugin's name or dotted path.",
    )
    storage_options: Mapping[str, str] = setting(
        {}, "What the backend must know (docs/storage.md): bucket, endpoint_url, dsn … Never a credential."
    )
    thresholds: ThresholdSettings = group(ThresholdSettings)
    resume_logs: ResumeLogSettings = group(ResumeLogSettings)
    restore: RestoreSettings = group(RestoreSettings)
    pause: PauseSettings = group(PauseSettings)
    project_state: ProjectStateSettings = group(ProjectStateSettings)
    trim: TrimSettings = group(TrimSettings)
    handoffs: HandoffSettings = group(HandoffSettings)
    redaction: RedactionSettings = group(RedactionSettings)
    capture: CaptureSettings = group(CaptureSettings)
    archive: ArchiveSettings = group(ArchiveSettings)
    plugins: PluginSettings = group(PluginSettings)
    chat: ChatSettings = group(ChatSettings)
