"""The short way into a command: its options are understood here, without the command line, which takes longer to load than it.

A command has one list of options for both ways. The short way understands these and no more: whatever else is typed (help, a
mistake), and a process that was started with a closed stream, is for the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from leftoff.cli import plain
from leftoff.model.tuples import NamedTuple

MOST = 1000  # what a number can be


class Option(NamedTuple):
    """One option: the field that it sets, whether it is a number or a switch, and its help."""

    name: str
    field: str
    kind: str  # text, number or switch
    words: str


AS_JSON = Option("--json", "as_json", "switch", "JSON only, on standard output.")


class Typed(NamedTuple):
    """What was understood: the values of the options that were given, by field, and the other words."""

    values: dict[str, object]
    words: list[str]


def understood(arguments: Sequence[str], options: Sequence[Option]) -> Typed | None:
    """What was typed; None where the command line has to look at it."""
    typed = Typed({}, [])
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            typed.words.extend(rest)
        elif not argument.startswith("--") and argument != "-h":
            typed.words.append(argument)
        elif (option := _named(argument, options)) is None or (
            value := _value(argument, option, rest)
        ) is None:
            return None
        else:
            typed.values[option.field] = value
    return typed


def run(command: Callable[[], int]) -> int | None:
    """Its exit code, with all that it said on its way; None, and nothing was done, where a stream is closed."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    plain.make_ready()
    code = command()
    sys.stdout.flush()
    return code


def _named(argument: str, options: Sequence[Option]) -> Option | None:
    name = argument.partition("=")[0]
    return next((option for option in options if option.name == name), None)


def _value(argument: str, option: Option, rest: Iterator[str]) -> object | None:
    """What the option is set to; None where that is not understood here."""
    _, equals, given = argument.partition("=")
    if option.kind == "switch":
        return None if equals else True
    value = given if equals else next(rest, None)
    if value is None or option.kind == "text":
        return value
    is_number = value.isdecimal() and len(value) <= len(str(MOST)) and 1 <= int(value) <= MOST
    return int(value) if is_number else None
