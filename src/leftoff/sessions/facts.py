"""Extract what happened in a session, continuing from where the last extraction ended: only new bytes are read.

The state is kept in the user's state folder by agent and session id. If it is missing, broken, or of another file, the
transcript is read from the beginning; nothing else is lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import orjson

from leftoff.core.records import Place
from leftoff.core.session import Session
from leftoff.core.wire import encode_json
from leftoff.errors import InvalidIdError, LeftoffError
from leftoff.extraction import State, step
from leftoff.platform import clock, files, paths
from leftoff.workspace import SessionRef, Workspace


def extract_facts(ref: SessionRef, workspace: Workspace) -> State:
    """Return what happened in the session up to its last record, and keep it for the next time."""
    state_file = _state_file(ref.session)
    known = _load(state_file, ref.transcript)
    if known is None or known.after is None:
        extracted = step(State(), ref.session.records, ref.agent)
    else:
        extracted = step(known, ref.agent.read(ref.transcript, known.after), ref.agent)
    state = _redact(extracted, workspace)
    if known is None or state.after != known.after:
        files.make_folder(state_file.parent)
        files.write_file(state_file, encode_json(state.to_dict()), sync=False)  # if lost, all is read again
    return state


def extract_facts_once(ref: SessionRef, workspace: Workspace) -> State:
    """Do the same from the beginning and keep nothing: for a file that is not the agent's own, or a dry run."""
    return _redact(step(State(), ref.session.records, ref.agent), workspace)


def _redact(state: State, workspace: Workspace) -> State:
    """Remove credentials now: they are recognised by the text around them, which a resume log no longer has.

    Redaction is set by the user alone, so the workspace of any folder gives the same result.
    """
    redactor = workspace.redactor
    return state if redactor is None else State.from_dict(redactor.redact_value(state.to_dict()))


def _state_file(session: Session) -> Path:
    """Ids come from transcripts: one that cannot be a file name is replaced by its hash."""
    try:
        name = clock.check_id(session.session_id)
    except InvalidIdError:
        name = hashlib.sha256(session.session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return paths.state_folder() / "extractions" / f"{session.agent}-{name}.json"


def _load(state_file: Path, transcript: Path) -> State | None:
    """Return the saved state if the transcript is still the one it was extracted from."""
    try:
        state = State.from_dict(orjson.loads(state_file.read_bytes()), where=str(state_file))
        if state.after is None or state.after.transcript != str(transcript):
            return None
        with transcript.open("rb") as file:
            is_same = all(_has_hash(file, *span) for span in _spans(state, state.after))
    except (OSError, ValueError, LeftoffError):
        return None
    return state if is_same else None


def _spans(state: State, after: Place) -> Iterator[tuple[int, int, str]]:
    """Yield what must be unchanged in the file: the last record read, and the first and last prompt."""
    yield after.start, after.end, state.after_sha256
    own = [prompt.ref for prompt in state.prompts if prompt.ref.transcript == after.transcript]
    for ref in (*own[:1], *own[-1:]):
        yield ref.start, ref.end, ref.sha256


def _has_hash(file: IO[bytes], start: int, end: int, sha256: str) -> bool:
    file.seek(start)
    return hashlib.sha256(file.read(end - start)).hexdigest() == sha256
