"""Every setting with its default, its meaning and who may set it, declared once; and how a given value is checked.

``docs/configuration.md`` is generated from here. With ``project=True``, a project's own file may set the value too. Such a file can
come from anywhere, so it may set thresholds, budgets, layout and restore mode, but never what runs code or sends data."""

import math
import types
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PureWindowsPath
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from leftoff.core.metrics import DEFAULT_FRACTIONS as FRACTIONS
from leftoff.core.metrics import Level

Trigger = Literal[
    "model_context_window_exceeded", "max_tokens", "manual_pause", "threshold_critical", "threshold_warning"
]
TRIGGERS: tuple[Trigger, ...] = get_args(Trigger)
# As in core.trim_plan, which hooks need not load; mypy compares the two.
TrimLevel = Literal["careful", "normal", "strong"]
MAX_HOOK_CHARS = 9900  # that an agent takes from a hook; of a longer text it shows only the beginning
Mark = float | int


class Setting(NamedTuple):
    """What is declared about one setting besides its type and default.

    ``project`` says whether a project's own file may set it, ``folder`` that it names folders below the project's root.
    """

    meaning: str
    project: bool = False
    at_least: float | None = None
    at_most: float | None = None
    folder: bool = False


class ThresholdSettings(NamedTuple):
    """Marks on the gauge: a fraction of the usable window (0-1), or a whole number of tokens that remain."""

    caution: Annotated[Mark, Setting("First warning.", project=True)] = FRACTIONS[Level.CAUTION]
    warning: Annotated[Mark, Setting("Finish what is open.", project=True)] = FRACTIONS[Level.WARNING]
    auto_pause: Annotated[
        Mark, Setting("From here on, actions are recorded for the next session.", project=True)
    ] = FRACTIONS[Level.AUTO_PAUSE]
    critical: Annotated[Mark, Setting("A resume log is saved.", project=True)] = FRACTIONS[Level.CRITICAL]


class CleanupSettings(NamedTuple):
    """What happens to old resume logs."""

    enabled: Annotated[bool, Setting("Whether `leftoff log cleanup` may delete anything.")] = True
    keep_count: Annotated[int, Setting("How many logs of finished work are kept.", at_least=1)] = 10
    keep_open_count: Annotated[int, Setting("How many logs of open work are kept.", at_least=1)] = 50
    keep_open_days: Annotated[int, Setting("For how many days such a log is kept.", at_least=1)] = 90
    auto_cleanup: Annotated[bool, Setting("Clean up after each save.")] = True


class ResumeLogSettings(NamedTuple):
    """How resume logs are made and kept."""

    enabled: Annotated[bool, Setting("Whether resume logs are made at all.")] = True
    auto_generate: Annotated[bool, Setting("Whether hooks save one when a trigger says so.")] = True
    max_tokens: Annotated[
        int, Setting("The most a log may take, headings included.", project=True, at_least=500, at_most=10000)
    ] = 10000
    storage_dir: Annotated[str, Setting("Their folder, below the project's root.")] = ".leftoff/resume-logs"
    format: Annotated[Literal["markdown"], Setting("Markdown, with JSON beside it, is the only form.")] = (
        "markdown"
    )
    triggers: Annotated[tuple[Trigger, ...], Setting("What makes a log due.")] = TRIGGERS
    cleanup: CleanupSettings = CleanupSettings()


class RestoreSettings(NamedTuple):
    """What a new session is given of the last one."""

    on_startup: Annotated[
        Literal["offer", "full", "off"],
        Setting("offer: one line, the whole on request. full: at once. off: never.", project=True),
    ] = "offer"
    max_chars: Annotated[
        int,
        Setting("Most characters for a session.", project=True, at_least=200, at_most=MAX_HOOK_CHARS),
    ] = MAX_HOOK_CHARS


class PauseSettings(NamedTuple):
    """The incremental pause."""

    enabled: Annotated[bool, Setting("Record actions from auto_pause on.")] = True
    git_commit: Annotated[bool, Setting("Commit the snapshot's own files when a pause is finalised.")] = False


class ProjectStateSettings(NamedTuple):
    """The resume state of projects (`_resume.md`)."""

    warn: Annotated[float, Setting("Fraction of the window at which saving is suggested.", project=True)] = (
        FRACTIONS[Level.AUTO_PAUSE]
    )
    auto_save: Annotated[
        float, Setting("Fraction of the window at which the state is saved.", project=True)
    ] = 0.975
    root: Annotated[
        str, Setting("Folder of all projects, below the project's root.", project=True, folder=True)
    ] = "02-projects"
    layout: Annotated[
        Mapping[str, str], Setting("Folders inside each project.", project=True, folder=True)
    ] = MappingProxyType({"planning": "01-planning", "resources": "02-resources", "working": "03-working"})


class TrimSettings(NamedTuple):
    """Defaults of `leftoff trim` and `smart-trim`."""

    threshold: Annotated[int, Setting("Tool results with more characters are cut.", at_least=1)] = 1000
    tools: Annotated[tuple[str, ...], Setting("Only these tools; empty: all.")] = ()
    protect_turns: Annotated[
        int,
        Setting(
            "How many of the last turns are kept whole, up to a fifth (trim) or a tenth (smart-trim) of the context.",
            at_least=0,
        ),
    ] = 2
    head: Annotated[int, Setting("Characters kept from the beginning of what is cut.", at_least=0)] = 200
    tail: Annotated[int, Setting("Characters kept from its end.", at_least=0)] = 200
    in_place: Annotated[bool, Setting("Whether leftoff answers compactions where an agent allows it.")] = True
    in_place_target: Annotated[float, Setting("How full the window may be then.", True, 0.05, 0.9)] = 0.5
    level: Annotated[TrimLevel, Setting("How much smart-trim cuts (docs/shrinking.md).")] = "normal"


class HandoffSettings(NamedTuple):
    """What a rollover leaves in the project besides the resume log; nothing, unless named here."""

    folder: Annotated[
        str, Setting("Folder for handoff documents, such as _handoffs.", project=True, folder=True)
    ] = ""
    ledger: Annotated[
        str,
        Setting(
            "File that names the current session, such as _ledgers/CURRENT.md.", project=True, folder=True
        ),
    ] = ""


class RedactionSettings(NamedTuple):
    """Credentials are taken out before anything is written."""

    enabled: Annotated[bool, Setting("Whether credentials are looked for at all.")] = True
    allow: Annotated[tuple[str, ...], Setting("Regular expressions of what is never redacted.")] = ()
    deny: Annotated[tuple[str, ...], Setting("Regular expressions of what is always redacted.")] = ()


class CaptureSettings(NamedTuple):
    """What is never taken over from a transcript."""

    exclude_tools: Annotated[
        tuple[str, ...], Setting("Tools whose inputs and results are left out everywhere.")
    ] = ()


class RecallSettings(NamedTuple):
    """What agents are told of earlier sessions while they work."""

    hint: Annotated[bool, Setting("One line when what fails or is opened is known (docs/library.md).")] = (
        False
    )


class ArchiveSettings(NamedTuple):
    """Copies of finished sessions, kept when the agent deletes its own."""

    enabled: Annotated[bool, Setting("Whether copies are kept; install asks.")] = False
    keep_days: Annotated[int, Setting("How many days a copy is kept; 0: for ever.", at_least=0)] = 0


class PluginSettings(NamedTuple):
    """Plugins by dotted path (`package.module:Name`), beside those found by entry point."""

    sections: Annotated[tuple[str, ...], Setting("Section providers.")] = ()
    triggers: Annotated[tuple[str, ...], Setting("Trigger conditions.")] = ()


class ChatSettings(NamedTuple):
    """The chat loop."""

    auto_save: Annotated[bool, Setting("Save after every answer, with a summary on exit.")] = True
    folder: Annotated[str, Setting("Where chats are kept, below the working folder.")] = ".leftoff/chats"
    summariser: Annotated[
        str,
        Setting(
            "Who writes the summary: agent (the one you talk to), rules (no model), or as `summariser` above."
        ),
    ] = "agent"
    summary_seconds: Annotated[
        int, Setting("How long a summary may take; it is tried twice.", at_least=1)
    ] = 120


class Settings(NamedTuple):
    """Everything that can be set."""

    enabled: Annotated[
        bool, Setting("false makes hooks and status line silent; what you type yourself is still answered.")
    ] = True
    budget_total: Annotated[
        int,
        Setting(
            "Budget of the hand-fed classes; live metering knows the window itself.", project=True, at_least=1
        ),
    ] = 200000
    accounting: Annotated[
        Literal["occupancy", "cumulative"],
        Setting("What usage means: what is in the window, or the sum of all replies."),
    ] = "occupancy"
    windows: Annotated[
        Mapping[str, int], Setting("Window in tokens by model, where leftoff's table is wrong.", at_least=1)
    ] = MappingProxyType({})
    prices: Annotated[
        Mapping[str, float],
        Setting(
            "US dollars per million tokens of a first prompt, by model; gpt-5* names several.", at_least=0
        ),
    ] = MappingProxyType({})
    warn_agent_below_tokens: Annotated[
        int,
        Setting("The agent is warned only below this many remaining tokens.", project=True, at_least=0),
    ] = 30000
    triggers_prefix: Annotated[str, Setting("What typed triggers begin with; empty for none.")] = ">"
    summariser: Annotated[
        str, Setting("rules, an agent's id, or a command that reads a prompt and prints a summary.")
    ] = "rules"
    storage: Annotated[
        str,
        Setting(
            "Where logs are kept beside the local files: sqlite, s3, postgres, a plugin's name or dotted path."
        ),
    ] = "files"
    storage_options: Annotated[
        Mapping[str, str],
        Setting(
            "What the backend must know (docs/storage.md): bucket, endpoint_url, dsn … Never a credential."
        ),
    ] = MappingProxyType({})
    thresholds: ThresholdSettings = ThresholdSettings()
    resume_logs: ResumeLogSettings = ResumeLogSettings()
    restore: RestoreSettings = RestoreSettings()
    pause: PauseSettings = PauseSettings()
    project_state: ProjectStateSettings = ProjectStateSettings()
    trim: TrimSettings = TrimSettings()
    handoffs: HandoffSettings = HandoffSettings()
    redaction: RedactionSettings = RedactionSettings()
    capture: CaptureSettings = CaptureSettings()
    recall: RecallSettings = RecallSettings()
    archive: ArchiveSettings = ArchiveSettings()
    plugins: PluginSettings = PluginSettings()
    chat: ChatSettings = ChatSettings()


class WrongValueError(ValueError):
    """A value of the wrong type; the message says what was expected."""


class Key(NamedTuple):
    """One setting: its dotted key, its type, its default, and what is declared about it."""

    dotted: str
    annotation: Any
    default: Any
    declared: Setting

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "LEFTOFF_" + self.dotted.replace(".", "_").upper()

    @property
    def takes(self) -> str:
        """What values it takes, for people."""
        return _describe_type(self.annotation)

    def value(self, raw: Any) -> Any:
        """Convert a value from YAML; WrongValueError if the setting does not take it."""
        converted = _convert(self.annotation, raw)
        for each in converted.values() if isinstance(converted, dict) else (converted,):
            self._check(each)
        return converted

    def value_of_text(self, text: str) -> Any:
        """Convert the text of an environment variable or an option; commas separate the items of lists."""
        return self.value(_parse_text(self.annotation, text))

    def _check(self, value: Any) -> None:
        if self.declared.at_least is not None and value < self.declared.at_least:
            raise WrongValueError(f"at least {self.declared.at_least:g}")
        if self.declared.at_most is not None and value > self.declared.at_most:
            raise WrongValueError(f"at most {self.declared.at_most:g}")
        if self.annotation is float and not 0 < value <= 1:
            raise WrongValueError(self.takes)
        if self.dotted.startswith("thresholds.") and not _is_threshold(value):
            raise WrongValueError("fraction 0-1 (0.85) | remaining tokens (30000)")
        if self.declared.folder and value != self.default and not _stays_below(value):
            raise WrongValueError("a folder below the project's root")


@cache
def known_keys() -> Mapping[str, Key]:
    """Return every setting by its dotted key, in the order of declaration."""
    return {key.dotted: key for key in _keys(Settings(), "")}


@cache
def known_groups() -> frozenset[str]:
    """Return the dotted keys of the groups of settings."""
    return frozenset(dotted.rpartition(".")[0] for dotted in known_keys()) - {""}


def build_settings(values: Mapping[str, Any]) -> Settings:
    """Return the settings with these values by dotted key, and defaults for the rest."""
    settings: Settings = _build(Settings(), "", values)
    return settings


def _keys(defaults: Any, prefix: str) -> Iterator[Key]:
    for name, annotation in get_type_hints(type(defaults), include_extras=True).items():
        default = getattr(defaults, name)
        if get_origin(annotation) is Annotated:
            kind, declared = get_args(annotation)
            yield Key(prefix + name, kind, default, declared)
        else:
            yield from _keys(default, f"{prefix}{name}.")


def _build(defaults: Any, prefix: str, values: Mapping[str, Any]) -> Any:
    changes: dict[str, Any] = {}
    for name, default in defaults._asdict().items():
        if prefix + name in values:
            changes[name] = values[prefix + name]
        elif prefix + name in known_groups():
            changes[name] = _build(default, f"{prefix}{name}.", values)
    return defaults._replace(**changes)


def _is_threshold(value: Any) -> bool:
    """Return whether a value is a fraction or a number of tokens; 1 could mean all of the window or one token."""
    return bool(0 < value <= 1 if isinstance(value, float) else value > 1)


def _stays_below(folder: str) -> bool:
    """Return whether a folder name leads neither up nor elsewhere on any system."""
    path = PureWindowsPath(folder)  # knows the separators of all systems
    escapes = path.anchor or ".." in path.parts or folder[:1] == "~" or "\0" in folder
    return bool(path.parts) and not escapes


def _describe_type(annotation: Any) -> str:
    """Return what a setting of that type takes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin is tuple:
        return f"list of {_describe_type(arguments[0])}"
    if origin is types.UnionType:
        return "fraction 0-1 | remaining tokens"
    if origin is not None:
        return f"mapping to {'number' if arguments[1] is float else _describe_type(arguments[1])}"
    return {bool: "true | false", int: "whole number", float: "fraction 0-1", str: "text"}[annotation]


def _convert(annotation: Any, raw: Any) -> Any:
    """Convert a value from YAML to that type; WrongValueError if it does not fit."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal and raw in arguments:
        return raw
    if origin is tuple and isinstance(raw, list):
        return tuple(_convert(arguments[0], each) for each in raw)
    if origin is types.UnionType:  # a threshold: a whole number counts tokens, any other is a fraction
        return int(raw) if _is_instance(int, raw) else _convert(float, raw)
    if origin is Mapping and isinstance(raw, Mapping):
        if arguments[1] is float and not all(_is_instance(float, each) for each in raw.values()):
            raise WrongValueError("number")  # of any size: a float by itself is a fraction
        return {str(name): _convert(arguments[1], each) for name, each in raw.items()}
    if origin is None and _is_instance(annotation, raw):
        return annotation(raw)
    raise WrongValueError(_describe_type(annotation))


def _is_instance(annotation: type, raw: Any) -> bool:
    if annotation is bool or isinstance(raw, bool):
        return annotation is bool and isinstance(raw, bool)
    if annotation is float:
        return isinstance(raw, int | float) and math.isfinite(raw)
    return isinstance(raw, annotation)


def _parse_text(annotation: Any, text: str) -> Any:
    """Return what YAML would give for the text of a variable or an option."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return [_parse_text(arguments[0], part.strip()) for part in text.split(",") if part.strip()]
    if origin is Mapping:
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        if not all(equals for _, equals, _ in parts):
            raise WrongValueError("name=value,name=value")
        return {name.strip(): _parse_text(arguments[1], value.strip()) for name, _, value in parts}
    if annotation is str or origin is Literal:
        return text
    if annotation is bool:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
