"""The sessions by key. A page's address has a key and never a path, so no request can name a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic

from leftoff.core.session import MAX_PROMPT_CHARS, SessionEntry
from leftoff.core.session_ids import short_id
from leftoff.errors import NotFoundError
from leftoff.sessions.listing import TranscriptFile, entries, list_transcripts
from leftoff.sessions.status import ListedSession, list_sessions
from leftoff.workspace import SessionRef, Workspace

_TITLE_CHARS = 240


class Library:
    """All sessions of this machine. The catalogue remembers what was read; this remembers the answer while nothing changes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._files: dict[str, TranscriptFile] = {}  # by key
        self._by_path: dict[str, TranscriptFile] = {}
        self._stamps: list[tuple[int, int, str]] = []
        self._entries: Sequence[SessionEntry] = ()
        self._listed = 0.0

    def entries(self) -> Sequence[SessionEntry]:
        """Return what is known of all sessions without measuring them, newest first."""
        asked = monotonic()
        with self._lock:
            if asked < self._listed:
                return self._entries  # somebody else listed them while this waited
            files = list_transcripts()
            stamps = [(each.modified_ns, each.size_bytes, str(each.transcript)) for each in files]
            if stamps != self._stamps:
                self._by_path = {str(each.transcript): each for each in files}
                self._stamps, self._entries = stamps, [*entries(files)]
            self._listed = monotonic()
            return self._entries

    def measured(self, wanted: Sequence[SessionEntry]) -> Sequence[ListedSession]:
        """Return these sessions with their gauges."""
        files = [self._by_path[each.transcript] for each in wanted if each.transcript in self._by_path]
        return [*list_sessions(self._workspace, transcripts=files)]

    def find(self, key: str) -> SessionRef:
        """Return the session with that key; NotFoundError if there is none."""
        if key not in self._files or not self._files[key].transcript.is_file():
            self._files = {key_of(os.fsdecode(each.transcript)): each for each in list_transcripts()}
        if key not in self._files:
            raise NotFoundError("There is no such session. Its file may have been moved or deleted.")
        found = self._files[key]
        return SessionRef(agent=found.agent, transcript=found.transcript)


def read_entry(ref: SessionRef, redact: Callable[[str], str]) -> SessionEntry:
    """Return what is known of one session, its prompt redacted and then cut, as in the list."""
    entry = ref.agent.entry(ref.transcript)
    prompt = entry.first_prompt and redact(entry.first_prompt)[:MAX_PROMPT_CHARS]
    return entry._replace(first_prompt=prompt)


def title_of(entry: SessionEntry) -> str:
    """Return what a session is called: its first prompt on one line."""
    return " ".join((entry.first_prompt or short_id(entry.session_id))[:_TITLE_CHARS].split())


def key_of(transcript: str) -> str:
    """Return the part of an address that names a session."""
    return hashlib.sha256(os.fsencode(transcript)).hexdigest()[:12]
