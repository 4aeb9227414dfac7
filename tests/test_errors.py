"""The tree of errors: its drawing in the docstring and its classes."""

import re

import pytest

from leftoff import errors

LINE = re.compile(r"^(?P<branch>[ │├└─]*)(?P<name>\w+Error) +(?P<code>\d)  (?P<words>\S.*)$")


def drawn_errors():
    """Yield (name, parent, exit code) of every line of the drawing, top to bottom."""
    path = []
    for line in errors.__doc__.splitlines():
        if found := LINE.match(line):
            depth = len(found["branch"]) // 4
            path[depth:] = [found["name"]]
            yield found["name"], path[depth - 1] if depth else None, int(found["code"])


def defined_errors(error=errors.LeftoffError, parent=None):
    yield error.__name__, parent, error.exit_code
    for child in error.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from defined_errors(child, error.__name__)


def test_the_drawing_matches_the_classes():
    """Names, nesting and exit codes are the same."""
    assert sorted(drawn_errors(), key=str) == sorted(defined_errors(), key=str)
    assert len([*drawn_errors()]) == len({name for name, _, _ in drawn_errors()}) > 10


def test_every_error_of_the_module_is_in_the_drawing():
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning)
    }
    assert {error.__name__ for error in defined} == {name for name, _, _ in drawn_errors()}


def test_an_error_has_message_path_and_line():
    """An error has its message and, where known, a path and a line."""
    error = errors.TranscriptError("a.jsonl: line 7 is not JSON.", path="a.jsonl", line=7)
    assert (str(error), error.message, error.path, error.line) == (
        error.message,
        "a.jsonl: line 7 is not JSON.",
        "a.jsonl",
        7,
    )
    bare = errors.LeftoffError("no")
    assert (bare.path, bare.line) == (None, None)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.UsageError, ValueError),
        (errors.ConfigError, ValueError),
        (errors.NotFoundError, LookupError),
        (errors.DocumentError, ValueError),
        (errors.LockTimeoutError, TimeoutError),
        (errors.InvalidValueError, ValueError),
    ],
)
def test_some_errors_can_be_caught_as_builtin_ones(error, builtin):
    """Callers of the library can catch the built-in exception: ValueError for negative numbers, for example."""
    assert issubclass(error, builtin)
