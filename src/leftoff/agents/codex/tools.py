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
        return tuple(parse_patch(use.input)) or (Other(use.tool, use.input),)
    if use.tool in _SHELLS:
        return _run_command(use.input)
    if use.tool == "apply_patch":
        return tuple(parse_patch(text(use.input, "input") or text(use.input, "patch") or ""))
    if use.tool == "update_plan":
        return (_plan(use.input),)
    if use.tool == "write_stdin":
        return ()  # polls a command that is still running
    if query := text(use.input, "url") or text(use.input, "query"):
        return (Fetched(query),)
    return (Other(use.tool, " ".join(word for word in use.input.values() if isinstance(word, str))),)


def answer(use: ToolUse, result: ToolResult) -> Answer:
    """Return what came back from the call. Only tools that the client asks the user about can be refused."""
    content = result.text
    output, code = split_output(content)
    failed = result.is_error if result.is_error is not None else is_error(content)
    head = content[:_HEAD_CHARS]
    running = _RUNNING.search(head) if "Process running" in head else None
    polled = (
        use.input.get("session_id") if use.tool == "write_stdin" and isinstance(use.input, dict) else None
    )
    is_refused = use.tool in _CAN_BE_REFUSED and content.startswith(known().refused)
    return Answer(
        text=output,
        exit_code=code,
        failed=failed or is_refused,
        refused=is_refused,
        job_id=running[1] if running and polled is None else None,
        ended_jobs=(str(polled),) if polled is not None and not running else (),
    )


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
