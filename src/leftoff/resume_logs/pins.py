"""Pins: what the user fixed, carried word for word into every resume log of a project.

A project's pins are one file in the user's own data folder, so that a cloned repository can bring none. One JSON line
each, appended under a lock: every pin has a line, a byte span and a hash that a source can point to. Broken lines are
passed over. All pins together take at most 2,000 tokens, because they stand in every log and every restoration.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from leftoff.errors import NotFoundError, NothingToDoError, StorageError, UsageError
from leftoff.model.records import Place
from leftoff.model.tokens import estimate_tokens
from leftoff.model.wire import SCHEMAS, JsonValue
from leftoff.system import clock, files, locks, paths, reasons

MOST_TOKENS = 2000  # of all pins of a project together
_ALLOWED_CONTROLS = "\n\t"


class Pin(NamedTuple):
    """One pin: its words, when they were pinned (None where the file does not say), and where that stands."""

    text: str
    at: datetime | None
    place: Place
    sha256: str  # of the line's bytes, as a source names them


def file_of(project: paths.Project) -> Path:
    """The file that holds a project's pins; all worktrees of a repository share it."""
    key = hashlib.sha256(os.fsencode(project.folder)).hexdigest()[:24]
    return paths.data_folder() / "pins" / f"{key}.jsonl"


def read(path: Path) -> tuple[Pin, ...]:
    """The pins in their order; none where there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path) from error
    pins = []
    start = 0
    for line_idx, line in enumerate(content.splitlines(keepends=True)):
        place = Place(str(path), line_idx, start, start + len(line))
        start += len(line)
        if (pin := _pin(line, place)) is not None:
            pins.append(pin)
    return tuple(pins)


def add(path: Path, text: str, at: datetime) -> tuple[Pin, ...]:
    """Fix ``text`` and give all pins, the new one last; refused where it is none, is there already, or is too much."""
    wanted = checked(text)
    files.make_folder(path.parent)
    with locks.held(_lock(path)):
        _require_room(read(path), wanted)
        line = {"schema": SCHEMAS["pin"], "text": wanted, "at": clock.rfc3339(at)}
        files.append_lines(path, json.dumps(line, ensure_ascii=False).encode() + b"\n", sync=True)
        return read(path)


def remove(path: Path, number: int) -> tuple[Pin, tuple[Pin, ...]]:
    """Take out pin ``number`` (1-based); that pin, and those that are left."""
    if not path.parent.is_dir():
        raise _no_such_pin(number, 0)
    with locks.held(_lock(path)):
        pins = read(path)
        if not 1 <= number <= len(pins):
            raise _no_such_pin(number, len(pins))
        gone = pins[number - 1]
        files.write_file(path, _blanked(path.read_bytes(), gone.place))
        return gone, read(path)


def checked(text: str) -> str:
    """``text`` as it may be pinned; UsageError says what is wrong with any other."""
    stripped = text.strip()
    if not stripped:
        raise UsageError('There is nothing to pin. Try: leftoff pin "never push to main"')
    for letter in stripped:
        if unicodedata.category(letter) in {"Cc", "Cs"} and letter not in _ALLOWED_CONTROLS:
            raise UsageError(
                f"The text holds a control character (U+{ord(letter):04X}), which nobody could read. "
                "Type it without, and pin it again."
            )
    return stripped


def _require_room(pins: tuple[Pin, ...], text: str) -> None:
    for number, pin in enumerate(pins, start=1):
        if pin.text == text:
            raise NothingToDoError(
                f"This is pinned already, as number {number}. leftoff pins lists them all."
            )
    used, needed = sum(estimate_tokens(pin.text) for pin in pins), estimate_tokens(text)
    if used + needed <= MOST_TOKENS:
        return
    make_room = (
        "leftoff pins lists them, leftoff unpin N takes one out." if pins else "Pin what matters most."
    )
    raise UsageError(
        f"This takes {needed:,} tokens, and the pins of this project {used:,} of the {MOST_TOKENS:,} they may take: "
        f"nothing was pinned. {make_room}"
    )


def _pin(line: bytes, place: Place) -> Pin | None:
    """The pin that a line holds; None where it is broken, or of a newer form."""
    try:
        value: JsonValue = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"schema": int(schema), "text": str(text), **rest} if schema <= SCHEMAS["pin"] and text.strip():
            at = rest.get("at")
            moment = clock.from_rfc3339(at) if isinstance(at, str) else None
            return Pin(text=text, at=moment, place=place, sha256=hashlib.sha256(line).hexdigest())
        case _:
            return None


def _blanked(content: bytes, place: Place) -> bytes:
    """The line's bytes become blanks: what sources say of the places of the other pins stays true."""
    blank = b" " * (place.end - place.start - 1) + b"\n"
    return content[: place.start] + blank + content[place.end :]


def _lock(path: Path) -> Path:
    """A lock of our own around look and append; appending takes the folder's inside it."""
    return path.with_suffix(".lock")


def _no_such_pin(number: int, count: int) -> NotFoundError:
    there = f"There are {count}" if count else "There are none"
    return NotFoundError(f"There is no pin {number} in this project. {there}; leftoff pins lists them.")
