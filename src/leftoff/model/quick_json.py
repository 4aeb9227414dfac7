"""Reads JSON before orjson is loaded, which takes longer than a short command has: the same values, the same refusals.

The interpreter's own scanner reads the first megabytes; orjson reads what comes then, or everything where somebody has loaded it.
Whatever the two could see differently (half a character, a number beyond 64 bits or a double, NaN, deep nesting, what is no
JSON at all) is orjson's to decide.
"""

from __future__ import annotations

import sys
from math import isinf

TYPE_CHECKING = False  # as typing has it, which takes longer to load than this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

try:
    from _json import make_scanner
except ImportError:  # pragma: no cover - an interpreter without C
    from json.scanner import make_scanner

_SCANNED_BYTES = (
    2 * 1024 * 1024
)  # reading so much takes the scanner as long as loading orjson, and reading it with that
_LONGEST_INT = 18  # digits that are in 64 bits, whatever they are
_DEEPEST = 1024  # levels, as orjson has it
_BLANK = " \t\r\n"

_left_bytes = [_SCANNED_BYTES]
_found: list[Callable[[bytes | str], Any]] = []  # orjson.loads


def loads(raw: bytes | str) -> Any:
    """The value that ``raw`` is; ValueError when it is none."""
    if _found:
        return _found[0](raw)
    _left_bytes[0] -= len(raw)
    if _left_bytes[0] < 0 or _is_loaded():
        return _orjson()(raw)
    try:
        return _scanned(raw)
    except (
        ValueError,
        StopIteration,
        RecursionError,
        SystemError,
    ):  # the last: a scanner that finds no json.decoder
        return _orjson()(raw)


def _is_loaded() -> bool:
    return "orjson" in sys.modules


def _orjson() -> Callable[[bytes | str], Any]:
    from orjson import loads  # noqa: PLC0415

    _found.append(loads)
    return loads


def _scanned(raw: bytes | str) -> Any:
    raw = raw.encode() if isinstance(raw, str) else raw
    if b"\\ud" in raw or b"\\uD" in raw:
        raise ValueError("perhaps half a character")
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST:  # how deep the scanner goes depends on the interpreter
        raise ValueError("perhaps too deep")
    text = raw.decode().strip(_BLANK)
    value, end = _scan(text, 0)
    if end != len(text):
        raise ValueError("more than one value")
    return value


def _int(digits: str) -> int:
    if len(digits) > _LONGEST_INT:
        raise ValueError("perhaps no integer")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise ValueError("too large")
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


class _Strict:
    """What the scanner wants to be told."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_int = staticmethod(_int)
    parse_float = staticmethod(_float)
    parse_constant = staticmethod(_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - only the scanner in Python looks at it


_scan = make_scanner(_Strict)  # type: ignore[arg-type]
