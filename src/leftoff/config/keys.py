"""The settings as a flat list of dotted keys: what each takes, and how a value from outside becomes one."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PureWindowsPath
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from leftoff.config.settings import Group, Setting, Settings

AnyGroup = TypeVar("AnyGroup", bound=Group)


class WrongValueError(ValueError):
    """A value of the wrong type; the message says what was expected."""


class Key(NamedTuple):
    """One setting: its dotted key, the type it takes, and how it is declared."""

    dotted: str
    annotation: Any
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
    def takes(self) -> str:
        """What it takes, in words."""
        return _takes(self.annotation)

    def value(self, raw: Any) -> Any:
        """``raw``, as YAML gives it, as a value of this setting; WrongValueError when it cannot be one."""
        converted = _converted(self.annotation, raw)
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
        return self.value(_from_text(self.annotation, text))


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
    hints = get_type_hints(cls)
    for name, declared in cls.declared().items():
        if isinstance(declared, Setting):
            yield Key(prefix + name, hints[name], *declared)
        else:
            yield from _keys(declared, f"{prefix}{name}.")


def _takes(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin is tuple:
        return f"list of {_takes(arguments[0])}"
    if origin in (Union, types.UnionType):
        return "fraction 0-1 | remaining tokens"
    if origin is not None:
        return f"mapping to {_takes(arguments[1])}"
    return {bool: "true | false", int: "whole number", float: "fraction 0-1", str: "text"}[annotation]


def _converted(annotation: Any, raw: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal and raw in arguments:
        return raw
    if origin is tuple and isinstance(raw, list):
        return tuple(_converted(arguments[0], each) for each in raw)
    if origin in (
        Union,
        types.UnionType,
    ):  # a threshold: a whole number counts tokens, any other is a fraction
        return int(raw) if _is(int, raw) else _converted(float, raw)
    if origin is Mapping and isinstance(raw, Mapping):
        return {str(name): _converted(arguments[1], each) for name, each in raw.items()}
    if origin is None and _is(annotation, raw):
        return annotation(raw)
    raise WrongValueError(_takes(annotation))


def _is(annotation: type, raw: Any) -> bool:
    if annotation is bool or isinstance(raw, bool):
        return annotation is bool and isinstance(raw, bool)
    return isinstance(raw, int | float) if annotation is float else isinstance(raw, annotation)


def _check_threshold(value: float) -> None:
    """1 would be either all of the window or the last token of it: said instead of guessed."""
    fraction = isinstance(value, float)
    if (fraction and not 0 < value <= 1) or (not fraction and value <= 1):
        raise WrongValueError("fraction 0-1 (0.85) | remaining tokens (30000)")


def _stays_below(folder: str) -> bool:
    """Whether a folder's name, as any system would read it, leads neither up nor elsewhere."""
    path = PureWindowsPath(folder)  # knows the separators of both worlds
    return (
        bool(path.parts)
        and not path.anchor
        and ".." not in path.parts
        and folder[0] != "~"
        and "\0" not in folder
    )


def _from_text(annotation: Any, text: str) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return [_from_text(arguments[0], part.strip()) for part in text.split(",") if part.strip()]
    if origin is Mapping:
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        if not all(equals for _, equals, _ in parts):
            raise WrongValueError("name=value,name=value")
        return {name.strip(): _from_text(arguments[1], value.strip()) for name, _, value in parts}
    if annotation is str or origin is Literal:
        return text
    return (
        {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        if annotation is bool
        else _number(text)
    )


def _number(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
