"""What the user's ``storage_options`` say, checked: known names only, and never a credential.

Credentials come from where the other programs of the machine find them (AWS_*, PG*, their files and keyrings): a settings
file is copied, shown and shared too easily.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from leftoff.errors import ConfigError

_CREDENTIAL = re.compile(r"pass|secret|token|credential|access_key|api_key", re.IGNORECASE)
ALLOW_UNVERIFIED = "allow_unverified"


def checked(options: Mapping[str, str], known: Mapping[str, str], *, backend: str) -> Mapping[str, str]:
    """The options themselves; ConfigError for one that this backend does not take. ``known`` are those, with their meaning."""
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
    """Whether the user said that a server far away may be talked to without checking who it is."""
    return options.get(ALLOW_UNVERIFIED, "no").lower() in {"yes", "true", "1"}


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine, where nobody stands in between: its own name, a loop-back address or a socket file."""
    if host.lower() in {"localhost", ""} or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_safe_endpoint(address: str, options: Mapping[str, str]) -> None:
    """Refuse plain http to elsewhere: what is sent could be read, and changed, on the way."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            f"storage_options.endpoint_url: {address!r} is no address. It looks like https://host:port."
        )
    if parts.username or parts.password:
        raise ConfigError(
            "storage_options.endpoint_url: a credential stands in it. Take it out; AWS_* carries credentials."
        )
    require_encrypted(address, named="storage_options.endpoint_url", allowed=is_unverified_allowed(options))


def require_encrypted(address: str, *, named: str, allowed: bool) -> None:
    """Refuse plain http to elsewhere, unless the user ``allowed`` it; ``named`` is what to mend."""
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_this_machine(parts.hostname or "?") and not allowed:
        raise ConfigError(
            f"{named}: http://{parts.hostname} is not encrypted. Use https://, or say "
            f"storage_options.{ALLOW_UNVERIFIED}: 'yes' if nobody stands in between."
        )
