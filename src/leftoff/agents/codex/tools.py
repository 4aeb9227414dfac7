"""What the tools of Codex do, and what their answers mean: mostly shell commands, and patches in its own format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from leftoff.agents.codex.items import is_error, split_output
from leftoff.agents.codex.versions import known
from leftoff.agents.jsonl import rows, text
from leftoff.core.actions import (
    Action,
    Answer,
    Changed,
    Fetched,
    Looked,
    Moved,
    Other,
    Planned,
    Ran,
    Removed,
    Todo,
    TodoStatus,
    Wrote,
)
from leftoff.core.records import ToolResult, ToolUse
from leftoff.core.wire import JsonObject

_SHELLS = ("shell", "shell_command", "exec_command", "local_shell", "container.exec")
_STATUSES: Mapping[str, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
}
_RUNNING = re.compile(r"^Process running with session ID (\w+)$", re.MULTILINE)
_HEAD_CHARS = 400  # where an answer says whether its command has ended
# Other tools write their own answers, which may look like a refusal.
_CAN_BE_REFUSED = (
    *_SHELLS,
    "apply_patch",
)
# Newer models write a script that calls the tools; what it does is in the strings that it hands to them.
_SCRIPT, _WAIT = "exec", "wait"
_STRING = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`(?:[^`\\]|\\.)*`'
_SCRIPT_COMMAND = re.compile(
    rf"""\bexec_command\(\{{\s*["']?cmd["']?\s*:\s*({_STRING})(?:\s*,\s*["']?workdir["']?\s*:\s*({_STRING}))?""",
    re.DOTALL,
)
_SCRIPT_PATCH = re.compile(rf"(?=[\"'`]\*\*\* Begin Patch)(?:{_STRING})", re.DOTALL)
_SCRIPT_RUNNING = re.compile(r"\AScript running with cell ID (\w+)$", re.MULTILINE)
_SCRIPT_POLL = re.compile(r"\bwrite_stdin\(\{\s*[\"']?session_id[\"']?\s*:\s*(\d+)")
_SESSION_SHOWN = re.compile(
    r"\bsession[_ ]?id\W{1,3}(\d+)", re.IGNORECASE
)  # scripts print it in words of their own
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_PATCH_IN_SHELL = re.compile(r"apply_patch\s+<<\s*'?\"?(\w+)'?\"?\n(.*?)\n\1\b", re.DOTALL)
# The beginning of a line is checked after the marker, because a pattern that begins with fixed text is many times faster.
_FILE = re.compile(r"\*\*\* (?<=^\*\*\* )(Add|Update|Delete) File: (.+)$", re.MULTILINE)
_HUNK = re.compile(r"@@(?<=^@@).*$", re.MULTILINE)
_PATCH_LINES = (" ", "+", "-")
_MOVED = re.compile(r"\A\n\*\*\* Move to: (.+)$", re.MULTILINE)
# A command that only prints part of a file reads it: Codex has no other tool for that.
_PRINTS_FILE = re.compile(
    r"\A(?:sed -n ['\"]?(\d+),(\d+)p['\"]? |cat |nl -ba |head -n? ?(\d+) )(['\"]?)([^\s'\"|;&<>$*]+)\4\s*\Z"
)


def actions(use: ToolUse) -> tuple[Action, ...]:
    """Return what the call does; for an unknown tool, its name and the text in its input."""
    if isinstance(use.input, str):
        done = _run_script(use.input) if use.tool == _SCRIPT else tuple(parse_patch(use.input))
        return done or (Other(use.tool, use.input),)
    if use.tool in _SHELLS:
        return _run_command(use.input)
    if use.tool == "apply_patch":
        return tuple(parse_patch(text(use.input, "input") or text(use.input, "patch") or ""))
    if use.tool == "update_plan":
        return (_plan(use.input),)
    if use.tool in ("write_stdin", _WAIT):
        return ()  # polls a command or script that is still running
    if query := text(use.input, "url") or text(use.input, "query"):
        return (Fetched(query),)
    return (Other(use.tool, " ".join(word for word in use.input.values() if isinstance(word, str))),)


def answer(use: ToolUse, result: ToolResult) -> Answer:
    """Return what came back from the call. Only tools that the client asks the user about can be refused."""
    content = result.text
    output, code = split_output(content)
    failed = result.is_error if result.is_error is not None else is_error(content)
    running, polled = _running(use, content), _polled(use)
    is_refused = use.tool in _CAN_BE_REFUSED and content.startswith(known().refused)
    return Answer(
        text=output,
        exit_code=code,
        failed=failed or is_refused,
        refused=is_refused,
        job_id=running if polled is None else None,
        ended_jobs=(polled,) if polled is not None and running is None else (),
    )


def _running(use: ToolUse, content: str) -> str | None:
    """Return the id of the command or script that is still running; None if it has ended."""
    if use.tool not in (_SCRIPT, _WAIT):
        found = _RUNNING.search(content[:_HEAD_CHARS])
    else:
        found = _SCRIPT_RUNNING.search(content[:_HEAD_CHARS]) or _SESSION_SHOWN.search(content[-_HEAD_CHARS:])
    return found[1] if found else None


def _polled(use: ToolUse) -> str | None:
    """Return the id of the running command or script that a call asks about."""
    if isinstance(use.input, str):
        found = _SCRIPT_POLL.search(use.input) if use.tool == _SCRIPT else None
        return found[1] if found else None
    asked = {"write_stdin": "session_id", _WAIT: "cell_id"}.get(use.tool)
    value = use.input.get(asked) if asked is not None else None
    return None if value is None else str(value)


def _run_script(script: str) -> tuple[Action, ...]:
    """Return what the commands and patches in a script do."""
    commands = [
        action
        for command, folder in _SCRIPT_COMMAND.findall(script)
        for action in _run_command({"cmd": _unquote(command), "workdir": _unquote(folder) or None})
    ]
    patches = [action for found in _SCRIPT_PATCH.findall(script) for action in parse_patch(_unquote(found))]
    return (*commands, *patches)


def _unquote(literal: str) -> str:
    """Return the text of a string literal of JavaScript; rare escapes are read as the character that they name."""
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), literal[1:-1])


def parse_patch(patch: str) -> Iterator[Action]:
    """Yield what a patch in the format of apply_patch does, file by file."""
    heads = [*_FILE.finditer(patch)]
    ends = [*(head.start() for head in heads[1:]), len(patch)]
    for head, end in zip(heads, ends, strict=False):  # no head, no file
        kind, path = head[1], head[2].strip()
        body = patch[head.end() : end]
        if kind == "Delete":
            yield Removed(path)
        elif kind == "Add":
            yield Wrote(path, "\n".join([line[1:] for line in body.splitlines() if line[:1] == "+"]))
        else:
            yield from _update_file(path, body)


def _update_file(path: str, body: str) -> Iterator[Action]:
    moved = _MOVED.match(body)
    if moved:
        yield Moved(path, moved[1].strip())
    for hunk in _HUNK.split(body):
        lines = [line for line in hunk.splitlines() if line[:1] in _PATCH_LINES]
        if any(line[0] in "+-" for line in lines):
            yield Changed(
                moved[1].strip() if moved else path,
                old="\n".join([line[1:] for line in lines if line[0] != "+"]),
                new="\n".join([line[1:] for line in lines if line[0] != "-"]),
            )


def _run_command(arguments: JsonObject) -> tuple[Action, ...]:
    command = _command(arguments)
    if not command:
        return ()
    if patch := _PATCH_IN_SHELL.search(command):
        return tuple(parse_patch(patch[2]))
    folder = text(arguments, "workdir")
    if printed := _PRINTS_FILE.match(command):
        last = printed[2] or printed[3]
        return (
            Ran(command, folder=folder),
            Looked(printed[5], int(printed[1]) if printed[1] else None, int(last) if last else None),
        )
    return (Ran(command, folder=folder, purpose=text(arguments, "justification")),)


def _command(arguments: JsonObject) -> str:
    """Return the command as text, without ``bash -lc`` around it."""
    value = arguments.get("command") or arguments.get("cmd")
    if isinstance(value, str):
        return value
    parts = [part for part in rows(arguments, "command") if isinstance(part, str)]
    if len(parts) == 3 and parts[1] in ("-lc", "-c"):
        return parts[2]
    if parts[:1] == ["apply_patch"] and len(parts) == 2:
        return f"apply_patch <<'EOF'\n{parts[1]}\nEOF"
    return " ".join(parts)


def _plan(arguments: JsonObject) -> Planned:
    steps = [step for step in rows(arguments, "plan") if isinstance(step, dict)]
    return Planned(
        tuple(
            Todo(text(step, "step") or "", _STATUSES.get(text(step, "status") or "", "pending"))
            for step in steps
        )
    )
