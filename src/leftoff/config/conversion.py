"""How a value from outside becomes one of a setting: by the type that the setting is annotated with."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from leftoff.config.keys import WrongValueError
from leftoff.config.settings import TRIGGERS, Group

# What the annotations of the settings speak of; the settings themselves are loaded without it.
_WORDS = {"Literal": Literal, "Mapping": Mapping, "Trigger": Literal[TRIGGERS]}


@cache
def types_of(group: type[Group]) -> dict[str, Any]:
    """What the settings of a group take, by name."""
    return get_type_hints(group, localns=_WORDS)


def takes(annotation: Any) -> str:
    """What a setting of that type takes, in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin is tuple:
        return f"list of {takes(arguments[0])}"
    if origin in (Union, types.UnionType):
        return "fraction 0-1 | remaining tokens"
    if origin is not None:
        return f"mapping to {takes(arguments[1])}"
    return {bool: "true | false", int: "whole number", float: "fraction 0-1", str: "text"}[annotation]


def converted(annotation: Any, raw: Any) -> Any:
    """``raw``, as YAML gives it, as a value of that type; WrongValueError when it cannot be one."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal and raw in arguments:
        return raw
    if origin is tuple and isinstance(raw, list):
        return tuple(converted(arguments[0], each) for each in raw)
    if origin in (
        Union,
        types.UnionType,
    ):  # a threshold: a whole number counts tokens, any other is a fraction
        return int(raw) if _is(int, raw) else converted(float, raw)
    if origin is Mapping and isinstance(raw, Mapping):
        return {str(name): converted(arguments[1], each) for name, each in raw.items()}
    if origin is None and _is(annotation, raw):
        return annotation(raw)
    raise WrongValueError(takes(annotation))


def _is(annotation: type, raw: Any) -> bool:
    if annotation is bool or isinstance(raw, bool):
        return annotation is bool and isinstance(raw, bool)
    return isinstance(raw, int | float) if annotation is float else isinstance(raw, annotation)


def from_text(annotation: Any, text: str) -> Any:
    """What YAML would give for the words of a variable or an option: lists are separated by commas."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return [from_text(arguments[0], part.strip()) for part in text.split(",") if part.strip()]
    if origin is Mapping:
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        if not all(equals for _, equals, _ in parts):
            raise WrongValueError("name=value,name=value")
        return {name.strip(): from_text(arguments[1], value.strip()) for name, _, value in parts}
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
