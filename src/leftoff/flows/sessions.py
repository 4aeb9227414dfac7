"""Sessions of all agents, newest first: read once, then only looked at again when the file has changed.

What a list shows of each transcript is kept in the user's state folder by path, size and time of change, so that ten
thousand sessions are listed by asking the file system alone. The prompts in it are redacted. Numbers shown with a list stay
bound to it until the next list is shown.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from leftoff.config.settings import RedactionSettings
from leftoff.errors import StorageError, TranscriptError
from leftoff.flows.agents import agents_here
from leftoff.flows.settings import settings_here
from leftoff.model.protocols import Agent
from leftoff.model.session import Parent, SessionEntry
from leftoff.model.wire import SCHEMAS
from leftoff.system import clock, files, paths

if TYPE_CHECKING:
    from leftoff.system.redaction import Redactor

_ENTRIES = "entries.json"
_NUMBERS = "last-list.json"


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


def entries(found: Iterable[Found]) -> Iterator[SessionEntry]:
    """What a list shows of each; a transcript that cannot be read hides no other. Stop early and the rest is not read."""
    cache = _Cache.opened()
    try:
        for each in found:
            entry = cache.entry(each)
            if entry is not None:
                yield entry
    finally:
        cache.save()


def sessions_of(project: Path, found: Iterable[Found]) -> Iterator[SessionEntry]:
    """Those that ran in the same project as the folder ``project``, newest first."""
    root = paths.project_of(project).root
    roots: dict[str, Path | None] = {}
    for entry in entries(found):
        if entry.project is None:
            continue
        if entry.project not in roots:
            roots[entry.project] = _root_of(entry.project)
        if roots[entry.project] == root:
            yield entry


def _root_of(folder: str) -> Path | None:
    """The project of a folder that a transcript names; None where no folder can be called so, or we may not look."""
    if not Path(folder).is_absolute():
        return None  # or it would be ours, whatever folder we are in
    try:
        return paths.project_of(Path(folder)).root
    except (OSError, ValueError):
        return None


def remember_numbers(shown: list[SessionEntry]) -> None:
    """Bind 1, 2, 3 … to the list as it was shown. Not being able to is no reason not to show it."""
    try:
        files.write_file(
            paths.state_folder() / _NUMBERS,
            orjson.dumps(
                {"schema": SCHEMAS["last_list"], "transcripts": [entry.transcript for entry in shown]}
            ),
        )
    except StorageError:
        return


def numbered(number: int) -> Path | None:
    """The transcript that had this number in the list last shown."""
    try:
        listed = orjson.loads((paths.state_folder() / _NUMBERS).read_bytes())["transcripts"]
        return Path(listed[number - 1]) if 1 <= number <= len(listed) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(slots=True)
class _Cache:
    """Entries by transcript. Losing it costs time, nothing else: whatever is wrong with the file, it starts empty."""

    known: dict[str, Any]
    changed: bool = False

    @classmethod
    def opened(cls) -> _Cache:
        try:
            data = orjson.loads((paths.state_folder() / _ENTRIES).read_bytes())
            known = data["entries"] if data["schema"] == SCHEMAS["session_entries"] else {}
        except (OSError, ValueError, KeyError, TypeError):
            known = {}
        return cls(known=known if isinstance(known, dict) else {})

    def entry(self, found: Found) -> SessionEntry | None:
        key = os.fsdecode(found.transcript)
        stamp = [found.modified_ns, found.size_bytes, found.agent.id]
        kept = self.known.get(key)
        if isinstance(kept, list) and kept[:3] == stamp and (known := _entry_of(kept)) is not None:
            return known
        try:
            entry = found.agent.entry(found.transcript)
        except TranscriptError:
            return None
        except Exception:  # noqa: BLE001 - an adapter may be a guest, and a file may be anything: one must not hide the rest
            return None
        if entry.first_prompt is not None:
            entry = dataclasses.replace(entry, first_prompt=_redacted(entry.first_prompt))
        self.known[key] = [*stamp, _kept_of(entry)]
        self.changed = True
        return entry

    def save(self) -> None:
        if not self.changed:
            return
        try:
            data = orjson.dumps({"schema": SCHEMAS["session_entries"], "entries": self.known})
            files.write_file(paths.state_folder() / _ENTRIES, data)
        except (StorageError, orjson.JSONEncodeError):
            return


def _redacted(text: str) -> str:
    """As the user's settings want it; the redactor is loaded when there is a new prompt to keep, which is rare."""
    redactor = _redactor(settings_here().settings.redaction)
    return text if redactor is None else redactor.redact(text)


@cache
def _redactor(wanted: RedactionSettings) -> Redactor | None:
    from leftoff.system.redaction import Redactor  # noqa: PLC0415

    return Redactor(allow=wanted.allow, deny=wanted.deny) if wanted.enabled else None


def _kept_of(entry: SessionEntry) -> dict[str, Any]:
    kept = dataclasses.asdict(entry)
    kept["modified_at"] = clock.rfc3339(entry.modified_at)
    return kept


def _entry_of(kept: list[Any]) -> SessionEntry | None:
    """The entry as it was kept; None where that is damaged."""
    try:
        fields = kept[3]
        parent = fields["parent"]
        moment = datetime.fromisoformat(fields["modified_at"])
        return SessionEntry(
            **(fields | {"modified_at": moment, "parent": Parent(**parent) if parent else None})
        )
    except (LookupError, TypeError, ValueError):
        return None
