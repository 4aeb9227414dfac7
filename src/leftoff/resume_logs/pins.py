"""Pins: texts that the user fixed, carried word for word into every resume log of a project.

The pins of a project are one file in the user's data folder, so that a cloned repository can bring none. Each is a JSON line,
appended under a lock, with a byte span and a hash that a source can name. Credentials are removed before anything is written. All
pins together take at most 2,000 tokens, because they are in every log and every restoration. A removed pin stays in the file with
the time of its removal, because a report on an earlier day counts it.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from leftoff.core import quantities
from leftoff.core.budget import estimate_tokens
from leftoff.core.records import Place
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue
from leftoff.errors import NotFoundError, NothingToDoError, UsageError
from leftoff.platform import clock, files, locks, paths
from leftoff.platform.redaction import Redaction
from leftoff.workspace import Workspace

FOLDER = "pins"  # in the user's data folder
MAX_TOKENS = 2000  # of all pins of a project together
_ALLOWED_CONTROLS = "\n\t"


class Pin(NamedTuple):
    """A pin: its text, when it was pinned (None where the file does not say), and its line in the file."""

    text: str
    at: datetime | None
    place: Place
    sha256: str  # of the line's bytes, as a source names them
    removed_at: datetime | None = None  # None: it is in force


def file_of(project: paths.Project) -> Path:
    """Return the file of a project's pins; all worktrees of a repository share it."""
    key = hashlib.sha256(os.fsencode(project.folder)).hexdigest()[:24]
    return paths.data_folder() / FOLDER / f"{key}.jsonl"


def read(path: Path, at: datetime | None = None) -> tuple[Pin, ...]:
    """Return the pins in force in their order: now, or at an earlier moment; none without a file."""
    if at is None:
        return tuple(pin for pin in _read_all(path) if pin.removed_at is None)
    return tuple(
        pin
        for pin in _read_all(path)
        if pin.at is not None and pin.at <= at and (pin.removed_at is None or at < pin.removed_at)
    )


def _read_all(path: Path) -> tuple[Pin, ...]:
    """Return all pins, removed ones too. Broken lines are skipped."""
    content = files.read_if_exists(path, files.MAX_DOCUMENT_BYTES) or b""
    pins = []
    start = 0
    for line_idx, line in enumerate(content.splitlines(keepends=True)):
        place = Place(str(path), line_idx, start, start + len(line))
        start += len(line)
        if (pin := _parse_pin(line, place)) is not None:
            pins.append(pin)
    return tuple(pins)


def add(path: Path, text: str, at: datetime) -> tuple[Pin, ...]:
    """Add a pin and return all pins, the new one last; a text that is empty, pinned already or too long is refused."""
    checked = check_text(text)
    files.make_folder(path.parent)
    with locks.hold(_lock_file(path)):
        _require_room(read(path), checked)
        files.append_lines(path, _to_line(checked, at), sync=True)
        return read(path)


def remove(path: Path, number: int, at: datetime) -> tuple[Pin, tuple[Pin, ...]]:
    """Remove pin ``number`` (1-based); return it and those that are left."""
    if not path.parent.is_dir():
        raise _no_such_pin(number, 0)
    with locks.hold(_lock_file(path)):
        pins = read(path)
        if not 1 <= number <= len(pins):
            raise _no_such_pin(number, len(pins))
        removed = pins[number - 1]
        content = _blank_line(files.read_file(path), removed.place)
        files.write_file(path, content + _to_line(removed.text, removed.at, removed_at=at))
        return removed, read(path)


def check_text(text: str) -> str:
    """Return ``text`` as it can be pinned; UsageError says what is wrong with it."""
    stripped = text.strip()
    if not stripped:
        raise UsageError('There is nothing to pin. Try: leftoff pin "never push to main"')
    for letter in stripped:
        if unicodedata.category(letter) in {"Cc", "Cs"} and letter not in _ALLOWED_CONTROLS:
            raise UsageError(
                f"The text holds a control character (U+{ord(letter):04X}), which cannot be read. "
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
    if used + needed <= MAX_TOKENS:
        return
    make_room = (
        "leftoff pins lists them, leftoff unpin N takes one out." if pins else "Pin what matters most."
    )
    raise UsageError(
        f"This takes {needed:,} tokens, and the pins of this project {used:,} of the {MAX_TOKENS:,} they may take: "
        f"nothing was pinned. {make_room}"
    )


def _parse_pin(line: bytes, place: Place) -> Pin | None:
    """Return the pin of a line; None where the line is broken or of a newer version."""
    try:
        value: JsonValue = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"schema": int(schema), "text": str(text), **rest} if schema <= SCHEMAS["pin"] and text.strip():
            return Pin(
                text=text,
                at=_moment(rest.get("at")),
                place=place,
                sha256=hashlib.sha256(line).hexdigest(),
                removed_at=_moment(rest.get("removed_at")),
            )
        case _:
            return None


def _moment(value: object) -> datetime | None:
    return clock.parse_rfc3339(value) if isinstance(value, str) else None


def _to_line(text: str, at: datetime | None, removed_at: datetime | None = None) -> bytes:
    line: JsonObject = {"schema": SCHEMAS["pin"], "text": text}
    for key, moment in (("at", at), ("removed_at", removed_at)):
        if moment is not None:
            line[key] = clock.format_rfc3339(moment)
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _blank_line(content: bytes, place: Place) -> bytes:
    """Replace a line with blanks, so that the places of the other pins, which sources name, stay the same."""
    blank = b" " * (place.end - place.start - 1) + b"\n"
    return content[: place.start] + blank + content[place.end :]


def _lock_file(path: Path) -> Path:
    """Return the lock around reading and appending; appending takes the folder's lock inside it."""
    return path.with_suffix(".lock")


def _no_such_pin(number: int, count: int) -> NotFoundError:
    there = f"It has {quantities.count(count, 'pin')}: leftoff pins lists them." if count else "It has none."
    return NotFoundError(f"This project has no pin {number}. {there}")


class PinResult(NamedTuple):
    """The new pin; ``redacted`` names the kinds of credentials that were removed from it."""

    number: int
    text: str
    redacted: tuple[str, ...]
    used_tokens: int


class UnpinResult(NamedTuple):
    """The removed pin, and how many are left."""

    text: str
    left: int


def list_pins(workspace: Workspace) -> tuple[Pin, ...]:
    """Return the pins of the project."""
    return read(file_of(workspace.project))


def pin(text: str, workspace: Workspace) -> PinResult:
    """Pin ``text`` for the project, without its credentials."""
    text = check_text(text)
    redaction = (
        Redaction(text=text, findings=()) if workspace.redactor is None else workspace.redactor.find(text)
    )
    pins = add(file_of(workspace.project), redaction.text, clock.now())
    return PinResult(
        number=len(pins),
        text=pins[-1].text,
        redacted=tuple(dict.fromkeys(finding.kind for finding in redaction.findings)),
        used_tokens=sum(estimate_tokens(each.text) for each in pins),
    )


def unpin(number: int, workspace: Workspace) -> UnpinResult:
    """Remove pin ``number`` of the project."""
    removed, left = remove(file_of(workspace.project), number, clock.now())
    return UnpinResult(text=removed.text, left=len(left))
