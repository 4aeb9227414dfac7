"""The tree of errors, as drawn and as built."""

import re

import pytest

from leftoff import errors

LINE = re.compile(r"^(?P<branch>[ │├└─]*)(?P<name>\w+Error) +(?P<code>\d)  (?P<words>\S.*)$")


def drawn():
    """(name, parent, exit code) of every line of the drawing, top to bottom."""
    path = []
    for line in errors.__doc__.splitlines():
        if found := LINE.match(line):
            depth = len(found["branch"]) // 4
            path[depth:] = [found["name"]]
            yield found["name"], path[depth - 1] if depth else None, int(found["code"])


def built(error=errors.LeftoffError, parent=None):
    yield error.__name__, parent, error.exit_code
    for child in error.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from built(child, error.__name__)


def test_the_tree_is_drawn_as_it_is_built():
    """Same names, same nesting, same exit codes."""
    assert sorted(drawn(), key=str) == sorted(built(), key=str)
    assert len([*drawn()]) == len({name for name, _, _ in drawn()}) > 10


def test_every_error_of_the_module_is_in_the_tree():
    """Nothing is raised on purpose that a face could not catch by the root."""
    defined = {
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert {error.__name__ for error in defined} == {name for name, _, _ in drawn()}


def test_an_error_carries_its_sentence_and_its_place():
    """So that a face can show both."""
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
def test_callers_of_the_library_may_catch_the_builtin(error, builtin):
    """The seeds promise a ValueError for negative numbers, and Python's own words for the rest."""
    assert issubclass(error, builtin)
