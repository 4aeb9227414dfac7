"""Sessions of all agents, newest first: read once, then only looked at again when the file has changed.

What a list shows of each transcript is kept in the library's catalogue by path, size and time of change, so that a hundred
thousand sessions are listed by asking the file system alone. The prompts in it are redacted. Numbers shown with a list stay
bound to it until the next list is shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from leftoff.config.settings import RedactionSettings
from leftoff.errors import TranscriptError
from leftoff.flows import numbers
from leftoff.flows.agents import agents_here
from leftoff.flows.library_folder import library_folder
from leftoff.flows.numbers import numbered as numbered
from leftoff.flows.settings import settings_here
from leftoff.model.session import LONGEST_PROMPT, SessionEntry
from leftoff.model.values import dataclass, replace
from leftoff.system import paths

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from leftoff.library.catalogue import Stamp
    from leftoff.model.protocols import Agent
    from leftoff.system.redaction import Redactor

_FIRST_LOOK = 32  # entries looked up together; who wants the newest alone asks for no more
_LOOK = 500
_MANY = 200  # transcripts; reading so many takes as long as anybody likes to wait

Wanted = Callable[[str | None], bool]  # of a session's project, as its transcript names it
Reader = Callable[[Iterable["Found"], Wanted], Iterator[SessionEntry]]


def _any(_project: str | None) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A transcript before anything of it was read."""

    agent: Agent
    transcript: Path
    modified_ns: int
    size_bytes: int


def found_sessions(agents: Iterable[Agent] | None = None) -> list[Found]:
    """Every transcript of every agent, newest first; those that vanish while we look are left out."""
    found = []
    for agent in agents_here() if agents is None else agents:
        for transcript in agent.transcripts():
            try:
                stat = transcript.stat()
            except OSError:
                continue
            found.append(
                Found(
                    agent=agent, transcript=transcript, modified_ns=stat.st_mtime_ns, size_bytes=stat.st_size
                )
            )
    return sorted(found, key=lambda each: (-each.modified_ns, str(each.transcript)))


def entries(found: Iterable[Found], is_wanted: Wanted = _any) -> Iterator[SessionEntry]:
    """What a list shows of each whose project is wanted; a transcript that cannot be read hides no other.

    Stop early and the rest is not read.
    """
    known = _Known()
    try:
        yield from known.all_of(found, is_wanted)
    finally:
        known.keep()


def glimpsed(found: Iterable[Found], is_wanted: Wanted = _any) -> Iterator[SessionEntry]:
    """The same for who only chooses one: no library is made for it, unless so many were read that nobody waits for that twice."""
    known = _Known()
    try:
        yield from known.all_of(found, is_wanted)
    finally:
        known.keep_where_it_is_worth_it()


def looked_at_alone(found: Iterable[Found], is_wanted: Wanted = _any) -> Iterator[SessionEntry]:
    """The same from the transcripts alone and without their prompts: a few are looked at sooner than the library is opened."""
    for each in found:
        entry = _entry(each)
        if entry is not None and is_wanted(entry.project):
            yield replace(entry, first_prompt=None)


def sessions_of(project: Path, found: Iterable[Found], read: Reader = entries) -> Iterator[SessionEntry]:
    """Those that ran in the same project as the folder ``project``, newest first."""
    root = paths.root_of(project)
    roots: dict[str, Path | None] = {}

    def is_of_it(folder: str | None) -> bool:
        if folder is None:
            return False
        if folder not in roots:
            roots[folder] = _root_of(folder)
        return roots[folder] == root

    return read(found, is_of_it)


def _root_of(folder: str) -> Path | None:
    """The project of a folder that a transcript names; None where no folder can be called so, or we may not look."""
    if not Path(folder).is_absolute():
        return None  # or it would be ours, whatever folder we are in
    try:
        return paths.root_of(Path(folder))
    except (OSError, ValueError):
        return None


def remember_numbers(shown: list[SessionEntry]) -> None:
    """Bind 1, 2, 3 … to the list as it was shown. Not being able to is no reason not to show it."""
    numbers.remember([entry.transcript for entry in shown])


class _Known:
    """Entries by transcript, from the catalogue where they hold, from the transcript where they do not."""

    def __init__(self) -> None:
        from leftoff.library.catalogue import Catalogue, Stamp  # noqa: PLC0415 - who names a file needs no database

        self._stamp = Stamp
        self._catalogue = Catalogue(library_folder())
        self._new: list[tuple[Stamp, SessionEntry]] = []

    def all_of(self, found: Iterable[Found], is_wanted: Wanted) -> Iterator[SessionEntry]:
        """Looked up some at a time."""
        rest, size = iter(found), _FIRST_LOOK
        while together := [*islice(rest, size)]:
            yield from self._entries(together, is_wanted)
            size = _LOOK

    def _entries(self, found: list[Found], is_wanted: Wanted) -> Iterator[SessionEntry]:
        """In the order given."""
        stamps = {
            os.fsdecode(each.transcript): self._stamp(each.modified_ns, each.size_bytes, each.agent.id)
            for each in found
        }
        known = self._catalogue.known(stamps, is_wanted)
        for each in found:
            path = os.fsdecode(each.transcript)
            entry = known[path] if path in known else self._new_entry(each, stamps[path])
            if entry is not None and is_wanted(entry.project):
                yield entry

    def _new_entry(self, found: Found, stamp: Stamp) -> SessionEntry | None:
        entry = _looked_at(found)
        if entry is not None:
            self._new.append((stamp, entry))
        return entry

    def keep(self) -> None:
        """Remember what is new."""
        self._catalogue.close()
        self._catalogue.keep(self._new)

    def keep_where_it_is_worth_it(self) -> None:
        """Remember it, unless there is little of it and nothing yet to remember it in."""
        if len(self._new) > _MANY or os.path.lexists(library_folder()):
            self.keep()
        else:
            self._catalogue.close()


def _looked_at(found: Found) -> SessionEntry | None:
    """The entry from the transcript itself, its prompt redacted; None where it cannot be read."""
    entry = _entry(found)
    if entry is None or entry.first_prompt is None:
        return entry
    return replace(entry, first_prompt=_redacted(entry.first_prompt)[:LONGEST_PROMPT])


def _entry(found: Found) -> SessionEntry | None:
    try:
        return found.agent.entry(found.transcript)
    except TranscriptError:
        return None
    except Exception:  # noqa: BLE001 - an adapter may be a guest, and a file may be anything: one must not hide the rest
        return None


def _redacted(text: str) -> str:
    """As the user's settings want it; the redactor is loaded when there is a new prompt to keep, which is rare."""
    redactor = _redactor(settings_here().settings.redaction)
    return text if redactor is None else redactor.redact(text)


@cache
def _redactor(wanted: RedactionSettings) -> Redactor | None:
    from leftoff.system.redaction import Redactor  # noqa: PLC0415

    return Redactor(allow=wanted.allow, deny=wanted.deny) if wanted.enabled else None
