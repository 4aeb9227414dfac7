"""``dataclass``, made in a quarter of the time: a command makes a hundred classes before it begins.

The usual one compiles six functions for each class. For the way that nearly all of ours are written (frozen, slotted, by keyword)
this one compiles ``__init__`` alone; the others are the same for all. What can be seen from outside is the same: fields,
``replace``, equality, hash, repr, copies, and what is said when something is wrong. A class that is written in another way, is made
from another one, or brings one of those functions itself is made the usual way.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As ``dataclasses.dataclass``."""
        if cls is None:
            return lambda decorated: dataclass(decorated, **options)
        return _made(cls) if _is_as_usual(cls, options) else dataclasses.dataclass(cls, **options)


_USUAL = {"frozen": True, "slots": True, "kw_only": True}
_OWN = {
    "__init__",
    "__eq__",
    "__hash__",
    "__repr__",
    "__setattr__",
    "__delattr__",
    "__getstate__",
    "__setstate__",
}


def _is_as_usual(cls: type, options: dict[str, bool]) -> bool:
    has_base = any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
    has_plain_fields = all(value.init for value in vars(cls).values() if isinstance(value, dataclasses.Field))
    return options == _USUAL and has_plain_fields and not has_base and not _OWN & vars(cls).keys()


def _made(cls: type) -> Any:
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=True, kw_only=True)
    made.__dataclass_params__.frozen = True  # who makes another class from this one is held to it
    made.__init__ = _init(made)
    compared = [field.name for field in dataclasses.fields(made) if field.compare]
    made.__leftoff_compared__ = staticmethod(attrgetter(*compared) if compared else lambda _: ())
    made.__eq__, made.__hash__, made.__repr__ = _equals, _hash, _repr
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    made.__getstate__, made.__setstate__ = _state, _set_state
    return made


def _init(cls: type) -> Any:
    """What a call of the class runs. Defaults are handed in under names, because anything may be one."""
    known: dict[str, Any] = {"_put": object.__setattr__, "_missing": dataclasses.MISSING}
    asked, done = [], []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            asked.append(f"{name}=_default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            asked.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            asked.append(name)
        done.append(f" _put(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        done.append(" self.__post_init__()")
    star = ", *, " if asked else ""
    exec(f"def __init__(self{star}{', '.join(asked)}):\n" + ("\n".join(done) or " pass"), known)
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _equals(self: Any, other: object) -> Any:
    compared = self.__leftoff_compared__
    return compared(self) == compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__leftoff_compared__(self))


def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:  # noqa: ARG001 - the language's own signature
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:  # noqa: ARG001 - the language's own signature
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
