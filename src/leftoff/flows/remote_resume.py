"""Take up on this machine what another one left off: the log comes from the remote, its paths become those of this checkout.

The log is put beside this project's own, so that sessions here are offered it like any other. It is noted as *trusted*, not as
written by this machine: the user has named the remote in the settings, and asked for this very log. What it calls the user's rules
and pins was said elsewhere: it is reported, and holds nobody. A log that this machine wrote itself is never replaced, and of one that
somebody changed by hand a copy is kept. What differs between the ground then and this checkout now is told as drift.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leftoff.errors import AmbiguousSessionError, DocumentError, LeftoffError, NotFoundError
from leftoff.flows import resume
from leftoff.flows.choose import LATEST
from leftoff.flows.remote_store import Remote, remote_here
from leftoff.flows.resume import Welcome
from leftoff.flows.send_outbox import ROOT_KEY, Sent
from leftoff.model.moved_paths import moved
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.stores import outbox
from leftoff.stores.files import FileStore
from leftoff.stores.log_files import LogFiles
from leftoff.stores.packed import MOST_BYTES
from leftoff.system import clock, files, paths

_SHORTEST_PREFIX = 4
_PROJECT_KEY = "project"  # of a log's metadata: the folder that its session ran in
CAME_FROM_KEY = "came_from"
# Of critical context: what holds in a log of this machine, and what it is called in one that was fetched.
_REPORTED = {
    "user_rules": "rules reported by the other machine's log",
    "pins": "pins reported by the other machine's log",
}
_RULES_HEADING = "rules of the user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Where the session left off, what its root was where it was written, and how many paths were rewritten.

    ``copies`` are those of a local log that somebody had changed by hand, and that the fetched one has replaced. ``kept_own`` is the
    local log that this machine wrote itself and that stays, where the remote's is another and newer; None everywhere else.
    """

    welcome: Welcome
    old_root: str | None
    rewritten: int
    sent: Sent
    copies: tuple[Path, ...] = ()
    kept_own: Path | None = None


def resume_remote(words: str, working_folder: Path) -> Fetched:
    """Fetch the log that ``words`` name and take it up; ``latest`` is the newest in the remote that can be read."""
    remote = remote_here(working_folder)
    identifier, log = _chosen(words, remote)
    _refuse_too_large(log)
    old_root = _root_of(log)
    moment = remote.saved_at(identifier)
    own = _our_own(remote, log.session_id)
    if own is not None:
        is_newer = _is_newer(remote, log, own, moment)
        where = resume.welcome(log.session_id, working_folder)
        return Fetched(
            welcome=where,
            old_root=old_root,
            rewritten=0,
            sent=remote.sent,
            kept_own=own.json if is_newer else None,
        )
    copies = _copies(remote, log.session_id)
    count = _put_down(remote, log, old_root)
    if moment is not None:
        outbox.of_user().note_fetched(str(remote.shelf.project.root), log.session_id, moment)
    where = resume.welcome(log.session_id, working_folder)
    return Fetched(welcome=where, old_root=old_root, rewritten=count, sent=remote.sent, copies=copies)


def _chosen(words: str, remote: Remote) -> tuple[str, ResumeLog]:
    """The log that is meant, with what the remote calls it."""
    if words == LATEST:
        newest = next(((name, log) for name, log in remote.logs() if isinstance(log, ResumeLog)), None)
        if newest is None:
            raise NotFoundError(
                f"The remote holds no log of {remote.identity.name}. On the other machine: leftoff log save, then leftoff doctor."
            )
        return newest
    identifier = _identifier(words, remote)
    log = remote.load(identifier)
    if isinstance(log, LeftoffError):
        raise log
    if log is None:
        raise NotFoundError(
            f"The remote holds no log {words[:60]!r} of this project. leftoff log list --remote shows what there is."
        )
    return identifier, log


def _identifier(words: str, remote: Remote) -> str:
    """The identifier that is meant: whole, or the beginning of one."""
    known = remote.identifiers()
    long_enough = len(words) >= _SHORTEST_PREFIX
    begun = [each for each in known if long_enough and each.startswith(words)]
    begun = begun or [
        each for each in known if long_enough and words in each
    ]  # a store may call them as it likes
    if words in known or not begun:
        return words
    if len(begun) > 1:
        raise AmbiguousSessionError(
            f"{words[:60]!r} names {len(begun)} logs: {', '.join(begun[:4])}. Give more of the id."
        )
    return begun[0]


def _our_own(remote: Remote, session_id: str) -> LogFiles | None:
    """The local log, where this machine wrote it itself."""
    there = remote.shelf.local.find(session_id)
    if there is None or there.json is None or remote.shelf.register.standing(there.json) != "written":
        return None
    return there


def _is_newer(remote: Remote, log: ResumeLog, own: LogFiles, moment: int | None) -> bool:
    """Whether the remote's says something else than ours, and was saved after the last that we have sent."""
    here = str(remote.shelf.project.root)
    last = outbox.of_user().last_moment(here, log.session_id)
    if moment is not None and moment <= last:
        return False
    there = moved(log, _root_of(log) or here, here).log
    try:
        return replace(there, metadata={}).to_dict() != replace(own.log(), metadata={}).to_dict()
    except DocumentError:  # ours is broken
        return True


def _copies(remote: Remote, session_id: str) -> tuple[Path, ...]:
    """Copies of what a person changed by hand and nobody noted: neither this machine wrote it so, nor has the user trusted it."""
    there = remote.shelf.local.find(session_id)
    parts = [] if there is None else [*there.parts.values()]
    foreign = [path for path in parts if remote.shelf.register.standing(path) == "foreign"]
    made = []
    for path in foreign:
        numbers = (path.with_name(f"{path.name}.before-remote-{number}") for number in range(1, 1_000_000))
        copy = next(each for each in numbers if not each.exists())
        files.write_file(copy, path.read_bytes())
        made.append(copy)
    return tuple(made)


def _put_down(remote: Remote, log: ResumeLog, old_root: str | None) -> int:
    """Beside the project's own logs, with the paths of this checkout; how many were rewritten."""
    shelf = remote.shelf
    here = str(shelf.project.root)
    result = moved(_reported(log), old_root or here, here)
    told = {CAME_FROM_KEY: old_root, ROOT_KEY: here}
    local = _homed(replace(result.log, metadata=result.log.metadata | told), here)
    if shelf.local.folder.is_relative_to(shelf.project.folder):
        paths.make_project_folder(shelf.project)
    store = FileStore(
        shelf.local.folder, max_tokens=shelf.settings.resume_logs.max_tokens
    )  # without the register
    store.save(local)
    now = clock.now()
    for part in (".md", ".json"):
        shelf.register.trust(store.path_of(local.session_id, part), now)
    return result.paths


def _reported(log: ResumeLog) -> ResumeLog:
    """The log with nothing in it that would stand as this user's own rule."""
    context: Mapping[str, Any] = log.critical_context
    sources = [
        replace(source, item=_renamed(source.item)) if source.item.startswith("critical_context/") else source
        for source in log.sources
    ]
    return replace(
        log,
        critical_context={_REPORTED.get(name, name): value for name, value in context.items()},
        custom_sections=[
            each for each in log.custom_sections if each.name.strip().casefold() != _RULES_HEADING
        ],
        sources=sources,
    )


def _renamed(item: str) -> str:
    head, name, rest = [*item.split("/", 2), "", ""][:3]
    return "/".join(part for part in (head, _REPORTED.get(name, name), rest) if part)


def _root_of(log: ResumeLog) -> str | None:
    """Where its project stood, as a whole path without detours; None for anything else, and then nothing is rewritten."""
    root = log.metadata.get(ROOT_KEY)
    is_plain = isinstance(root, str) and os.path.isabs(root) and os.path.normpath(root) == root != "/"  # noqa: PTH117
    return root if is_plain else None


def _homed(log: ResumeLog, here: str) -> ResumeLog:
    """A session that ran outside the project's root, or nobody knows where, is at home in this checkout."""
    folder = log.metadata.get(_PROJECT_KEY)
    inside = isinstance(folder, str) and Path(os.path.normpath(folder)).is_relative_to(here)
    home = os.path.normpath(folder) if isinstance(folder, str) and inside else here
    return replace(log, metadata=log.metadata | {_PROJECT_KEY: home})


def _refuse_too_large(log: ResumeLog) -> None:
    """Whatever store it comes from."""
    if len(json.dumps(log.to_dict())) > MOST_BYTES:
        raise DocumentError(
            f"The remote's log {log.session_id} is larger than {MOST_BYTES // 1_000_000} MB, which no resume log is."
        )
