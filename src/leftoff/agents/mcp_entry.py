"""leftoff's entry among the MCP servers of an agent's JSON or TOML file: recognised by its command, added and removed in place."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from leftoff.agents import json_edit
from leftoff.agents.json_edit import Draft
from leftoff.core.hook_settings import EditTrace, WiredSettings, is_mcp_command
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import ConfigError

NAME = "leftoff"
JSON_SERVERS, TOML_SERVERS = "mcpServers", "mcp_servers"
_TOML_HEADER = re.compile(r"^[ \t]*\[\[?\s*([^\]\n]*?)\s*\]", re.MULTILINE)
_TOML_OURS = re.compile(rf"{TOML_SERVERS}\s*\.\s*(?:{NAME}|\"{NAME}\")(?:\s*\..*)?")


def add_to_json(text: str, command: Sequence[str], *, where: Path) -> WiredSettings:
    """Return a JSON text, which has no entry of ours, with it."""
    draft, created = json_edit.start_draft(text, where), list[str]()
    entry: JsonObject = {"type": "stdio", "command": command[0], "args": [*command[1:]], "env": {}}
    at = json_edit.root(draft.text)
    servers = json_edit.member(draft.text, at, JSON_SERVERS)
    if servers is None:
        draft.add_member(at, JSON_SERVERS, {NAME: entry})
        created.append(JSON_SERVERS)
    elif not isinstance(servers.value, dict):
        raise ConfigError(
            f'{where}: "{JSON_SERVERS}" is not an object. Nothing was changed; repair the file first.',
            path=where,
        )
    else:
        _require_free(servers.value, where)
        draft.add_member(servers.at, NAME, entry)
    return WiredSettings(text=draft.text, trace=draft.trace(created))


def remove_from_json(text: str, was: EditTrace | None, *, where: Path) -> str:
    """Return the text without our entry; the object that held it goes too, if we created it and nothing else is in it."""
    try:
        draft = json_edit.start_draft(text, where)
    except ConfigError:
        if was is None:  # nothing says that it has an entry of ours
            return text
        raise
    if draft.edits:
        return text  # the file is empty
    at = json_edit.root(draft.text)
    servers = json_edit.member(draft.text, at, JSON_SERVERS)
    if servers is None or not isinstance(servers.value, dict) or not _is_ours(servers.value.get(NAME)):
        return text
    if len(servers.value) == 1 and (was is None or JSON_SERVERS in was.created):
        draft.remove(at, servers)
    else:
        ours = json_edit.member(draft.text, servers.at, NAME)
        assert ours is not None, "it was there a moment ago"
        draft.remove(servers.at, ours)
    return draft.text


def add_to_toml(text: str, command: Sequence[str], *, where: Path) -> WiredSettings:
    """Return a TOML text, which has no entry of ours, with it at its end."""
    servers = _read_toml(text, where).get(TOML_SERVERS, {})
    _require_free(servers if isinstance(servers, dict) else {}, where)
    draft = Draft(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    before = "" if not text else newline if text.endswith("\n") else newline * 2
    # A string of JSON without surrogates is one of TOML.
    program, *arguments = (json.dumps(word, ensure_ascii=False) for word in command)
    lines = [
        f"[{TOML_SERVERS}.{NAME}]",
        f"command = {program}",
        f"args = [{', '.join(arguments)}]",
        "",
    ]
    draft.replace(len(text), len(text), before + newline.join(lines))
    servers = _read_toml(draft.text, where).get(TOML_SERVERS)
    if not isinstance(servers, dict) or not _is_ours(servers.get(NAME)):
        raise ConfigError(
            f"{where}: {TOML_SERVERS} is in a form that leftoff cannot add to. Nothing was changed.",
            path=where,
        )
    return WiredSettings(text=draft.text, trace=draft.trace(()))


def remove_from_toml(text: str, was: EditTrace | None, *, where: Path) -> str:
    """Return the text without our tables: as they were added, or up to the next one if something has changed since."""
    try:
        servers = _read_toml(text, where).get(TOML_SERVERS)
    except ConfigError:
        if was is None:
            return text
        raise
    if not isinstance(servers, dict) or not _is_ours(servers.get(NAME)):
        return text
    for edit in was.edits if was else ():
        if text.count(edit.inserted) == 1:
            text = text.replace(edit.inserted, "")
    headers = [*_TOML_HEADER.finditer(text)]
    for number in range(len(headers) - 1, -1, -1):  # what the agent keeps below our table goes with it
        if _TOML_OURS.fullmatch(headers[number][1]):
            end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
            text = text[: headers[number].start()] + text[end:]
    return text


def _is_ours(entry: JsonValue) -> bool:
    arguments = entry.get("args") if isinstance(entry, dict) else None
    return isinstance(arguments, list) and is_mcp_command([str(each) for each in arguments])


def _require_free(servers: JsonObject, where: Path) -> None:
    if NAME in servers:
        raise ConfigError(
            f"{where}: there is another MCP server named {NAME}. Nothing was changed; rename that one first.",
            path=where,
        )


def _read_toml(text: str, where: Path) -> JsonObject:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{where}: not TOML ({error}). Nothing was changed; repair the file first.", path=where
        ) from error
