"""Resume logs in a bucket of S3, or of any service that speaks its protocol.

Objects are named ``{prefix}/{project}/{session}/{time}-{hash}.json``. An object is written once and never changed; its name
sorts by time and contains the hash of its content. The newest name of a session is its log, so there is no pointer and no
lock: two saves at once are both kept. An incomplete object is skipped for the one before it. The last few objects of a session
are kept; older ones are deleted, by late sends only now and then. ``delete`` removes the oldest objects first, so that a crash
never makes an old log the newest. Saves of several machines are ordered as well as their clocks agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from leftoff.core.project_identity import is_same_project
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import ConfigError, DocumentError, InvalidValueError, LeftoffError
from leftoff.platform import clock
from leftoff.storage import store_base
from leftoff.storage.s3_client import Bucket, Objects
from leftoff.storage.store_base import (
    PackedLog,
    is_valid_id,
    next_timestamp_ns,
    pack_log,
    sha256_hex,
    unpack_log,
)

OPTIONS: Mapping[str, str] = {
    "bucket": "The bucket; it must exist.",
    "prefix": "What our objects' names begin with (default: leftoff).",
    "endpoint_url": "The address of a service other than Amazon's; https, or http on this machine.",
    "region": "The region, where AWS_REGION does not say it.",
    "profile": "The profile of your AWS files, where AWS_PROFILE does not say it.",
    store_base.ALLOW_UNVERIFIED: "'yes' allows plain http to elsewhere.",
}
_KEPT_VERSIONS = 3  # per session: enough for two saves at once and one incomplete object
_CLEANUPS_OF_16 = 4  # so many of sixteen late sends delete old versions
_HASH_CHARS = 32
_MAX_SAVED_NS = 2**63 - 1  # as in a database; a name with a later time is not ours
_NAME = re.compile(rf"(\d{{20}})-([0-9a-f]{{{_HASH_CHARS}}})\.json")


class Version(NamedTuple):
    """One object: a log as it was saved at one time. Versions sort by time."""

    moment: int
    sha256: str
    key: str
    project: str
    session_id: str


def unconfigured_store() -> S3Store:
    """Return a store without a bucket, which its options name."""
    return S3Store(Bucket(name=""))


class S3Store:
    """Resume logs in ``bucket``; with ``project`` only the logs of that project."""

    def __init__(self, bucket: Bucket, project: str | None = None, objects: Objects | None = None) -> None:
        self._bucket = bucket
        self._project = project
        self._objects = objects or Objects(bucket)
        self._folders: Sequence[str] | None = None  # of the project, looked up once

    def with_options(self, options: Mapping[str, str]) -> S3Store:
        """Return the store that the user's options describe."""
        given = store_base.check_options(options, OPTIONS, backend="storage: s3")
        if not given.get("bucket"):
            raise ConfigError("storage: s3 needs storage_options.bucket: which bucket is it?")
        if "endpoint_url" in given:
            store_base.require_safe_endpoint(given["endpoint_url"], given)
        bucket = Bucket(
            name=given["bucket"],
            prefix=given.get("prefix", "leftoff").strip("/") or "leftoff",
            endpoint_url=given.get("endpoint_url"),
            region=given.get("region"),
            profile=given.get("profile"),
            allow_unverified=store_base.is_unverified_allowed(given),
        )
        return S3Store(bucket)

    def for_project(self, key: str) -> S3Store:
        """Return the same store, restricted to one project."""
        return S3Store(self._bucket, key, self._objects)

    def save(self, resume_log: ResumeLog) -> str:
        """Save a log as the newest; its identifier is the session id."""
        piece = pack_log(resume_log)
        there = self._versions(piece.project, piece.session_id)
        # Another machine's clock may be ahead of ours.
        moment = max(next_timestamp_ns(), there[-1].moment + 1 if there else 0)
        self._delete_old(there, self._put(piece, moment))
        return piece.session_id

    def save_as_of(self, resume_log: ResumeLog, saved_ns: int) -> str:
        """Save a log as of that time; a newer one stays the newest, and sending twice has no effect."""
        piece = pack_log(resume_log)
        key = self._put(piece, saved_ns)
        # Listing old versions takes longer than sending, so only some sends do it, chosen by their hash.
        if int(piece.sha256[-1], 16) < _CLEANUPS_OF_16:
            self._delete_old(self._versions(piece.project, piece.session_id), key)
        return piece.session_id

    def load(self, identifier: str) -> ResumeLog | None:
        """Return the newest complete log, or None; DocumentError when all are broken."""
        session_id = clock.check_id(identifier)
        there = self._of_session(session_id)
        found = self._newest_complete(there)
        # All were deleted after listing them: there are newer ones, or the log was deleted.
        return (
            found if found is not None or not there else self._newest_complete(self._of_session(session_id))
        )

    def list(self) -> list[str]:
        """Return all identifiers, newest save first."""
        return [*dict.fromkeys(version.session_id for version in reversed(self._all()))]

    def saved_at(self, identifier: str) -> int | None:
        """Return when the newest log of a session was saved, or None."""
        versions = self._of_session(clock.check_id(identifier))
        return versions[-1].moment if versions else None

    def delete(self, identifier: str) -> bool:
        """Delete all versions of a log; return whether there were any."""
        session_id = clock.check_id(identifier)
        there = False
        for _ in range(2):  # a write that was given up may still arrive meanwhile
            for version in self._of_session(session_id):
                self._objects.delete(version.key)
                there = True
            if not there:
                break
        return there

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> Iterator[str | LeftoffError]:
        """Replace every version by its changed form with the same time; yield the session id or the error of each."""
        settled: set[str] = set()
        for _ in range(2):  # a write that was given up may still arrive meanwhile
            for version in self._all():
                if version.key in settled:
                    continue
                try:
                    new_key = self._rewrite_one(version, change)
                    settled.add(new_key)
                    if new_key != version.key:
                        yield version.session_id
                except LeftoffError as error:
                    settled.add(version.key)
                    yield error

    def check(self) -> str:
        """List one object; return a sentence about the bucket."""
        count = sum(1 for _ in self._objects.under(f"{self._bucket.prefix}/", most=1))
        return f"{self._bucket.where}: reached, {'logs are' if count else 'nothing is'} there"

    def _newest_complete(self, versions: Sequence[Version]) -> ResumeLog | None:
        broken: DocumentError | None = None
        for version in reversed(versions):
            body = self._objects.get(version.key)
            if body is None:
                continue
            try:
                return unpack_log(body, version.sha256, where=f"s3://{self._bucket.name}/{version.key}")
            except DocumentError as error:
                broken = broken or error
        if broken is not None:
            raise broken
        return None

    def _rewrite_one(self, version: Version, change: Callable[[bytes], bytes | None]) -> str:
        """Change one version; return its key afterwards, empty where it was deleted."""
        body = self._objects.get(version.key)
        changed = None if body is None else change(body)
        if changed == body:
            return version.key
        key = ""
        if body is not None and changed is not None and sha256_hex(body).startswith(version.sha256):
            key = f"{version.key.rpartition('/')[0]}/{_name(version.moment, sha256_hex(changed))}"
            self._objects.put(key, changed)
        self._objects.delete(version.key)
        return key

    def _put(self, piece: PackedLog, moment: int) -> str:
        """Write an object and return its key; also where it exists, because a killed server may have left half of it."""
        if not 0 <= moment <= _MAX_SAVED_NS:
            raise InvalidValueError(f"{moment} is not a time in nanoseconds since 1970.")
        key = f"{self._bucket.prefix}/{piece.project}/{piece.session_id}/{_name(moment, piece.sha256)}"
        self._objects.put(key, piece.body.encode())
        return key

    def _delete_old(self, there: Iterable[Version], key: str) -> None:
        """Delete all but the newest few versions, counting the one just written."""
        versions = sorted({*there, *self._parsed([key])})
        self._objects.delete_all([version.key for version in versions[:-_KEPT_VERSIONS]])

    def _all(self) -> Sequence[Version]:
        """Return all versions of the project, oldest first."""
        projects = [None] if self._project is None else self._projects()
        return sorted(each for project in projects for each in self._versions(project))

    def _of_session(self, session_id: str) -> Sequence[Version]:
        """Return the versions of one session in all folders of the project, oldest first."""
        if self._project is None:  # one listing for all projects, however many there are
            return [each for each in self._versions() if each.session_id == session_id]
        return sorted(each for project in self._projects() for each in self._versions(project, session_id))

    def _projects(self) -> Sequence[str]:
        """Return the folders of the project: its own, and those of checkouts that know less or more of its identity."""
        mine = self._project or ""
        if self._folders is None:
            found = self._objects.folders(f"{self._bucket.prefix}/")
            self._folders = [each for each in found if is_same_project(each, mine)]
        return [mine, *(each for each in self._folders if each != mine)]

    def _versions(self, project: str | None = None, session_id: str | None = None) -> Sequence[Version]:
        """Return the versions of all projects, of one, or of one session in it, oldest first."""
        prefix = "/".join(part for part in (self._bucket.prefix, project, session_id, "") if part is not None)
        return sorted(self._parsed(self._objects.under(prefix)))

    def _parsed(self, keys: Iterable[str]) -> Iterator[Version]:
        """Parse names of objects; others than ours are skipped."""
        known: dict[str, bool] = {}  # checked once, because a session has several versions
        for key in keys:
            parts = key.removeprefix(f"{self._bucket.prefix}/").split("/")
            found = _NAME.fullmatch(parts[-1])
            if len(parts) != 3 or found is None or int(found[1]) > _MAX_SAVED_NS:
                continue
            if parts[1] not in known:
                known[parts[1]] = is_valid_id(parts[1])
            if known[parts[1]]:
                yield Version(int(found[1]), found[2], key, parts[0], parts[1])


def _name(moment: int, sha256: str) -> str:
    return f"{moment:020d}-{sha256[:_HASH_CHARS]}.json"
