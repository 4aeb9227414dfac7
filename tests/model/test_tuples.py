"""Tuples with names that are made quickly behave as the usual ones: every fact here is asked of both."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from leftoff.model import tuples


class Usual(NamedTuple):
    """A place."""

    line: int
    path: str = "here"
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """As people read it."""
        return f"{self.path}:{self.line}"

    @classmethod
    def first(cls, path: str) -> Any:
        """Its first line."""
        return cls(1, path)


class Quick(tuples.NamedTuple):
    """A place."""

    line: int
    path: str = "here"
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """As people read it."""
        return f"{self.path}:{self.line}"

    @classmethod
    def first(cls, path: str) -> Any:
        """Its first line."""
        return cls(1, path)


class Often(tuples.NamedTuple):
    """A place."""

    line: int
    path: str = "here"
    notes: tuple[str, ...] = ()
    shown = Quick.shown
    first = classmethod(lambda cls, path: cls(1, path))


FIRST = Often.__new__
MANY = [Often(line) for line in range(100)]  # of so many what makes them is compiled
both = pytest.mark.parametrize("made", [Usual, Quick, Often])


def test_what_makes_many_is_compiled_and_what_makes_few_is_not():
    """And all of the many are the same."""
    assert Often.__new__ is not FIRST
    assert [each.line for each in MANY] == [*range(100)]
    assert {type(each) for each in MANY} == {Often}
    assert inspect.signature(Often).parameters.keys() == {"line", "path", "notes"}


@both
def test_it_is_made_by_place_and_by_name(made):
    """What is not given has its default."""
    assert made(3) == (3, "here", ())
    assert made(3, notes=("x",)) == (3, "here", ("x",))
    assert made(path="there", line=4) == (4, "there", ())
    assert made(5, "a", ("b",)) == (5, "a", ("b",))
    assert made.first("z").shown == "z:1"


@both
def test_a_class_made_from_it_makes_its_own(made):
    """Whoever makes the first one, the class is what was asked for."""

    class Child(made):
        pass

    assert (type(Child(1)), type(made(2)), Child(3).line) == (Child, made, 3)


@both
def test_its_fields_are_read_by_name_and_never_set(made):
    """As those of any tuple."""
    place = made(3, "a")
    line, path, notes = place
    assert (place.line, place.path, place.notes) == (line, path, notes) == (3, "a", ())
    with pytest.raises(AttributeError):
        place.line = 4
    with pytest.raises(AttributeError):
        place.other = 4
    assert not hasattr(place, "__dict__")


@both
def test_it_tells_of_itself(made):
    """Names, defaults, and what it holds."""
    place = made(3)
    assert (made._fields, made._field_defaults) == (("line", "path", "notes"), {"path": "here", "notes": ()})
    assert made.__doc__ == "A place."
    assert repr(place) == f"{made.__name__}(line=3, path='here', notes=())"
    assert place._asdict() == {"line": 3, "path": "here", "notes": ()}
    match place:
        case made(line, path):
            assert (line, path) == (3, "here")
        case _:
            pytest.fail("it is not matched by its fields")


@both
def test_another_is_made_of_it(made):
    """By replacing fields, from any row, by copying and by pickling."""
    place = made(3)
    assert place._replace(path="b") == made(3, "b")
    assert type(place._replace(path="b")) is made
    assert made._make([7, "c", ()]) == made(7, "c")
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        made._make([7])
    assert copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place
    assert type(pickle.loads(pickle.dumps(place))) is made
    assert {place: 1}[made(3)] == 1
    with pytest.raises(ValueError, match="field"):
        place._replace(other=1)


@both
@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((), {}, "missing 1 required positional argument: 'line'"),
        ((1, "a", (), 4), {}, "from 2 to 4 positional arguments but 5 were given"),
        ((1,), {"line": 2}, "multiple values for argument 'line'"),
        ((1,), {"other": 2}, "unexpected keyword argument 'other'"),
    ],
)
def test_a_wrong_call_is_refused_by_name(made, given, named, message):
    """Too few, too many, twice, unknown; and the next right one is taken."""
    with pytest.raises(TypeError, match=message):
        made(*given, **named)
    assert made(3).line == 3


@pytest.mark.parametrize("base", [NamedTuple, tuples.NamedTuple])
def test_a_field_without_a_default_behind_one_that_has_one_is_refused(base):
    """Nobody could leave the first away."""
    with pytest.raises(TypeError):

        class Wrong(base):
            first: int = 1
            second: str


def test_making_one_loads_no_typing():
    """That is what makes it quick."""
    code = "import sys; from leftoff.model import tuples; print('typing' in sys.modules, 're' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["False", "False"]
