"""The layers put together: every value with its origin, every mistake with file, line and the nearest known key.

A mistake never stops the reading: the value below stays in force and the mistake is returned beside the settings.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from leftoff.config.keys import Key, WrongValueError, built, known_groups, known_keys
from leftoff.config.settings import Settings
from leftoff.config.yaml_text import LARGEST_TEXT_BYTES, NotYamlError, entries
from leftoff.errors import ConfigError, InvalidValueError
from leftoff.model.context_metrics import Level, Threshold, Thresholds
from leftoff.model.tuples import NamedTuple

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import Any, Literal

    Layer = Literal["default", "user file", "project file", "environment", "command line"]

FILE_NAME = "configuration.yaml"
SECTION = "context_management"
# Variables of ours that are no settings.
RESERVED_VARIABLES = {"LEFTOFF_DISABLE", "LEFTOFF_TRANSCRIPTS", "LEFTOFF_CLIENTS", "LEFTOFF_BATON"}
_MARKS = "thresholds."
_MOST_MISTAKES = 20  # in one file; whoever makes more has given us something else than settings
_LONGEST_SHOWN = 60


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

    def __str__(self) -> str:
        where = f"{self.origin.place}:{self.origin.line}" if self.origin.line else self.origin.place
        return f"{where}: {self.message}"


class Config(NamedTuple):
    """The settings in force, the origin of every value by dotted key, and the mistakes that were passed over."""

    settings: Settings
    origins: Mapping[str, Origin]
    mistakes: tuple[Mistake, ...] = ()

    def require_sound(self) -> None:
        """Refuse to go on with a mistake that the user made and can mend; a project's file is not theirs to answer for."""
        own = [str(mistake) for mistake in self.mistakes if mistake.origin.layer != "project file"]
        if own:
            more = f" ({len(own) - 1} more: leftoff doctor --config)" if len(own) > 1 else ""
            raise ConfigError(own[0] + more)


class _Pile:
    """The layers while they are being put on top of each other."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.mistakes: list[Mistake] = []

    def put(self, key: Key, raw: Any, origin: Origin, *, text: bool) -> None:
        try:
            value = key.value_of_text(raw) if text else key.value(raw)
        except WrongValueError as wrong:
            self.wrong(origin, f"{key.dotted} is {_shown(raw)}; it takes: {wrong}.")
            return
        self.values[key.dotted] = value
        self.origins[key.dotted] = origin

    def wrong(self, origin: Origin, message: str) -> None:
        self.mistakes.append(Mistake(origin=origin, message=message))

    def cover(self, above: _Pile) -> None:
        """Put a layer on top. Marks that would come in the wrong order with it are that layer's fault, and left out."""
        marks = [dotted for dotted in above.values if dotted.startswith(_MARKS)]
        try:
            _thresholds(self.values | above.values)
        except InvalidValueError as error:
            above.wrong(above.origins[marks[-1]], f"{error} The thresholds of this layer are passed over.")
            for dotted in marks:
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
    """The settings in force. ``options`` are the command line's, by dotted key."""
    pile = _Pile()
    pile.cover(_file_layer(user_file, "user file"))
    if project_file is not None:
        pile.cover(_file_layer(project_file, "project file"))
    pile.cover(_environment_layer(environment or {}))
    pile.cover(_option_layer(options or {}))
    default = Origin(layer="default")
    return Config(
        settings=built(pile.values),
        origins={dotted: pile.origins.get(dotted, default) for dotted in known_keys()},
        mistakes=tuple(pile.mistakes),
    )


def thresholds(settings: Settings) -> Thresholds:
    """The four marks as values."""
    return _thresholds({_MARKS + name: value for name, value in vars(settings.thresholds).items()})


def _file_layer(path: Path, layer: Layer) -> _Pile:
    pile = _Pile()
    origin = Origin(layer=layer, place=str(path))
    seen: set[str] = set()
    try:
        for entry in entries(_text_of(path, layer), section=SECTION, groups=known_groups()):
            where = Origin(layer=layer, place=str(path), line=entry.line)
            if len(pile.mistakes) >= _MOST_MISTAKES:
                pile.wrong(where, "too many mistakes; the rest of the file was not read.")
                break
            if entry.dotted in seen:
                pile.wrong(where, f"{_cut(entry.dotted)} stands here a second time; the first one counts.")
                continue
            seen.add(entry.dotted)
            _add_entry(pile, entry.dotted, entry.value, where)
    except NotYamlError as error:
        pile.wrong(Origin(layer=layer, place=str(path), line=error.line), f"{error}.")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        pile.wrong(origin, f"cannot be read: {reason}.")
    return pile


def _text_of(path: Path, layer: Layer) -> str:
    """The file's text, empty when there is none. A project's file must be a file: a link could name any other."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if not stat.S_ISREG(status.st_mode):
        raise NotYamlError("not a file; it was not read")
    if layer == "project file" and (path.is_symlink() or path.parent.is_symlink()):
        raise NotYamlError("reached through a symbolic link; it was not read")
    if status.st_size > LARGEST_TEXT_BYTES:
        raise NotYamlError(f"larger than {LARGEST_TEXT_BYTES // 1024} KB; it was not read")
    return path.read_text(encoding="utf-8-sig")


def _add_entry(pile: _Pile, dotted: str, raw: Any, origin: Origin) -> None:
    key = known_keys().get(dotted)
    if dotted in known_groups():
        pile.wrong(origin, f"{dotted} is {_shown(raw)}; it takes: a mapping of settings.")
    elif key is None:
        pile.wrong(origin, _unknown(dotted))
    elif origin.layer == "project file" and not key.project:
        pile.wrong(origin, f"{dotted} may not be set by a project's file. Set it in your own configuration.")
    else:
        pile.put(key, raw, origin, text=False)


def _environment_layer(environment: Mapping[str, str]) -> _Pile:
    pile = _Pile()
    by_variable = {key.variable: key for key in known_keys().values()}
    for variable, text in environment.items():
        if not variable.startswith("LEFTOFF_") or variable in RESERVED_VARIABLES:
            continue
        origin = Origin(layer="environment", place=variable)
        if variable in by_variable:
            pile.put(by_variable[variable], text, origin, text=True)
        else:
            pile.wrong(origin, _unknown(variable, known=[*by_variable, *RESERVED_VARIABLES]))
    return pile


def _option_layer(options: Mapping[str, str]) -> _Pile:
    pile = _Pile()
    for dotted, text in options.items():
        origin = Origin(layer="command line", place=f"--set {dotted}")
        key = known_keys().get(dotted)
        if key is None:
            pile.wrong(origin, _unknown(dotted))
        else:
            pile.put(key, text, origin, text=True)
    return pile


def _unknown(name: str, known: list[str] | None = None) -> str:
    import difflib  # noqa: PLC0415 - only for those who mistyped

    near = difflib.get_close_matches(name, known or [*known_keys()], n=1, cutoff=0.5)
    return f"{_cut(name)} is no setting." + (f" Did you mean {near[0]}?" if near else "")


def _shown(raw: Any) -> str:
    """A value that was not taken, in a few words whatever it holds."""
    if isinstance(raw, list | dict):
        return "a list" if isinstance(raw, list) else "a mapping"
    return _cut(repr(raw))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def _thresholds(values: Mapping[str, Any]) -> Thresholds:
    """The four marks from values by dotted key, defaults for the rest."""

    def mark(level: Level) -> Threshold:
        value = values.get(_MARKS + level, known_keys()[_MARKS + level].default)
        if isinstance(value, int):
            return Threshold(level=level, remaining_tokens=value)
        return Threshold(level=level, fraction=value)

    return Thresholds(
        caution=mark(Level.CAUTION),
        warning=mark(Level.WARNING),
        auto_pause=mark(Level.AUTO_PAUSE),
        critical=mark(Level.CRITICAL),
    )
