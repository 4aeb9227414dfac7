"""What the user fixed: pin it, list it, take it out. Credentials are taken out before anything is written."""

from __future__ import annotations

from pathlib import Path

from leftoff.flows.settings import settings_here
from leftoff.model.tokens import estimate_tokens
from leftoff.model.values import dataclass
from leftoff.resume_logs import pins
from leftoff.resume_logs.pins import Pin
from leftoff.system import clock, paths
from leftoff.system.redaction import Redaction, Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """The new pin as it is kept; ``redacted`` names the kinds of credentials that were taken out of it."""

    number: int
    text: str
    redacted: tuple[str, ...]
    used_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpinned:
    """What was taken out, and how many pins are left."""

    text: str
    left: int


def pins_of(working_folder: Path) -> tuple[Pin, ...]:
    """The pins of the project that the folder belongs to."""
    return pins.read(pins.file_of(paths.project_of(working_folder)))


def pin(text: str, working_folder: Path) -> Pinned:
    """Fix ``text`` for the project, without its credentials."""
    redaction = _redacted(pins.checked(text), working_folder)
    kept = pins.add(pins.file_of(paths.project_of(working_folder)), redaction.text, clock.now())
    return Pinned(
        number=len(kept),
        text=kept[-1].text,
        redacted=tuple(dict.fromkeys(finding.kind for finding in redaction.findings)),
        used_tokens=sum(estimate_tokens(each.text) for each in kept),
    )


def unpin(number: int, working_folder: Path) -> Unpinned:
    """Take pin ``number`` out."""
    gone, left = pins.remove(pins.file_of(paths.project_of(working_folder)), number)
    return Unpinned(text=gone.text, left=len(left))


def _redacted(text: str, working_folder: Path) -> Redaction:
    wanted = settings_here(working_folder).settings.redaction
    if not wanted.enabled:
        return Redaction(text=text, findings=())
    return Redactor(allow=wanted.allow, deny=wanted.deny).find(text)
