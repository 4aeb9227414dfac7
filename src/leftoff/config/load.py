"""Loads the settings from all layers: every value with its origin, every mistake with file, line and the nearest known key.

A mistake never stops loading: the value of the layer below stays in force, and the mistake is returned with the settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

from leftoff.config.settings import Key, Settings, WrongValueError, build_settings, known_groups, known_keys
from leftoff.config.yaml_entries import NotYamlError, entries
from leftoff.core.metrics import Level, Threshold, Thresholds
from leftoff.errors import ConfigError, InvalidValueError
from leftoff.platform.files import read_regular_file

Layer = Literal["default", "user file", "project file", "environment", "command line"]
FILE_NAME = "configuration.yaml"
SECTION = "context_management"
# Variables of leftoff that are not settings.
RESERVED_VARIABLES = {
    "LEFTOFF_DISABLE",
    "LEFTOFF_TRANSCRIPTS",
    "LEFTOFF_CLIENTS",
    "LEFTOFF_QUIZ",
    "LEFTOFF_BATON",
}
_THRESHOLDS_PREFIX = "thresholds."
_MOST_MISTAKES = 20  # in one file; with more, it is probably not a settings file
_LONGEST_SHOWN_CHARS = 60
# A cloned repository must not make leftoff say "stop" to a window that is nearly empty.
_LEAST_PROJECT_FRACTION = 0.5
_MOST_PROJECT_TOKENS = 50_000  # remaining; a quarter of a usual window
LARGEST_TEXT_BYTES = 32 * 1024  # ten times the size of all settings; parsing more would take noticeable time
_RESUME_LOGS = "resume_logs"


class Origin(NamedTuple):
    """Where a value came from. ``place`` is a file, a variable or an option; ``line`` is 1-based."""

    layer: Layer
    place: str = ""
    line: int | None = None

    def __str__(self) -> str:
        where = f"{self.place}:{self.line}" if self.line else self.place
        return f"{self.layer} {where}".strip()


class Mistake(NamedTuple):
    """Something in a layer that could not be used."""

    origin: Origin
    message: str
    forbidden_key: str = ""  # the setting, if the mistake is only that a project's file may not set it

    def __str__(self) -> str:
        where = f"{self.origin.place}:{self.origin.line}" if self.origin.line else self.origin.place
        return f"{where}: {self.message}"


class Config(NamedTuple):
    """The settings in force, the origin of every value by dotted key, and the mistakes that were ignored."""

    settings: Settings
    origins: Mapping[str, Origin]
    mistakes: tuple[Mistake, ...] = ()

    def require_sound(self) -> None:
        """Raise ConfigError for a mistake that the user can correct; a project's file may come from someone else."""
        if own := self._own_mistakes():
            raise ConfigError(own)

    def complaints(self) -> list[str]:
        """Return what to tell the user about the mistakes, at most one line for each kind: their own, and those of the project's file."""
        foreign = [mistake for mistake in self.mistakes if mistake.origin.layer == "project file"]
        forbidden = [mistake for mistake in foreign if mistake.forbidden_key]
        keys = ", ".join(mistake.forbidden_key for mistake in forbidden)
        return [
            line
            for line in (
                self._own_mistakes(),
                _first_of([mistake for mistake in foreign if not mistake.forbidden_key]),
                f"{forbidden[0].origin.place}: a project's file may not set {keys}. Set it in your own configuration."
                if forbidden
                else "",
            )
            if line
        ]

    def _own_mistakes(self) -> str:
        return _first_of([mistake for mistake in self.mistakes if mistake.origin.layer != "project file"])


def _first_of(mistakes: Sequence[Mistake]) -> str:
    more = f" ({len(mistakes) - 1} more: leftoff config)" if len(mistakes) > 1 else ""
    return f"{mistakes[0]}{more}" if mistakes else ""


class _LayerValues:
    """The values, origins and mistakes of one layer, or of several layers combined."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.mistakes: list[Mistake] = []

    def set_value(self, key: Key, raw: Any, origin: Origin, *, text: bool) -> None:
        try:
            value = key.value_of_text(raw) if text else key.value(raw)
        except WrongValueError as wrong:
            self.add_mistake(origin, f"{key.dotted} is {_describe_value(raw)}; it takes: {wrong}.")
            return
        self.values[key.dotted] = value
        self.origins[key.dotted] = origin

    def add_mistake(self, origin: Origin, message: str, *, forbidden_key: str = "") -> None:
        self.mistakes.append(Mistake(origin=origin, message=message, forbidden_key=forbidden_key))

    def override_with(self, above: _LayerValues) -> None:
        """Let a layer override these values. If its thresholds would be out of order, they are a mistake and left out."""
        threshold_keys = [dotted for dotted in above.values if dotted.startswith(_THRESHOLDS_PREFIX)]
        try:
            _build_thresholds(self.values | above.values)
        except InvalidValueError as error:
            above.add_mistake(
                above.origins[threshold_keys[-1]], f"{error} The thresholds of this layer are ignored."
            )
            for dotted in threshold_keys:
                del above.values[dotted], above.origins[dotted]
        self.values |= above.values
        self.origins |= above.origins
        self.mistakes += above.mistakes


def load(
    *,
    user_file: Path,
    project_file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> Config:
    """Load the settings in force. ``options`` are those of the command line, by dotted key."""
    layer_values = _LayerValues()
    layer_values.override_with(_file_layer(user_file, "user file"))
    if project_file is not None:
        layer_values.override_with(_file_layer(project_file, "project file"))
    layer_values.override_with(_environment_layer(environment or {}))
    layer_values.override_with(_option_layer(options or {}))
    default = Origin(layer="default")
    return Config(
        settings=build_settings(layer_values.values),
        origins={dotted: layer_values.origins.get(dotted, default) for dotted in known_keys()},
        mistakes=tuple(layer_values.mistakes),
    )


def thresholds(settings: Settings) -> Thresholds:
    """Return the four thresholds."""
    return _build_thresholds(
        {_THRESHOLDS_PREFIX + name: value for name, value in settings.thresholds._asdict().items()}
    )


def _file_layer(path: Path, layer: Layer) -> _LayerValues:
    layer_values = _LayerValues()
    origin = Origin(layer=layer, place=str(path))
    seen: set[str] = set()
    try:
        for entry in entries(_read_text(path, layer), section=SECTION, groups=known_groups()):
            where = Origin(layer=layer, place=str(path), line=entry.line)
            if len(layer_values.mistakes) >= _MOST_MISTAKES:
                layer_values.add_mistake(where, "too many mistakes; the rest of the file was not read.")
                break
            if entry.dotted in seen:
                layer_values.add_mistake(
                    where, f"{_shorten(entry.dotted)} is set here a second time; the first one counts."
                )
                continue
            seen.add(entry.dotted)
            _add_entry(layer_values, entry.dotted, entry.value, where)
    except NotYamlError as error:
        layer_values.add_mistake(Origin(layer=layer, place=str(path), line=error.line), f"{error}.")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        layer_values.add_mistake(origin, f"cannot be read: {reason}.")
    return layer_values


def _read_text(path: Path, layer: Layer) -> str:
    """Return the text of a file, empty if it is missing. A project's file must not be a link, which could name any file."""
    if layer == "project file" and (path.is_symlink() or path.parent.is_symlink()):
        raise NotYamlError("reached through a symbolic link; it was not read")
    try:
        return read_regular_file(path, LARGEST_TEXT_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return ""


def _add_entry(layer_values: _LayerValues, dotted: str, raw: Any, origin: Origin) -> None:
    key = known_keys().get(dotted)
    if dotted in known_groups():
        layer_values.add_mistake(
            origin, f"{dotted} is {_describe_value(raw)}; it takes: a mapping of settings."
        )
    elif key is None:
        layer_values.add_mistake(origin, unknown_setting(dotted))
    elif origin.layer == "project file" and not key.declared.project:
        layer_values.add_mistake(
            origin,
            f"{dotted} may not be set by a project's file. Set it in your own configuration.",
            forbidden_key=dotted,
        )
    else:
        layer_values.set_value(key, raw, origin, text=False)
        if origin.layer == "project file":
            _drop_early_threshold(layer_values, dotted, origin)


def _drop_early_threshold(layer_values: _LayerValues, dotted: str, origin: Origin) -> None:
    """Drop a threshold of a project's file in the first half of the window: with it a clone could raise false alarms."""
    value = layer_values.values.get(dotted)
    if isinstance(value, float):
        is_early = value < _LEAST_PROJECT_FRACTION
    else:
        is_early = (
            dotted.startswith(_THRESHOLDS_PREFIX) and isinstance(value, int) and value > _MOST_PROJECT_TOKENS
        )
    if is_early:
        del layer_values.values[dotted], layer_values.origins[dotted]
        layer_values.add_mistake(
            origin,
            f"{dotted} is {value}; a project's file may set {_LEAST_PROJECT_FRACTION} or more, or at most "
            f"{_MOST_PROJECT_TOKENS:,} remaining tokens. Set it in your own configuration.",
        )


def _environment_layer(environment: Mapping[str, str]) -> _LayerValues:
    layer_values = _LayerValues()
    by_variable = {key.variable: key for key in known_keys().values()}
    for variable, text in environment.items():
        if not variable.startswith("LEFTOFF_") or variable in RESERVED_VARIABLES:
            continue
        origin = Origin(layer="environment", place=variable)
        if variable in by_variable:
            layer_values.set_value(by_variable[variable], text, origin, text=True)
        else:
            layer_values.add_mistake(
                origin, unknown_setting(variable, known=[*by_variable, *RESERVED_VARIABLES])
            )
    return layer_values


def _option_layer(options: Mapping[str, str]) -> _LayerValues:
    layer_values = _LayerValues()
    for dotted, text in options.items():
        origin = Origin(layer="command line", place=f"--set {dotted}")
        key = known_keys().get(dotted)
        if key is None:
            layer_values.add_mistake(origin, unknown_setting(dotted))
        else:
            layer_values.set_value(key, text, origin, text=True)
    return layer_values


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known name that is most like ``name``, if any is."""
    import difflib  # noqa: PLC0415 - needed only for a mistake

    return difflib.get_close_matches(name, [*known], n=1, cutoff=0.5)


def unknown_setting(name: str, known: list[str] | None = None) -> str:
    """Say that there is no such setting, and which one is most like it."""
    near = _nearest(name, known or [*known_keys(), *known_groups()])
    return f"{_shorten(name)} is not a setting." + (f" Did you mean {near[0]}?" if near else "")


def _describe_value(raw: Any) -> str:
    """Return a short text for a rejected value."""
    if isinstance(raw, list | dict):
        return "a list" if isinstance(raw, list) else "a mapping"
    return _shorten(repr(raw))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN_CHARS else text[:_LONGEST_SHOWN_CHARS] + "…"


def _build_thresholds(values: Mapping[str, Any]) -> Thresholds:
    """Build the four thresholds from values by dotted key, with defaults for the rest."""

    def threshold(level: Level) -> Threshold:
        value = values.get(_THRESHOLDS_PREFIX + level, known_keys()[_THRESHOLDS_PREFIX + level].default)
        if isinstance(value, int):
            return Threshold(level=level, remaining_tokens=value)
        return Threshold(level=level, fraction=value)

    return Thresholds(
        caution=threshold(Level.CAUTION),
        warning=threshold(Level.WARNING),
        auto_pause=threshold(Level.AUTO_PAUSE),
        critical=threshold(Level.CRITICAL),
    )


def with_overrides(settings: Settings, config: Mapping[str, Any] | None) -> Settings:
    """Override settings with values that a program gives, checked like those in a file.

    ``config`` has the keys of ``resume_logs``, or all keys below ``context_management`` as in a file.
    """
    if not isinstance(config, Mapping | None):
        raise ConfigError(f"config is {config!r:.60}: a mapping of settings was expected.")
    in_force = {dotted: attrgetter(dotted)(settings) for dotted in known_keys()}
    return build_settings(
        in_force
        | {dotted: _check_override(dotted, raw) for dotted, raw in _flatten(*_find_section(config or {}))}
    )


def _check_override(dotted: str, raw: Any) -> Any:
    key = known_keys().get(dotted)
    if key is None:
        raise ConfigError(_unknown_override(dotted))
    try:
        return key.value(str(raw) if isinstance(raw, PurePath) else raw)
    except WrongValueError as wrong:
        raise ConfigError(f"{dotted} is {raw!r:.60}; it takes: {wrong}.") from wrong


def _unknown_override(dotted: str) -> str:
    """Return what to say about a key that a program gives; without a section, it is taken for one of ``resume_logs``."""
    prefix = f"{_RESUME_LOGS}."
    if not dotted.startswith(prefix):
        return unknown_setting(dotted)
    name = dotted.removeprefix(prefix)
    everything = [*known_keys(), *known_groups()]
    short = [each.removeprefix(prefix) for each in everything if each.startswith(prefix)]
    near = [name] if name in everything else _nearest(name, [*short, *everything])
    if near and near[0] not in short:
        inner = "…"
        for part in reversed(near[0].split(".")):
            inner = f'{{"{part}": {inner}}}'
        return f'{name} is not a setting of resume_logs. Did you mean {{"{SECTION}": {inner}}}?'
    return f"{dotted} is not a setting." + (f" Did you mean {near[0]}?" if near else "")


def _find_section(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    whole = config.get(SECTION)
    return (whole, "") if isinstance(whole, Mapping) else (config, f"{_RESUME_LOGS}.")


def _flatten(given: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        dotted = f"{prefix}{name}"
        if dotted in known_groups() and isinstance(value, Mapping):
            yield from _flatten(value, f"{dotted}.")
        else:
            yield dotted, [*value] if isinstance(value, tuple | set) else value
