"""Resume on this machine what another one left off: the log comes from the remote, its paths become those of this checkout.

The log is saved beside this project's own, so that sessions here are offered it like any other. It is registered as *trusted*, not as
written by this machine: the user named the remote in the settings and asked for this log. Rules and pins in it are reported but not
binding. A log that this machine wrote is never replaced, and a log that was changed by hand is copied first. Differences between the
ground then and this checkout are reported as drift.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leftoff.core.resume_log import MAX_LOG_BYTES, ResumeLog
from leftoff.core.session_ids import MIN_PREFIX_CHARS
from leftoff.core.wire import JsonValue
from leftoff.errors import (
    AmbiguousSessionError,
    Choice,
    DocumentError,
    LeftoffError,
    NotFoundError,
    NothingFoundError,
)
from leftoff.platform import clock, files, paths
from leftoff.resume.resume import ResumePoint, find_resume_point
from leftoff.sessions.find import LATEST
from leftoff.storage import outbox
from leftoff.storage.file_store import FileStore, LogFiles
from leftoff.storage.outbox import ROOT_KEY, SendResult
from leftoff.storage.remote_logs import Remote, open_remote
from leftoff.workspace import Workspace

_PROJECT_KEY = "project"  # of a log's metadata: the folder that its session ran in
CAME_FROM_KEY = "came_from"
# Keys of critical context that are binding in a log of this machine, and their names in a fetched log.
_REPORTED_KEYS = {
    "user_rules": "rules reported by the other machine's log",
    "pins": "pins reported by the other machine's log",
}
_RULES_HEADING = "rules of the user"
# The fields in which paths are rewritten; sources name records of the other machine, the ground has relative paths.
_FIELDS_WITH_PATHS = (
    *("mission_summary", "accomplishments", "key_findings", "decisions", "next_steps"),
    *("critical_context", "metadata", "custom_sections", "edits"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Where the session left off, the root of its project on the other machine, and how many paths were rewritten.

    ``copies`` are copies of a local log that was changed by hand and is now replaced by the fetched one. ``kept_own`` is the local log
    that this machine wrote and that stays although the remote has a newer one; None in every other case.
    """

    point: ResumePoint
    old_root: str | None
    rewritten: int
    sent: SendResult
    copies: tuple[Path, ...] = ()
    kept_own: Path | None = None


def resume_remote(selector: str, workspace: Workspace) -> Fetched:
    """Fetch the selected log and return where it left off; ``latest`` is the newest readable log of the remote."""
    remote = open_remote(workspace)
    identifier, log = _fetch(selector, remote)
    _require_size(log)
    old_root = _root_of(log)
    saved_ns = remote.saved_at(identifier)
    own = _find_own_log(remote, log.session_id)
    if own is not None:
        is_newer = _is_newer(remote, log, own, saved_ns)
        return Fetched(
            point=find_resume_point(log.session_id, workspace),
            old_root=old_root,
            rewritten=0,
            sent=remote.sent,
            kept_own=own.json if is_newer else None,
        )
    copies = _copy_changed_files(remote, log.session_id)
    count = _save_fetched(remote, log, old_root)
    if saved_ns is not None:
        outbox.user_outbox().note_fetched(str(remote.repository.project.root), log.session_id, saved_ns)
    return Fetched(
        point=find_resume_point(log.session_id, workspace),
        old_root=old_root,
        rewritten=count,
        sent=remote.sent,
        copies=copies,
    )


def _fetch(selector: str, remote: Remote) -> tuple[str, ResumeLog]:
    """Return the selected log with its identifier in the remote."""
    if selector == LATEST:
        logs = ((name, log) for name, log in remote.logs() if isinstance(log, ResumeLog))
        newest = next(((name, log) for name, log in logs if not log.is_empty), None)
        if newest is None:
            raise NothingFoundError(
                f"The remote holds no log of {remote.identity.name}. On the other machine: leftoff log save, then leftoff doctor."
            )
        return newest
    identifier = _find_identifier(selector, remote)
    log = remote.load(identifier)
    if isinstance(log, LeftoffError):
        raise log
    if log is None:
        raise NotFoundError(
            f"The remote holds no log {selector[:60]!r} of this project. To list them: leftoff log list --remote"
        )
    return identifier, log


def _find_identifier(selector: str, remote: Remote) -> str:
    """Return the identifier that a whole id, the beginning or a part of one selects."""
    known = remote.identifiers()
    long_enough = len(selector) >= MIN_PREFIX_CHARS
    matches = [each for each in known if long_enough and each.startswith(selector)]
    if not matches:  # a store may add something before the session id
        matches = [each for each in known if long_enough and selector in each]
    if selector in known or not matches:
        return selector
    if len(matches) > 1:
        raise AmbiguousSessionError(selector, "logs", [Choice(each, "in the remote") for each in matches])
    return matches[0]


def _find_own_log(remote: Remote, session_id: str) -> LogFiles | None:
    """Return the local log if this machine wrote it."""
    files = remote.repository.local.find(session_id)
    if files is None or files.json is None or remote.repository.register.standing(files.json) != "written":
        return None
    return files


def _is_newer(remote: Remote, log: ResumeLog, own: LogFiles, saved_ns: int | None) -> bool:
    """Return whether the remote's log differs from the local one and was saved after the last that this machine sent."""
    here = str(remote.repository.project.root)
    last = outbox.user_outbox().last_time_ns(here, log.session_id)
    if saved_ns is not None and saved_ns <= last:
        return False
    fetched = rewrite_paths(log, _root_of(log) or here, here).log
    try:
        return replace(fetched, metadata={}).to_dict() != replace(own.log(), metadata={}).to_dict()
    except DocumentError:  # the local one is broken
        return True


def _copy_changed_files(remote: Remote, session_id: str) -> tuple[Path, ...]:
    """Copy files that were changed by hand or from elsewhere: leftoff did not write them so, and the user did not trust them."""
    files_here = remote.repository.local.find(session_id)
    parts = [] if files_here is None else [*files_here.parts.values()]
    changed = [path for path in parts if remote.repository.register.standing(path) in {"foreign", "edited"}]
    copies = []
    for path in changed:
        numbers = (path.with_name(f"{path.name}.before-remote-{number}") for number in range(1, 1_000_000))
        copy = next(each for each in numbers if not each.exists())
        files.write_file(copy, files.read_file(path))
        copies.append(copy)
    return tuple(copies)


def _save_fetched(remote: Remote, log: ResumeLog, old_root: str | None) -> int:
    """Save the log beside the project's own with the paths of this checkout; return how many were rewritten."""
    repository = remote.repository
    here = str(repository.project.root)
    result = rewrite_paths(_without_user_rules(log), old_root or here, here)
    origin = {CAME_FROM_KEY: old_root, ROOT_KEY: here}
    local = _with_folder(replace(result.log, metadata=result.log.metadata | origin), here)
    if repository.local.folder.is_relative_to(repository.project.folder):
        paths.make_project_folder(repository.project)
    # Without the register: it is trusted, not written, by this machine.
    store = FileStore(repository.local.folder, max_tokens=repository.settings.resume_logs.max_tokens)
    store.save(local)
    now = clock.now()
    for part in (".md", ".json"):
        repository.register.trust(store.path_of(local.session_id, part), now)
    return result.paths


def _without_user_rules(log: ResumeLog) -> ResumeLog:
    """Return the log with the user's rules and pins as reported context, which is not binding."""
    context: Mapping[str, Any] = log.critical_context
    sources = [
        replace(source, item=_rename_item(source.item))
        if source.item.startswith("critical_context/")
        else source
        for source in log.sources
    ]
    return replace(
        log,
        critical_context={_REPORTED_KEYS.get(name, name): value for name, value in context.items()},
        custom_sections=[
            each for each in log.custom_sections if each.name.strip().casefold() != _RULES_HEADING
        ],
        sources=sources,
    )


def _rename_item(item: str) -> str:
    head, name, rest = [*item.split("/", 2), "", ""][:3]
    return "/".join(part for part in (head, _REPORTED_KEYS.get(name, name), rest) if part)


def _root_of(log: ResumeLog) -> str | None:
    """Return the root of its project if it is a normalised absolute path; else None, and nothing is rewritten."""
    root = log.metadata.get(ROOT_KEY)
    is_plain = isinstance(root, str) and os.path.isabs(root) and os.path.normpath(root) == root != "/"  # noqa: PTH117
    return root if is_plain else None


def _with_folder(log: ResumeLog, here: str) -> ResumeLog:
    """Return the log with this checkout as its folder if the session ran outside the project's root or its folder is not known."""
    folder = log.metadata.get(_PROJECT_KEY)
    inside = isinstance(folder, str) and Path(os.path.normpath(folder)).is_relative_to(here)
    home = os.path.normpath(folder) if isinstance(folder, str) and inside else here
    return replace(log, metadata=log.metadata | {_PROJECT_KEY: home})


def _require_size(log: ResumeLog) -> None:
    """Raise DocumentError for a log that is too large, whatever store it comes from."""
    if len(json.dumps(log.to_dict())) > MAX_LOG_BYTES:
        raise DocumentError(
            f"The remote's log {log.session_id} is larger than {MAX_LOG_BYTES // 1_000_000} MB, which no resume log is."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenLog:
    """A log with the paths of this checkout, and how many were rewritten."""

    log: ResumeLog
    paths: int


def rewrite_paths(log: ResumeLog, old_root: str, new_root: str) -> RewrittenLog:
    """Return the log with every path below ``old_root`` moved below ``new_root``.

    Only whole path parts count: ``/home/a/shop`` is no part of ``/home/a/shop-old`` nor of ``/mnt/home/a/shop``. Other paths and
    places in transcripts stay as they are.
    """
    old, new = old_root.rstrip("/"), new_root.rstrip("/")
    if not old or old == new:
        return RewrittenLog(log=log, paths=0)
    rewriter = _Rewriter(old, new)
    wire = log.to_dict()
    here = {name: rewriter.value(wire[name]) for name in _FIELDS_WITH_PATHS if name in wire}
    return RewrittenLog(log=ResumeLog.from_dict(wire | here), paths=rewriter.count)


class _Rewriter:
    def __init__(self, old: str, new: str) -> None:
        self._pattern = re.compile(
            rf"(?<![A-Za-z0-9_.~-])(?<![A-Za-z0-9_.~-]/){re.escape(old)}(?![\w-])(?!\.\w)"
        )
        self._new = new
        self.count = 0

    def value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._text(value)
            case list():
                return [self.value(each) for each in value]
            case dict():
                return {self._text(name): self.value(each) for name, each in value.items()}
            case _:
                return value

    def _text(self, text: str) -> str:
        changed, count = self._pattern.subn(lambda _: self._new, text)
        self.count += count
        return changed
