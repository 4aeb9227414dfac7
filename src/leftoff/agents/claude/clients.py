"""Finds Claude Code on this machine and its versions, without running it: what is called ``claude`` may be any wrapper.

All clients of a user read the same settings: those on the PATH, a local installation, those of every version of Node.js and those
that editors bring along.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.claude import listing, usage
from leftoff.agents.claude.versions import Version, dotted, version
from leftoff.agents.hook_format import read_text
from leftoff.agents.jsonl import JsonLines

_PACKAGE = "@anthropic-ai/claude-code"  # on npm; the packages for each platform have longer names
_VERSION = re.compile(r"\d+\.\d+\.\d+")
# Where version managers of Node.js keep the programs of each version; a terminal has those of one version on its PATH.
_NODE_VERSIONS = (
    ".nvm/versions/node/*/bin",
    ".asdf/installs/nodejs/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    ".local/share/mise/installs/node/*/bin",
)
_EXTENSION = re.compile(r"anthropic\.claude-code-(\d+\.\d+\.\d+)")


class Client(NamedTuple):
    """A client and the file that shows its version: a program, an editor's extension or a transcript."""

    version: Version
    source: Path

    def __str__(self) -> str:
        return f"Claude Code {dotted(self.version)} ({self.source})"


def find_clients(home: Path, environment: Mapping[str, str]) -> list[Client]:
    """Return the clients whose version is known, the one that the user's shell starts first.

    Where a program does not show its version, or there is none, the newest transcript says what was used last.
    """
    found = {program: _version_of(program) for program in _programs(home, environment)}
    known = [Client(version(text), program) for program, text in found.items() if text is not None]
    if not known or None in found.values():
        known += _last_used(home)
    return [client for client in known if client.version]


def _programs(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the real files of every client, each once."""
    folders = [Path(folder) for folder in environment.get("PATH", "").split(os.pathsep)]
    user = Path(environment.get("HOME") or "/")
    folders += [user / ".local" / "bin", home / "local" / "node_modules" / ".bin"]
    folders += [folder for pattern in _NODE_VERSIONS for folder in sorted(user.glob(pattern))]
    programs = [folder / "claude" for folder in folders if folder.is_absolute()]
    installed = [Path(os.path.realpath(each)) for each in programs if os.access(each, os.X_OK)]
    extensions = sorted(user.glob(".*/extensions/anthropic.claude-code-*"))
    return [*dict.fromkeys(each for each in installed if each.is_file()), *extensions]


def _version_of(program: Path) -> str | None:
    """Return the version in the npm package that the program belongs to, or else in a name.

    Other installers keep each version in a file or a folder that is named after it.
    """
    if extension := _EXTENSION.match(program.name):
        return extension[1]
    for folder in program.parents:
        package = _read_object(folder / "package.json")
        if str(package.get("name")).startswith(_PACKAGE):
            return str(package.get("version"))
    return next((name for name in (program.name, program.parent.name) if _VERSION.fullmatch(name)), None)


def _read_object(file: Path) -> dict[str, object]:
    try:
        value = json.loads(read_text(file))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _last_used(home: Path) -> Iterator[Client]:
    """Return the client that wrote the newest transcript."""
    newest = max(listing.transcripts(home), key=lambda path: path.stat().st_mtime_ns, default=None)
    if newest is not None:
        with JsonLines(newest) as lines:
            yield Client(version(usage.read_tail(lines, with_history=False).client_version or ""), newest)
