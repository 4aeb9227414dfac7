"""What was put into the settings of agents, remembered so that it can be taken out again without a trace.

One file in the data folder. It holds what we changed, never what else stands in the settings. Without it uninstalling still
finds what is ours; only white space of empty objects may then differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from leftoff.errors import DocumentError, StorageError
from leftoff.model.protocols import HasHooks
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, upgraded
from leftoff.model.wiring import Scope, TextEdit, Trace, reverted
from leftoff.system import files, locks, paths, reasons

NAME = "installations.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One settings file with ours in it: what it was made by, and its hash as we left it.

    ``made_file`` and ``made_folder``: it was not there before, nor the folder it stands in.
    """

    agent: str
    scope: Scope
    settings: Path
    sha256: str
    trace: Trace
    made_file: bool
    made_folder: bool

    def to_dict(self) -> JsonObject:
        """The form in the file."""
        return {
            "agent": self.agent,
            "scope": self.scope,
            "settings": str(self.settings),
            "sha256": self.sha256,
            "made": [*self.trace.made],
            "edits": [[edit.start, edit.removed, edit.inserted] for edit in self.trace.edits],
            "made_file": self.made_file,
            "made_folder": self.made_folder,
        }


def digest(content: bytes) -> str:
    """The hash that is remembered."""
    return hashlib.sha256(content).hexdigest()


def all_installations() -> list[Installation]:
    """All that are remembered. A file that cannot be read counts as none: what is ours is found without it."""
    try:
        said = json.loads(_path().read_bytes())
        listed = upgraded("installations", said, where=str(_path())).get("installations")
        return [_installation(each) for each in listed] if isinstance(listed, list) else []
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{_path()}: cannot be read: {reasons.words(error)}.", path=_path()) from error
    except (DocumentError, ValueError, KeyError, TypeError):
        return []


def installation_of(settings: Path) -> Installation | None:
    """What is remembered of one settings file."""
    return next((each for each in all_installations() if each.settings == settings), None)


def remember(installation: Installation) -> None:
    """Keep it, in the place of what was remembered of the same file."""
    with _alone():
        others = [each for each in all_installations() if each.settings != installation.settings]
        _write([*others, installation])


def forget(settings: Iterable[Path]) -> None:
    """Remember nothing more of these files."""
    gone = {*settings}
    if not any(each.settings in gone for each in all_installations()):
        return
    with _alone():
        kept = [each for each in all_installations() if each.settings not in gone]
        if kept:
            _write(kept)
        else:
            _path().unlink(missing_ok=True)


def without_ours(agent: HasHooks, settings: Path, content: bytes, text: str) -> str:
    """The settings as they would be without us: the very bytes of before if nobody changed anything since."""
    known = installation_of(settings)
    if known is not None and known.sha256 == digest(content):
        return reverted(text, known.trace.edits)
    return agent.unwired(text, known.trace if known else None, where=settings)


@contextmanager
def _alone() -> Iterator[None]:
    files.make_folder(_path().parent)
    with locks.held(_path().with_name(files.LOCK_NAME)):
        yield


def _write(installations: Iterable[Installation]) -> None:
    content = {
        "schema": SCHEMAS["installations"],
        "installations": [each.to_dict() for each in installations],
    }
    files.write_file(_path(), json.dumps(content, indent=2).encode() + b"\n")


def _path() -> Path:
    return paths.data_folder() / NAME


def _installation(said: object) -> Installation:
    if not isinstance(said, dict):
        raise TypeError("an installation is an object")
    edits = tuple(
        TextEdit(start=int(start), removed=str(old), inserted=str(new)) for start, old, new in said["edits"]
    )
    return Installation(
        agent=str(said["agent"]),
        scope="project" if said["scope"] == "project" else "user",
        settings=Path(said["settings"]),
        sha256=str(said["sha256"]),
        trace=Trace(edits=edits, made=tuple(map(str, said["made"]))),
        made_file=said["made_file"] is True,
        made_folder=said["made_folder"] is True,
    )
