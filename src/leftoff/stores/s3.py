"""Resume logs in a bucket of S3, or of any service that speaks its protocol.

``{prefix}/{project}/{session}/{moment}-{hash}.json``: an object is written once and never changed, its name sorts by time and
holds the hash of what is in it. There is no pointer and no lock: the newest name of a session is its log, two saves at once are
both kept, and which is newer is told by their names. An object that is not whole is passed over for the one before it. The
last few objects of a session are kept and older ones taken away, by a late send only now and then. ``delete`` really deletes,
oldest object first: a tombstone would keep what a user wanted gone, and a crash in between leaves the newest, so never an old log
in its place.

Keeps every promise of ``StorageBackend``; the clocks of several machines order their saves as well as they agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from leftoff.errors import ConfigError, DocumentError, InvalidValueError, LeftoffError
from leftoff.model.project_identity import is_same_project
from leftoff.model.resume_log import ResumeLog
from leftoff.stores import options as user_options
from leftoff.stores.packed import Packed, digest, is_id, next_moment, packed, unpacked
from leftoff.stores.s3_objects import Bucket, Objects
from leftoff.system import ids

OPTIONS: Mapping[str, str] = {
    "bucket": "The bucket; it must exist.",
    "prefix": "What our objects' names begin with (default: leftoff).",
    "endpoint_url": "The address of a service other than Amazon's; https, or http on this machine.",
    "region": "The region, where AWS_REGION does not say it.",
    "profile": "The profile of your AWS files, where AWS_PROFILE does not say it.",
    user_options.ALLOW_UNVERIFIED: "'yes' allows plain http to elsewhere.",
}
_KEPT_VERSIONS = 3  # of a session: two saves at once are both kept, and one half-written object hides nothing
_TIDYING_OF_16 = 4  # of sixteen late sends so many take old versions away
_HASH_CHARS = 32
_LAST_MOMENT = 2**63 - 1  # as in a database; a name with a later one is nobody's
_NAME = re.compile(rf"(\d{{20}})-([0-9a-f]{{{_HASH_CHARS}}})\.json")


class Version(NamedTuple):
    """One object: a log as it was at one moment. In the order of time; a tuple, because lists of many are sorted."""

    moment: int
    sha256: str
    key: str
    project: str
    session_id: str


def here() -> S3Store:
    """A store whose bucket is still to be told."""
    return S3Store(Bucket(name=""))


class S3Store:
    """Resume logs in ``bucket``; with ``project`` only the logs of that project."""

    def __init__(self, bucket: Bucket, project: str | None = None, objects: Objects | None = None) -> None:
        self._bucket = bucket
        self._project = project
        self._objects = objects or Objects(bucket)
        self._folders: Sequence[str] | None = None  # of the project, once looked for

    def with_options(self, options: Mapping[str, str]) -> S3Store:
        """The store that the user's options describe."""
        told = user_options.checked(options, OPTIONS, backend="storage: s3")
        if not told.get("bucket"):
            raise ConfigError("storage: s3 needs storage_options.bucket: which bucket is it?")
        if "endpoint_url" in told:
            user_options.require_safe_endpoint(told["endpoint_url"], told)
        bucket = Bucket(
            name=told["bucket"],
            prefix=told.get("prefix", "leftoff").strip("/") or "leftoff",
            endpoint_url=told.get("endpoint_url"),
            region=told.get("region"),
            profile=told.get("profile"),
            allow_unverified=user_options.is_unverified_allowed(told),
        )
        return S3Store(bucket)

    def for_project(self, key: str) -> S3Store:
        """The same store, seen from one project."""
        return S3Store(self._bucket, key, self._objects)

    def save(self, resume_log: ResumeLog) -> str:
        """Keep it, on top; the identifier is its session id."""
        piece = packed(resume_log)
        there = self._versions(piece.project, piece.session_id)
        # Another machine's clock may be ahead of ours.
        moment = max(next_moment(), there[-1].moment + 1 if there else 0)
        self._take_away_old(there, self._put(piece, moment))
        return piece.session_id

    def save_as_of(self, resume_log: ResumeLog, saved_ns: int) -> str:
        """Keep it as saved at that moment; a newer one stays on top, and sending twice is sending once."""
        piece = packed(resume_log)
        key = self._put(piece, saved_ns)
        # Looking for old ones takes longer than sending: one of a few does it for all, drawn by what is sent.
        if int(piece.sha256[-1], 16) < _TIDYING_OF_16:
            self._take_away_old(self._versions(piece.project, piece.session_id), key)
        return piece.session_id

    def load(self, identifier: str) -> ResumeLog | None:
        """The newest whole one, or None; DocumentError when there are only broken ones."""
        session_id = ids.checked(identifier)
        there = self._of_session(session_id)
        found = self._newest_whole(there)
        # All taken away since we looked: newer ones are there, or it was deleted.
        return found if found is not None or not there else self._newest_whole(self._of_session(session_id))

    def list(self) -> list[str]:
        """All identifiers, newest save first."""
        return [*dict.fromkeys(version.session_id for version in reversed(self._all()))]

    def saved_at(self, identifier: str) -> int | None:
        """The moment of the newest one, None when there is none."""
        versions = self._of_session(ids.checked(identifier))
        return versions[-1].moment if versions else None

    def delete(self, identifier: str) -> bool:
        """Whether there was one to delete."""
        session_id = ids.checked(identifier)
        there = False
        for _ in range(2):  # a write that had been given up may arrive while we are at it
            for version in self._of_session(session_id):
                self._objects.delete(version.key)
                there = True
            if not there:
                break
        return there

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> Iterator[str | LeftoffError]:
        """Change every version where it stands: under a new name of the same moment; what comes of each."""
        settled: set[str] = set()
        for _ in range(2):  # a write that had been given up may arrive while we are at it
            for version in self._all():
                if version.key in settled:
                    continue
                try:
                    stands = self._rewritten(version, change)
                    settled.add(stands)
                    if stands != version.key:
                        yield version.session_id
                except LeftoffError as error:
                    settled.add(version.key)
                    yield error

    def check(self) -> str:
        """Look whether the bucket answers; what it is, in words."""
        count = sum(1 for _ in self._objects.under(f"{self._bucket.prefix}/", most=1))
        return f"{self._bucket.where}: reached, {'logs are' if count else 'nothing is'} there"

    def _newest_whole(self, versions: Sequence[Version]) -> ResumeLog | None:
        broken: DocumentError | None = None
        for version in reversed(versions):
            body = self._objects.get(version.key)
            if body is None:
                continue
            try:
                return unpacked(body, version.sha256, where=f"s3://{self._bucket.name}/{version.key}")
            except DocumentError as error:
                broken = broken or error
        if broken is not None:
            raise broken
        return None

    def _rewritten(self, version: Version, change: Callable[[bytes], bytes | None]) -> str:
        """The key under which it stands then; empty where it was dropped."""
        body = self._objects.get(version.key)
        made = None if body is None else change(body)
        if made == body:
            return version.key
        key = ""
        if body is not None and made is not None and digest(body).startswith(version.sha256):
            key = f"{version.key.rpartition('/')[0]}/{_name(version.moment, digest(made))}"
            self._objects.put(key, made)
        self._objects.delete(version.key)
        return key

    def _put(self, piece: Packed, moment: int) -> str:
        """The object's key. Written even where that is there already: what a killed server left under it may be half of it."""
        if not 0 <= moment <= _LAST_MOMENT:
            raise InvalidValueError(f"{moment} is no moment in nanoseconds since 1970.")
        key = f"{self._bucket.prefix}/{piece.project}/{piece.session_id}/{_name(moment, piece.sha256)}"
        self._objects.put(key, piece.body.encode())
        return key

    def _take_away_old(self, there: Iterable[Version], key: str) -> None:
        """All but the newest few, the one just written among them."""
        versions = sorted({*there, *self._parsed([key])})
        self._objects.delete_all([version.key for version in versions[:-_KEPT_VERSIONS]])

    def _all(self) -> Sequence[Version]:
        """All versions that are of the project, oldest first."""
        projects = [None] if self._project is None else self._projects()
        return sorted(each for project in projects for each in self._versions(project))

    def _of_session(self, session_id: str) -> Sequence[Version]:
        """The versions of one session in all folders that are of the project, oldest first."""
        if self._project is None:  # one question for all projects, however many there are
            return [each for each in self._versions() if each.session_id == session_id]
        return sorted(each for project in self._projects() for each in self._versions(project, session_id))

    def _projects(self) -> Sequence[str]:
        """The folders of the project: its own, and those of checkouts that know less or more of it; looked for once."""
        mine = self._project or ""
        if self._folders is None:
            found = self._objects.folders(f"{self._bucket.prefix}/")
            self._folders = [each for each in found if is_same_project(each, mine)]
        return [mine, *(each for each in self._folders if each != mine)]

    def _versions(self, project: str | None = None, session_id: str | None = None) -> Sequence[Version]:
        """Oldest first; of all projects, of one, or of one session in it."""
        prefix = "/".join(part for part in (self._bucket.prefix, project, session_id, "") if part is not None)
        return sorted(self._parsed(self._objects.under(prefix)))

    def _parsed(self, keys: Iterable[str]) -> Iterator[Version]:
        """What is not named as we name things is somebody else's."""
        known: dict[str, bool] = {}  # a session has several versions, and a list is long
        for key in keys:
            parts = key.removeprefix(f"{self._bucket.prefix}/").split("/")
            found = _NAME.fullmatch(parts[-1])
            if len(parts) != 3 or found is None or int(found[1]) > _LAST_MOMENT:
                continue
            if parts[1] not in known:
                known[parts[1]] = is_id(parts[1])
            if known[parts[1]]:
                yield Version(int(found[1]), found[2], key, parts[0], parts[1])


def _name(moment: int, sha256: str) -> str:
    return f"{moment:020d}-{sha256[:_HASH_CHARS]}.json"
