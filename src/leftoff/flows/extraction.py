"""What happened in a session, going on from where the last look at it ended: only new bytes are read.

The state is kept in the user's state folder by agent and session id. One that is missing, broken, or of another file than the
one at hand costs a full read, nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import orjson

from leftoff.errors import InvalidIdError, LeftoffError
from leftoff.extract import State, step
from leftoff.flows.choose import Chosen
from leftoff.flows.settings import settings_here
from leftoff.model.records import Place
from leftoff.model.session import Session
from leftoff.system import files, ids, paths
from leftoff.system.redaction import Redactor


def extracted(chosen: Chosen, session: Session) -> State:
    """The state of the session up to its last record, kept for the next time."""
    kept = _file(session)
    known = _known(kept, chosen.transcript)
    if known is None or known.after is None:
        state = _clean(step(State(), session.records, chosen.agent), session)
    else:
        state = _clean(step(known, chosen.agent.read(chosen.transcript, known.after), chosen.agent), session)
    if known is None or state.after != known.after:
        _keep(kept, state)
    return state


def extracted_once(chosen: Chosen, session: Session) -> State:
    """The same from nothing, and nothing is kept: for a file that is not the agent's own, or a look that must leave no trace."""
    return _clean(step(State(), session.records, chosen.agent), session)


def _clean(state: State, session: Session) -> State:
    """The state without credentials: they are known by what stands around them, and a log tears words out of that."""
    folder = Path(session.project) if session.project else None
    wanted = settings_here(folder if folder is not None and folder.is_dir() else None).settings.redaction
    if not wanted.enabled:
        return state
    return State.from_dict(Redactor(allow=wanted.allow, deny=wanted.deny).redact_value(state.to_dict()))


def _file(session: Session) -> Path:
    """Ids come from transcripts: one that cannot be a file's name is replaced by its hash."""
    try:
        name = ids.checked(session.session_id)
    except InvalidIdError:
        name = hashlib.sha256(session.session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return paths.state_folder() / "extractions" / f"{session.agent}-{name}.json"


def _known(kept: Path, transcript: Path) -> State | None:
    """The state that was kept, if the transcript still is what it was made from."""
    try:
        state = State.from_dict(orjson.loads(kept.read_bytes()), where=str(kept))
        if state.after is None or state.after.transcript != str(transcript):
            return None
        with transcript.open("rb") as file:
            is_same = all(_stands(file, *span) for span in _spans(state, state.after))
    except (OSError, ValueError, LeftoffError):
        return None
    return state if is_same else None


def _spans(state: State, after: Place) -> Iterator[tuple[int, int, str]]:
    """What must stand in the file still: the last record, and of the prompts in this file the first and the last."""
    yield after.start, after.end, state.after_sha256
    own = [prompt.ref for prompt in state.prompts if prompt.ref.transcript == after.transcript]
    for ref in (*own[:1], *own[-1:]):
        yield ref.start, ref.end, ref.sha256


def _stands(file: IO[bytes], start: int, end: int, sha256: str) -> bool:
    file.seek(start)
    return hashlib.sha256(file.read(end - start)).hexdigest() == sha256


def _keep(kept: Path, state: State) -> None:
    files.make_folder(kept.parent)
    files.write_file(kept, orjson.dumps(state.to_dict()))
