"""How a hook tells ``leftoff run`` which session comes next: a small file that both know, named in the agent's environment."""

from __future__ import annotations

from pathlib import Path

import orjson

from leftoff.errors import DocumentError
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, upgraded
from leftoff.system import files, ids, paths

VARIABLE = "LEFTOFF_BATON"
_FOLDER = "batons"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baton:
    """The session to go on in."""

    agent: str
    session_id: str


def new_baton() -> Path:
    """A place for a baton that nobody has passed yet."""
    files.make_folder(paths.state_folder() / _FOLDER)
    return paths.inside(paths.state_folder() / _FOLDER, f"{ids.uuid4()}.json")


def passed_on(agent_id: str, session_id: str) -> bool:
    """Pass it, if somebody waits for it; whether somebody does."""
    named = paths.environment().get(VARIABLE)
    if not named:
        return False
    place = paths.contained(paths.state_folder() / _FOLDER, Path(named))
    files.write_file(
        place, orjson.dumps({"schema": SCHEMAS["baton"], "agent": agent_id, "session_id": session_id})
    )
    return True


def taken(place: Path) -> Baton | None:
    """The baton, which is gone then; None where none was passed, or none that can be read."""
    try:
        data = upgraded("baton", orjson.loads(place.read_bytes()), where=str(place))
        place.unlink(missing_ok=True)
        return Baton(agent=str(data["agent"]), session_id=ids.checked(str(data["session_id"])))
    except (OSError, orjson.JSONDecodeError, DocumentError, KeyError):
        return None
