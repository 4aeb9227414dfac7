"""``dataclass``, ``field`` and ``replace``, made in a twentieth of the time: a command makes a hundred classes before it begins.

The usual decorator compiles six functions for each class, and needs modules that take longer to load than a short command.
For the way that nearly all of ours are written (slots, no base) a class gets functions here that are the same for all; its
``__init__`` is compiled when the first one of it is made, and what the standard module wants to know of it is worked out when
it is asked. What can be seen from outside is the same: fields, ``replace``, equality, hash, repr, copies, and what is said when
something is wrong. A class that is written in another way, has a base, or brings one of those functions itself is made the
usual way.
"""

from __future__ import annotations

import sys
from operator import attrgetter


class _Missing:
    """What stands where nothing was given."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Missing()
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import Any
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As ``dataclasses.dataclass``."""
        if cls is None:
            return lambda decorated: dataclass(decorated, **options)
        parts = _parts(cls, options)
        return _usual(cls, options) if parts is None else _made(cls, options, parts)

    def field(
        *,
        default: Any = _MISSING,
        default_factory: Any = None,
        compare: bool = True,
        repr: bool = True,  # noqa: A002 - the standard's own name
    ) -> Any:
        """As ``dataclasses.field``, as far as it goes; whoever wants more of a field takes that one."""
        return _Field(default, default_factory, compare=compare, shown=repr)

    def replace(value: Any, /, **changes: Any) -> Any:
        """As ``dataclasses.replace``."""
        names = vars(type(value)).get("__leftoff_names__")
        if names is None:
            return _dataclasses().replace(value, **changes)
        return type(value)(**{name: getattr(value, name) for name in names} | changes)


_FLAGS = {"frozen", "slots", "kw_only"}
_OWN = {
    "__init__",
    "__eq__",
    "__hash__",
    "__repr__",
    "__setattr__",
    "__delattr__",
    "__getstate__",
    "__setstate__",
    "__slots__",
    "__match_args__",
}


class _Field:
    """What is said of a field behind its ``=``. ``make`` is called for a default that is to be fresh; None: it is not."""

    __slots__ = ("compare", "default", "make", "shown")

    def __init__(
        self,
        default: object,
        make: Callable[[], object] | None = None,
        *,
        compare: bool = True,
        shown: bool = True,
    ) -> None:
        self.default = default
        self.make = make
        self.compare = compare
        self.shown = shown

    @property
    def is_given(self) -> bool:
        """Whether it can be left out."""
        return self.make is not None or self.default is not _MISSING


class _Late:
    """An attribute of a class that is made when it is first asked for, and then stays."""

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, asked: type | None = None) -> Any:
        made = self._make(self._owner)
        setattr(self._owner, self._name, made)
        return made.__get__(instance, asked) if hasattr(made, "__get__") else made


def _parts(cls: type, options: dict[str, bool]) -> dict[str, _Field] | None:
    """The fields by name; None for a class that is made the usual way."""
    own = vars(cls)
    if (
        not options.get("slots")
        or options.keys() - _FLAGS
        or cls.__bases__ != (object,)
        or type(cls) is not type
    ):
        return None
    if not _OWN.isdisjoint(own):
        return None
    parts: dict[str, _Field] = {}
    by_keyword, was_given = bool(options.get("kw_only")), False
    for name, annotation in cls.__annotations__.items():
        words = annotation if isinstance(annotation, str) else str(annotation)
        if words.startswith(("ClassVar", "typing.ClassVar")):
            continue
        part = _part(own.get(name, _MISSING), by_keyword=by_keyword)
        if part is None or "InitVar" in words or "KW_ONLY" in words:
            return None
        if was_given and not part.is_given and not by_keyword:
            return None
        was_given = part.is_given
        parts[name] = part
    return parts


def _part(value: Any, *, by_keyword: bool) -> _Field | None:
    """What stands behind the ``=``; None where only the standard module understands it, or refuses it."""
    if isinstance(value, _Field):
        return None if type(value.default).__hash__ is None else value
    if (standard := sys.modules.get("dataclasses")) is None or not isinstance(value, standard.Field):
        return None if type(value).__hash__ is None else _Field(value)
    if (
        not value.init
        or value.hash is not None
        or value.metadata
        or value.kw_only not in {standard.MISSING, by_keyword}
    ):
        return None
    default = _MISSING if value.default is standard.MISSING else value.default
    make = None if value.default_factory is standard.MISSING else value.default_factory
    return _Field(default, make, compare=value.compare, shown=value.repr)


def _usual(cls: type, options: dict[str, bool]) -> Any:
    for name, value in [*vars(cls).items()]:
        if isinstance(value, _Field):
            setattr(cls, name, _standard(value))
    return _dataclasses().dataclass(cls, **options)


def _standard(part: _Field) -> Any:
    if part.make is not None:
        return _dataclasses().field(default_factory=part.make, compare=part.compare, repr=part.shown)
    default = _dataclasses().MISSING if part.default is _MISSING else part.default
    return _dataclasses().field(default=default, compare=part.compare, repr=part.shown)


def _made(cls: type, options: dict[str, bool], parts: dict[str, _Field]) -> Any:
    """The class once more, with slots: they cannot be given to one that there is already."""
    is_frozen, by_keyword = bool(options.get("frozen")), bool(options.get("kw_only"))
    names = tuple(parts)
    compared = [name for name, part in parts.items() if part.compare]
    own = {name: value for name, value in vars(cls).items() if name not in parts and name not in _EVERY_CLASS}
    own |= _FUNCTIONS | (_WHEN_FROZEN if is_frozen else {})
    own |= {
        "__slots__": names,
        "__match_args__": () if by_keyword else names,
        "__qualname__": cls.__qualname__,
        "__leftoff_names__": names,
        "__leftoff_compared__": staticmethod(attrgetter(*compared) if compared else _nothing),
        "__init__": _Late(lambda made: _init(made, parts, options)),
        "__dataclass_fields__": _Late(lambda made: _standard_view(made, parts, options).__dataclass_fields__),
        "__dataclass_params__": _Late(lambda made: _standard_view(made, parts, options).__dataclass_params__),
    }
    return type(cls.__name__, (), own)


def _init(cls: type, parts: dict[str, _Field], options: dict[str, bool]) -> Any:
    """What a call of the class runs. Defaults are handed in under names, because anything may be one."""
    known: dict[str, Any] = {"_put": object.__setattr__, "_missing": _MISSING}
    put = " _put(self, {0!r}, {1})" if options.get("frozen") else " self.{0} = {1}"
    asked, done = [], []
    for name, part in parts.items():
        value = name
        if part.make is not None:
            known[f"_make_{name}"] = part.make
            asked.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif part.default is not _MISSING:
            known[f"_default_{name}"] = part.default
            asked.append(f"{name}=_default_{name}")
        else:
            asked.append(name)
        done.append(put.format(name, value))
    if hasattr(cls, "__post_init__"):
        done.append(" self.__post_init__()")
    star = ["*"] if asked and options.get("kw_only") else []
    exec(f"def __init__({', '.join(['self', *star, *asked])}):\n" + ("\n".join(done) or " pass"), known)
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _standard_view(cls: type, parts: dict[str, _Field], options: dict[str, bool]) -> Any:
    """A class of the same fields, as the standard module wants them."""
    told = {
        name: _standard(part)
        for name, part in parts.items()
        if part.is_given or not (part.compare and part.shown)
    }
    annotations = {name: cls.__annotations__[name] for name in parts}
    bare = type(
        cls.__name__, (), told | {"__annotations__": annotations, "__module__": cls.__module__, "__doc__": ""}
    )
    seen: Any = _dataclasses().dataclass(
        init=False, repr=False, eq=False, kw_only=bool(options.get("kw_only"))
    )(bare)
    seen.__dataclass_params__.frozen = bool(
        options.get("frozen")
    )  # who makes another class from it is held to it
    return seen


def _dataclasses() -> Any:
    """The standard module, which takes longer to load than a short command has."""
    import dataclasses  # noqa: PLC0415

    return dataclasses


def _nothing(_: object) -> tuple[()]:
    return ()


def _equals(self: Any, other: object) -> Any:
    compared = self.__leftoff_compared__
    return compared(self) == compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__leftoff_compared__(self))


def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}" for field in _dataclasses().fields(self) if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:  # noqa: ARG001 - the language's own signature
    raise _dataclasses().FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:  # noqa: ARG001 - the language's own signature
    raise _dataclasses().FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in _dataclasses().fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(_dataclasses().fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_EVERY_CLASS = {"__dict__", "__weakref__"}  # made anew with the class
_FUNCTIONS: dict[str, Any] = {"__eq__": _equals, "__repr__": _repr, "__replace__": replace}
_WHEN_FROZEN = {
    "__hash__": _hash,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
