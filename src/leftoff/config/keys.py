"""The settings as a flat list of dotted keys.

What each takes, and how a value from outside becomes one, is worked out in ``conversion`` when there is such a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from leftoff.config.settings import Group, Setting, Settings
from leftoff.model.tuples import NamedTuple

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, TypeVar

    AnyGroup = TypeVar("AnyGroup", bound=Group)


class WrongValueError(ValueError):
    """A value of the wrong type; the message says what was expected."""


class Key(NamedTuple):
    """One setting: its dotted key, the class it is declared in, and how."""

    dotted: str
    group: type[Group]
    default: Any
    words: str
    project: bool
    at_least: float | None
    at_most: float | None
    folder: bool

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "LEFTOFF_" + self.dotted.replace(".", "_").upper()

    @property
    def annotation(self) -> Any:
        """The type that it takes."""
        return _conversion().types_of(self.group)[self.dotted.rpartition(".")[2]]

    @property
    def takes(self) -> str:
        """What it takes, in words."""
        words: str = _conversion().takes(self.annotation)
        return words

    def value(self, raw: Any) -> Any:
        """``raw``, as YAML gives it, as a value of this setting; WrongValueError when it cannot be one."""
        converted = _conversion().converted(self.annotation, raw)
        for each in converted.values() if isinstance(converted, dict) else (converted,):
            self._check(each)
        return converted

    def _check(self, value: Any) -> None:
        if self.at_least is not None and value < self.at_least:
            raise WrongValueError(f"at least {self.at_least:g}")
        if self.at_most is not None and value > self.at_most:
            raise WrongValueError(f"at most {self.at_most:g}")
        if self.annotation is float and not 0 < value <= 1:
            raise WrongValueError(self.takes)
        if self.dotted.startswith("thresholds."):
            _check_threshold(value)
        if self.folder and value != self.default and not _stays_below(value):
            raise WrongValueError("a folder below the project's root")

    def value_of_text(self, text: str) -> Any:
        """The same from an environment variable or an option: lists are separated by commas."""
        return self.value(_conversion().from_text(self.annotation, text))


@cache
def known_keys() -> Mapping[str, Key]:
    """Every setting by its dotted key, in order of declaration."""
    return {key.dotted: key for key in _keys(Settings, "")}


@cache
def known_groups() -> frozenset[str]:
    """The dotted keys that hold settings and are none themselves."""
    return frozenset(dotted.rpartition(".")[0] for dotted in known_keys()) - {""}


def built(values: Mapping[str, Any]) -> Settings:
    """The settings with these values by dotted key, defaults for the rest."""
    return _built(Settings, "", values)


def _built(cls: type[AnyGroup], prefix: str, values: Mapping[str, Any]) -> AnyGroup:
    given: dict[str, Any] = {}
    for name, declared in cls.declared().items():
        dotted = prefix + name
        if not isinstance(declared, Setting):
            given[name] = _built(declared, dotted + ".", values)
        elif dotted in values:
            given[name] = values[dotted]
    return cls(given)


def _keys(cls: type[Group], prefix: str) -> Iterator[Key]:
    for name, declared in cls.declared().items():
        if isinstance(declared, Setting):
            yield Key(prefix + name, cls, *declared)
        else:
            yield from _keys(declared, f"{prefix}{name}.")


def _conversion() -> ModuleType:
    """Loaded late: most commands run without a value from outside."""
    from leftoff.config import conversion  # noqa: PLC0415

    return conversion


def _check_threshold(value: float) -> None:
    """1 would be either all of the window or the last token of it: said instead of guessed."""
    fraction = isinstance(value, float)
    if (fraction and not 0 < value <= 1) or (not fraction and value <= 1):
        raise WrongValueError("fraction 0-1 (0.85) | remaining tokens (30000)")


def _stays_below(folder: str) -> bool:
    """Whether a folder's name, as any system would read it, leads neither up nor elsewhere."""
    from pathlib import PureWindowsPath  # noqa: PLC0415

    path = PureWindowsPath(folder)  # knows the separators of both worlds
    return (
        bool(path.parts)
        and not path.anchor
        and ".." not in path.parts
        and folder[0] != "~"
        and "\0" not in folder
    )
