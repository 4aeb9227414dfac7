"""Finds Claude Code on this machine and its versions, without running it: what is called ``claude`` may be any wrapper.

All clients of a user read the same settings: those on the PATH, a local installation, those of every version of Node.js and those
that editors bring along. Any others, such as in a container that shares the home folder, show in the transcripts that they wrote.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.claude import listing
from leftoff.agents.claude.versions import Version, dotted, version
from leftoff.agents.hook_format import read_text
from leftoff.agents.jsonl import newest_first, text
from leftoff.errors import TranscriptError

_PACKAGE = "@anthropic-ai/claude-code"  # on npm; the packages for each platform have longer names
_VERSION = re.compile(r"\d+\.\d+\.\d+")
# Where version managers of Node.js keep the programs of each version; a terminal has those of one version on its PATH. Volta has a
# program of its own there.
_NODE_VERSIONS = (
    ".nvm/versions/node/*/bin",
    ".asdf/installs/nodejs/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    ".local/share/mise/installs/node/*/bin",
    ".nodenv/versions/*/bin",
    f".volta/tools/image/packages/{_PACKAGE}/bin",
)
_LAST_TRANSCRIPTS, _LAST_LINES = 20, 50
_EXTENSION = re.compile(r"anthropic\.claude-code-(\d+\.\d+\.\d+)")


class Client(NamedTuple):
    """A client and the file that shows its version: a program, an editor's extension or a transcript."""

    version: Version
    source: Path

    def __str__(self) -> str:
        return f"Claude Code {dotted(self.version)} ({self.source})"


def find_clients(home: Path, environment: Mapping[str, str]) -> list[Client]:
    """Return the clients whose version is known, the one that the user's shell starts first.

    Where a program does not show its version, or is missing, the newest transcript says what was used last. An older version
    that was used after a newer one is still there, wherever it is.
    """
    found = {program: _version_of(program) for program in _programs(home, environment)}
    known = [Client(version(text), program) for program, text in found.items() if text is not None]
    used = _last_used(home)
    if not known or None in found.values():
        known += used[:1]
    for place, client in enumerate(used):
        is_missing = all(client.version != each.version for each in known)
        if is_missing and any(client.version < earlier.version for earlier in used[place:]):
            known.append(client)
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


def _last_used(home: Path) -> list[Client]:
    """Return the clients that wrote the last transcripts, newest first by what they say: a copy is newer than its content."""
    newest = nlargest(_LAST_TRANSCRIPTS, listing.transcripts(home), key=lambda path: path.stat().st_mtime_ns)
    used: dict[Client, str] = {}
    for transcript in newest:
        with suppress(TranscriptError):
            for piece in islice(newest_first(transcript), _LAST_LINES):
                line = piece.value or {}
                wrote, at = text(line, "version"), text(line, "timestamp")
                if wrote and at and "continue_metadata" not in line:  # that line is leftoff's own
                    used[Client(version(wrote), transcript)] = at
                    break
    return sorted(used, key=lambda client: used[client], reverse=True)
