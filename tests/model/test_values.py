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

import orjson
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
    parameters = inspect.signature(point).parameters
    assert [*parameters] == ["x", "y", "tags", "note"]
    assert repr(parameters["tags"].default) == "<factory>"


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


def _position(made_by: Any, **options: bool) -> Any:
    class Position:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)

    return made_by(slots=True, **options)(Position)


@pytest.mark.parametrize("made_by", [dataclasses.dataclass, values.dataclass], ids=["usual", "quick"])
def test_given_in_order_and_frozen(made_by: Any) -> None:
    """As the value types of the library are."""
    point = _position(made_by, frozen=True)
    assert hasattr(point, "__leftoff_compared__") == (made_by is values.dataclass)
    assert (point(1, 5), point(1, y=5)) == (point(x=1, y=5), point(1, 5))
    assert point.__match_args__ == ("x", "y", "tags")
    match point(7, 8):
        case point(x, y):
            assert (x, y) == (7, 8)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        point()
    with pytest.raises(FrozenInstanceError):
        point(1).x = 2
    assert copy.copy(point(1)) == point(1)


@pytest.mark.parametrize("made_by", [dataclasses.dataclass, values.dataclass], ids=["usual", "quick"])
@pytest.mark.parametrize("options", [{}, {"kw_only": True}], ids=["in order", "by keyword"])
def test_one_that_can_be_changed(made_by: Any, options: dict[str, bool]) -> None:
    """Fields can be set and deleted, nothing can be added, and it is no key."""
    point = _position(made_by, **options)
    assert hasattr(point, "__leftoff_compared__") == (made_by is values.dataclass)
    one = point(x=1)
    one.x = 4
    one.tags.append("a")
    assert one == point(x=4, tags=["a"])
    assert point(x=1).tags == []
    with pytest.raises(AttributeError):
        one.z = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert copy.deepcopy(one) == one
    assert fields(point)[0].kw_only == bool(options)
    del one.y
    assert not hasattr(one, "y")


def test_a_default_cannot_stand_before_what_must_be_given() -> None:
    """As the language has it, and only in order."""
    broken = {"__annotations__": {"x": "int", "y": "int"}, "x": 1}
    with pytest.raises(TypeError, match="non-default argument 'y' follows default argument"):
        values.dataclass(frozen=True, slots=True)(type("A", (), broken))
    made = values.dataclass(frozen=True, slots=True, kw_only=True)(type("A", (), broken))
    assert (made(y=2).x, made(y=2).y) == (1, 2)


def test_a_default_that_all_would_share_is_refused() -> None:
    """As the language has it."""
    shared = {"__annotations__": {"x": "list[int]"}, "x": []}
    with pytest.raises(ValueError, match="mutable default"):
        values.dataclass(frozen=True, slots=True, kw_only=True)(type("A", (), shared))


def test_fields_and_copies_without_the_standard_module() -> None:
    """``field`` and ``replace`` do the same; of a class that is made the usual way too."""

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Made:
        x: int
        tags: list[str] = values.field(default_factory=list)
        note: str = values.field(default="", compare=False, repr=False)
        owed: int = values.field(compare=False)

    @values.dataclass
    class Loose:
        x: int = 0
        tags: list[str] = values.field(default_factory=list)
        note: str = values.field(default="", repr=False)

    one = Made(x=1, owed=3)
    assert values.replace(one, x=2) == Made(x=2, owed=9)
    assert (values.replace(one, note="n").note, values.replace(one).owed) == ("n", 3)
    assert repr(one).endswith(".Made(x=1, tags=[], owed=3)")
    assert [(each.name, each.compare, each.repr) for each in fields(Made)] == [
        ("x", True, True),
        ("tags", True, True),
        ("note", False, False),
        ("owed", False, True),
    ]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        values.replace(one, z=1)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'owed'"):
        Made(x=1)  # type: ignore[call-arg] - what is asked here
    assert one.__replace__(x=2) == Made(x=2, owed=9)  # what copy.replace calls from Python 3.13 on
    assert values.replace(Loose(), x=3) == Loose(3)
    assert repr(Loose()).endswith(".Loose(x=0, tags=[])")


def test_a_class_made_from_one_calls_it() -> None:
    """Whether or not one of it was made before."""

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Fresh:
        x: int
        note: str = ""

    class Derived(Fresh):
        def __init__(self, x: int) -> None:
            super().__init__(x=x, note="derived")

    assert (Derived(3).x, Derived(4).note) == (3, "derived")
    assert Fresh(x=1).note == ""


def test_seen_by_those_who_do_not_ask_the_standard_module() -> None:
    """orjson looks at the class itself."""
    assert orjson.loads(orjson.dumps(Quick(x=1))) == {"x": 1, "y": 2, "tags": [], "note": ""}


def test_compiled_when_the_first_is_made_and_without_the_standard_module() -> None:
    """The measure of it, without a clock: what a class makes the interpreter compile and load."""
    program = """
import builtins, sys
before = {*sys.modules}
from leftoff.model.values import dataclass, replace
counted, real = [], builtins.exec
builtins.exec = lambda *given: (counted.append(1), real(*given))[1]
A = dataclass(frozen=True, slots=True, kw_only=True)(type("A", (), {"__annotations__": {"x": "int"}, "x": 1}))
print(len(counted))
made = [A(), A(x=2), replace(A(), x=3)]
print(len(counted), {A(): 1}[A()], made[0] == made[1], made[2].x)
print(*sorted({"dataclasses", "inspect", "typing", "re"} & ({*sys.modules} - before)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["0", "1 1 False 3", ""]
