"""Classes made quickly behave as the usual ones: every fact here is asked of both."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any, ClassVar

import pytest

from leftoff.model import values


class _Plain:
    """A point."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


class _Empty:
    """Nothing in it."""


class _One:
    only: object


def _twin(cls: type, made_by: Any) -> Any:
    return made_by(frozen=True, slots=True, kw_only=True)(
        type(cls.__name__, (), dict(vars(cls)) | {"__qualname__": cls.__name__})
    )


USUAL = _twin(_Plain, dataclasses.dataclass)


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    """The same as ``_Plain``; at the module's top, so that it can be pickled."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 2
    tags: tuple[str, ...] = ()
    note: str = field(default="", compare=False, repr=False)


QUICK = _twin(_Plain, values.dataclass)


@pytest.fixture(params=[USUAL, QUICK], ids=["usual", "quick"])
def point(request: pytest.FixtureRequest) -> Any:
    """The class, made in both ways."""
    return request.param


def test_only_the_quick_one_is_made_quickly() -> None:
    """Else this file would compare a thing with itself."""
    assert hasattr(QUICK, "__leftoff_compared__")
    assert not hasattr(USUAL, "__leftoff_compared__")


def test_fields_and_defaults(point: Any) -> None:
    """Names in their order, class variables left out, defaults filled in, a fresh list for each."""
    one, other = point(x=1), point(x=1)
    assert [each.name for each in fields(point)] == ["x", "y", "tags", "note"]
    assert (one.x, one.y, one.tags, one.note, one.kind) == (1, 2, [], "", "point")
    assert one.tags is not other.tags
    assert point(x=1, y=5, tags=["a"], note="n").tags == ["a"]


def test_given_by_keyword_alone(point: Any) -> None:
    """And what is missing or unknown is said by name."""
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        point(1)
    with pytest.raises(TypeError, match=r"_Plain.__init__\(\) missing 1 required keyword-only argument: 'x'"):
        point()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        point(x=1, z=3)
    assert [*inspect.signature(point).parameters] == ["x", "y", "tags", "note"]


def test_checked_when_made(point: Any) -> None:
    """``__post_init__`` runs, in copies too."""
    with pytest.raises(ValueError, match="negative"):
        point(x=-1)
    with pytest.raises(ValueError, match="negative"):
        replace(point(x=1), x=-1)


def test_equal_by_what_is_compared(point: Any) -> None:
    """Of the same class and the same values; what is not compared does not count."""
    assert point(x=1, note="a") == point(x=1, note="b")
    assert point(x=1) != point(x=2)
    assert point(x=1) != (1, 2, [])
    assert QUICK(x=1) != USUAL(x=1)


def test_hash_by_what_is_compared() -> None:
    """So that equal ones are one key."""
    assert len({Quick(x=1, note="a"), Quick(x=1, note="b"), Quick(x=2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(QUICK(x=1))


def test_shown_with_its_values(point: Any) -> None:
    """Name and fields, without those that are not to be shown."""
    assert repr(point(x=1, note="hidden")) == "_Plain(x=1, y=2, tags=[])"


def test_frozen_and_slotted(point: Any) -> None:
    """Nothing is set, deleted or added."""
    one = point(x=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x
    assert not hasattr(one, "__dict__")
    assert point.__slots__ == ("x", "y", "tags", "note")


def test_copied_and_pickled(point: Any) -> None:
    """The copy is equal, and a deep one shares nothing."""
    one = point(x=1, tags=["a"], note="n")
    deep = copy.deepcopy(one)
    assert copy.copy(one) == deep == one
    assert deep.tags is not one.tags
    assert deep.note == "n"
    assert pickle.loads(pickle.dumps(Quick(x=3, note="n"))).note == "n"


def test_as_dict_and_match(point: Any) -> None:
    """What the standard functions see."""
    assert dataclasses.asdict(point(x=1)) == {"x": 1, "y": 2, "tags": [], "note": ""}
    match point(x=7):
        case QUICK(x=found) | USUAL(x=found):
            assert found == 7
        case _:
            pytest.fail("not matched")
    assert point.__match_args__ == ()


@pytest.mark.parametrize("made_by", [dataclasses.dataclass, values.dataclass], ids=["usual", "quick"])
def test_no_field_and_one(made_by: Any) -> None:
    """The smallest ones."""
    empty, one = _twin(_Empty, made_by), _twin(_One, made_by)
    assert empty() == empty()
    assert hash(empty()) == hash(empty())
    assert repr(empty()) == "_Empty()"
    assert one(only=1) == one(only=1)
    assert one(only=1) != one(only=2)


def test_another_way_is_the_usual_way() -> None:
    """Other options, a base that is one, a function of its own, a field that is not given: as ever."""

    @values.dataclass
    class Loose:
        x: int = 0

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Derived(Quick):
        z: int = 3

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "mine"

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Counted:
        x: int
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.x)

    loose = Loose()
    loose.x = 4
    assert loose == Loose(4)
    assert Derived(x=1) == Derived(x=1, z=3)
    assert repr(Own(x=1)) == "mine"
    assert Counted(x=2).twice == 4


def test_not_made_looser_from_a_frozen_one() -> None:
    """As the language has it."""
    with pytest.raises(TypeError, match="non-frozen"):

        @dataclasses.dataclass
        class Derived(Quick):  # type: ignore[misc] - what is asked here
            z: int = 3


def test_one_function_is_compiled_for_a_class() -> None:
    """The measure of it, without a clock: how often a class makes the interpreter compile."""
    program = """
import builtins, dataclasses, sys
from leftoff.model import values
counted, real = [], builtins.exec
builtins.exec = lambda *given: (counted.append(1), real(*given))[1]
for made_by in (dataclasses.dataclass, values.dataclass):
    counted.clear()
    made_by(frozen=True, slots=True, kw_only=True)(type("A", (), {"__annotations__": {"x": "int"}, "x": 1}))
    print(len(counted))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    usual, quick = map(int, done.stdout.split())
    assert quick == 1
    assert usual >= 1
