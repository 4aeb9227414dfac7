"""What the tools of Codex do, and what their answers say: mostly shell commands, and patches in its own format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from leftoff.agents.codex.known import known
from leftoff.agents.codex.outputs import is_error, output_of
from leftoff.agents.fields import rows, text
from leftoff.model.actions import (
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
from leftoff.model.records import ToolResult, ToolUse
from leftoff.model.wire import JsonObject

_SHELLS = ("shell", "shell_command", "exec_command", "local_shell", "container.exec")
_STATUSES: Mapping[str, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
}
_CAN_BE_REFUSED = (
    *_SHELLS,
    "apply_patch",
)  # any other tool writes its answers itself, and may write the same
_IN_SHELL = re.compile(r"apply_patch\s+<<\s*'?\"?(\w+)'?\"?\n(.*?)\n\1\b", re.DOTALL)
# At the beginning of a line, which is asked behind the mark: what begins with fixed words is found many times faster.
_FILE = re.compile(r"\*\*\* (?<=^\*\*\* )(Add|Update|Delete) File: (.+)$", re.MULTILINE)
_HUNK = re.compile(r"@@(?<=^@@).*$", re.MULTILINE)
_PATCH_LINES = (" ", "+", "-")
_MOVED = re.compile(r"\A\n\*\*\* Move to: (.+)$", re.MULTILINE)
# A shell that only shows a stretch of a file reads it; models of Codex have no other tool for that.
_SHOWS = re.compile(
    r"\A(?:sed -n ['\"]?(\d+),(\d+)p['\"]? |cat |nl -ba |head -n? ?(\d+) )(['\"]?)([^\s'\"|;&<>$*]+)\4\s*\Z"
)


def actions(use: ToolUse) -> tuple[Action, ...]:
    """What the call does; a tool that is not known here is told by its name and words."""
    if isinstance(use.input, str):
        return tuple(patched(use.input)) or (Other(use.tool, use.input),)
    if use.tool in _SHELLS:
        return _in_shell(use.input)
    if use.tool == "apply_patch":
        return tuple(patched(text(use.input, "input") or text(use.input, "patch") or ""))
    if use.tool == "update_plan":
        return (_planned(use.input),)
    if use.tool == "write_stdin":
        return ()  # a look at a command that is still running
    if query := text(use.input, "url") or text(use.input, "query"):
        return (Fetched(query),)
    return (Other(use.tool, " ".join(word for word in use.input.values() if isinstance(word, str))),)


def answer(use: ToolUse, result: ToolResult) -> Answer:
    """What came back of it; the shape tells how the tool ended. Only what the client asks the user about tells of a refusal."""
    given = result.text
    output, code = output_of(given)
    failed = result.is_error if result.is_error is not None else is_error(given)
    is_refused = use.tool in _CAN_BE_REFUSED and given.startswith(known().refused)
    return Answer(text=output, exit_code=code, failed=failed or is_refused, refused=is_refused)


def patched(patch: str) -> Iterator[Action]:
    """What a patch in the format of apply_patch does, file by file."""
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
            yield from _updated(path, body)


def _updated(path: str, body: str) -> Iterator[Action]:
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


def _in_shell(given: JsonObject) -> tuple[Action, ...]:
    command = _command(given)
    if not command:
        return ()
    if patch := _IN_SHELL.search(command):
        return tuple(patched(patch[2]))
    folder = text(given, "workdir")
    if shown := _SHOWS.match(command):
        last = shown[2] or shown[3]
        return (
            Ran(command, folder=folder),
            Looked(shown[5], int(shown[1]) if shown[1] else None, int(last) if last else None),
        )
    return (Ran(command, folder=folder, purpose=text(given, "justification")),)


def _command(given: JsonObject) -> str:
    """The words of the command; ``bash -lc`` around them says nothing."""
    value = given.get("command") or given.get("cmd")
    if isinstance(value, str):
        return value
    parts = [part for part in rows(given, "command") if isinstance(part, str)]
    if len(parts) == 3 and parts[1] in ("-lc", "-c"):
        return parts[2]
    if parts[:1] == ["apply_patch"] and len(parts) == 2:
        return f"apply_patch <<'EOF'\n{parts[1]}\nEOF"
    return " ".join(parts)


def _planned(given: JsonObject) -> Planned:
    steps = [step for step in rows(given, "plan") if isinstance(step, dict)]
    return Planned(
        tuple(
            Todo(text(step, "step") or "", _STATUSES.get(text(step, "status") or "", "pending"))
            for step in steps
        )
    )
