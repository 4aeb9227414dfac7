"""What all stores share: checked options, a log as one piece of JSON, safe calls into plugins, and the store in memory."""

from __future__ import annotations

import difflib
import hashlib
import ipaddress
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from leftoff.core.project_identity import METADATA_KEY, UNKNOWN_PROJECT, ProjectIdentity
from leftoff.core.protocols import StorageBackend
from leftoff.core.provenance import Source
from leftoff.core.resume_log import MAX_LOG_BYTES, ResumeLog
from leftoff.errors import ConfigError, DocumentError, InvalidIdError, LeftoffError, PluginError
from leftoff.platform import clock
from leftoff.platform.redaction import Redactor

_CREDENTIAL = re.compile(r"pass|secret|token|credential|access_key|api_key", re.IGNORECASE)
ALLOW_UNVERIFIED = "allow_unverified"
Result = TypeVar("Result")
# The parts of a log with text; hashes by file name must not be redacted because a file is called `auth_token.py`.
_TEXT_KEYS = (
    *("context_metrics", "mission_summary", "accomplishments", "key_findings", "decisions", "next_steps"),
    *("critical_context", "metadata", "custom_sections", "edits"),
)


def check_options(options: Mapping[str, str], known: Mapping[str, str], *, backend: str) -> Mapping[str, str]:
    """Return the options; ConfigError for one that is not ``known``, and for any that looks like a credential.

    Credentials come from where other programs find them (AWS_*, PG*, their files): a settings file is shared too easily.
    """
    for name in options:
        if name in known:
            continue
        if _CREDENTIAL.search(name):
            raise ConfigError(
                f"storage_options.{name}: credentials do not belong into leftoff's configuration. {backend} takes them from "
                "the usual environment and files (docs/storage.md). Take it out, and change it if others could read it."
            )
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]}?" if near else f" It takes: {', '.join(known)}."
        raise ConfigError(f"storage_options.{name}: {backend} has no such option.{hint}")
    return options


def is_unverified_allowed(options: Mapping[str, str]) -> bool:
    """Whether the user allows connections to other machines without checking their certificate."""
    return options.get(ALLOW_UNVERIFIED, "no").lower() in {"yes", "true", "1"}


def is_local_host(host: str) -> bool:
    """Whether a host is this machine: localhost, a loopback address or the folder of a socket."""
    if host.lower() in {"localhost", ""} or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_safe_endpoint(address: str, options: Mapping[str, str]) -> None:
    """Refuse an endpoint that is not an address, contains a credential, or is unencrypted and on another machine."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            f"storage_options.endpoint_url: {address!r} is not an address. It looks like https://host:port."
        )
    if parts.username or parts.password:
        raise ConfigError(
            "storage_options.endpoint_url: it contains a credential. Remove it; use the AWS_* variables."
        )
    require_encrypted(address, named="storage_options.endpoint_url", allowed=is_unverified_allowed(options))


def require_encrypted(address: str, *, named: str, allowed: bool) -> None:
    """Refuse plain http to another machine, unless ``allowed``; ``named`` is the setting to name in the error."""
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_local_host(parts.hostname or "?") and not allowed:
        raise ConfigError(
            f"{named}: http://{parts.hostname} is not encrypted. Use https://, or say "
            f"storage_options.{ALLOW_UNVERIFIED}: 'yes' if the connection is private."
        )


class PackedLog(NamedTuple):
    """A log as one piece of JSON. ``project`` is the key of the project that it belongs to."""

    session_id: str
    project: str
    sha256: str
    body: str


def pack_log(log: ResumeLog) -> PackedLog:
    """Return the log as one piece; InvalidIdError for an unsafe id, DocumentError for a log that is too large."""
    body = json.dumps(log.to_dict(), ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    if len(body.encode()) > MAX_LOG_BYTES:
        shown = log.session_id[:60]
        raise DocumentError(
            f"{_too_large(f'The log of {shown}')} It stays on this machine and cannot be sent: shorten it with "
            f"leftoff log edit {shown}, or erase the session with leftoff forget {shown}.",
            path=f"The log of {shown}",
        )
    identity = ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY)) or UNKNOWN_PROJECT
    return PackedLog(
        session_id=clock.check_id(log.session_id),
        project=identity.key,
        sha256=sha256_hex(body.encode()),
        body=body,
    )


def unpack_log(body: bytes, sha256: str, *, where: str) -> ResumeLog:
    """Parse a packed log; DocumentError where it is incomplete or changed. ``where`` names it in errors."""
    if len(body) > MAX_LOG_BYTES:
        raise _too_large(where)
    if not sha256_hex(body).startswith(sha256):
        raise DocumentError(
            f"{where}: incomplete, or changed since: its content is not what was saved.", path=where
        )
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{where}: not JSON: {error}.", path=where) from error
    return ResumeLog.from_dict(value, where=where)


def _too_large(where: str) -> DocumentError:
    return DocumentError(
        f"{where}: larger than {MAX_LOG_BYTES // 1_000_000} MB, which no resume log is.", path=where
    )


def is_valid_id(text: str) -> bool:
    """Whether a name in a store is a session id."""
    try:
        return bool(clock.check_id(text))
    except InvalidIdError:
        return False


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of ``data`` as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


class _Timestamps:
    """Times in nanoseconds since 1970, each later than the one before, even within one tick of the clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        now = int(clock.now().timestamp() * 1_000_000) * 1_000
        with self._lock:
            self._last = max(now, self._last + 1)
            return self._last


next_timestamp_ns = _Timestamps().next


def call_backend(backend: StorageBackend, call: Callable[[], Result]) -> Result:
    """Return the result of a call into a backend; whatever else than a LeftoffError it raises becomes a PluginError."""

    def result_or_error() -> Result | LeftoffError:
        try:
            return call()
        except LeftoffError as error:
            return error

    result = call_plugin(backend, result_or_error)
    if isinstance(result, LeftoffError):
        raise result
    return result


class MemoryStore:
    """Resume logs by session id, kept in this process. The reference for what a storage backend promises."""

    def __init__(self) -> None:
        self._logs: dict[str, ResumeLog] = {}  # in order of saving
        self._lock = threading.Lock()

    def save(self, resume_log: ResumeLog) -> str:
        """Save a log; its identifier is the session id."""
        identifier = clock.check_id(resume_log.session_id)
        copy = ResumeLog.from_dict(resume_log.to_dict())  # the caller's lists may change later
        with self._lock:
            self._logs.pop(identifier, None)
            self._logs[identifier] = copy
        return identifier

    def load(self, identifier: str) -> ResumeLog | None:
        """Return a copy of the log, or None."""
        with self._lock:
            log = self._logs.get(clock.check_id(identifier))
        return None if log is None else ResumeLog.from_dict(log.to_dict())

    def list(self) -> list[str]:
        """Return all identifiers, newest save first."""
        with self._lock:
            return [*reversed(self._logs)]

    def delete(self, identifier: str) -> bool:
        """Delete a log; return whether there was one."""
        with self._lock:
            return self._logs.pop(clock.check_id(identifier), None) is not None


def redact_log(log: ResumeLog, redactor: Redactor) -> ResumeLog:
    """Return the log with every credential replaced by a marker; ids, numbers, positions and hashes stay."""
    # Sources are more than half of a log, and only their excerpts can change.
    wire = replace(log, sources=[]).to_dict()
    clean: Any = redactor.redact_value({name: wire[name] for name in _TEXT_KEYS if name in wire})
    sources = [_without_credentials(source, redactor) for source in log.sources]
    return replace(ResumeLog.from_dict(wire | clean), sources=sources)


def _without_credentials(source: Source, redactor: Redactor) -> Source:
    clean = redactor.redact(source.excerpt)
    return source if clean == source.excerpt else replace(source, excerpt=clean)


def call_plugin(plugin: object, call: Callable[[], Result]) -> Result | PluginError:
    """Return the result of a call into a plugin, or the error that says which plugin failed and how."""
    try:
        return call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything; the log is made without it
        return plugin_error(plugin, f"{type(error).__name__}: {error}")


def plugin_error(plugin: object, how: str) -> PluginError:
    """Return the error that names a plugin."""
    kind = type(plugin)
    return PluginError(f"Plugin {kind.__module__}.{kind.__qualname__} failed and was skipped: {how}.")
