"""What the tools of Claude Code do, and what their answers mean: names and formats of versions 1.0.17 to 2.1.325."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from leftoff.agents.claude.user_text import without_reminders
from leftoff.agents.jsonl import all_texts, count, rows, text
from leftoff.core.actions import (
    Action,
    Answer,
    Changed,
    Delegated,
    Fetched,
    FinishedJob,
    Looked,
    Other,
    Planned,
    Proposed,
    Questioned,
    Ran,
    Searched,
    Todo,
    TodoSet,
    TodoStatus,
    Wrote,
)
from leftoff.core.records import Record, Text, ToolResult, ToolUse
from leftoff.core.wire import JsonObject

_STATUSES: Mapping[str, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
    "deleted": "cancelled",
}
_REFUSED = "The user doesn't want to proceed with this tool use."
_REFUSED_OTHERWISE = ("The user doesn't want to take this action right now",)
# While the call ran, which may have done something; the second time by the client, which repeats the call.
_INTERRUPTED = ("[Request interrupted by user", "Streaming fallback triggered")
_USER_SAID = "the user said:\n"
_CLARIFIES = "The user wants to clarify these questions."  # written by the client, not by the user
_APPROVED = "User has approved your plan"
_CLARIFIED = re.compile(r'^- "(.*?)"\n  Answer: (.*?)(?=\n- "|\Z)', re.DOTALL | re.MULTILINE)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code:? (\d+)\n?")
_CHOSEN_END = re.compile(r'"(?:\. You can now continue|\.?\s*\Z)')
_CREATED = re.compile(r"Task #(\S+) created")
_STARTED = re.compile(
    r"(?:Command running in background with ID: |Async agent launched successfully\.\s+agentId: )(\w+)"
)
_STARTED_BEGINNINGS = ("Command running", "Async agent launched")
_DELEGATES = ("Task", "Agent")
# What the client adds below a subagent's report.
_AFTER_REPORT = re.compile(r"\n*agentId: \w+ \(.*\Z|\n*<usage>.*\Z", re.DOTALL)
_READS_JOB = ("BashOutput", "TaskOutput", "AgentOutputTool")
_STOPS_JOB = ("KillShell", "KillBash", "TaskStop")
_JOB_KEYS = ("task_id", "bash_id", "shell_id", "agentId")
_JOB_ENDED = re.compile(r"<status>(?:completed|failed|killed|stopped)</status>")
_JOB_CODE = re.compile(r"<exit_code>(\d+)</exit_code>")
_NOTICE = re.compile(r"<(?:task|agent)-notification>.*?</(?:task|agent)-notification>", re.DOTALL)
_NOTICE_ID = re.compile(r"<(?:task|agent)-id>(.*?)</(?:task|agent)-id>")
_NOTICE_RESULT = re.compile(r"<result>(.*?)</result>", re.DOTALL)
_MCP = "mcp__"  # such a tool writes its own errors, which may look like the client's
_WRAPPED = re.compile(r"\A<tool_use_error>(.*)</tool_use_error>\s*\Z", re.DOTALL)


def actions(use: ToolUse) -> tuple[Action, ...]:
    """Return what the call does; for an unknown tool, its name and the text in its input."""
    if isinstance(use.input, str):
        return (Other(use.tool, use.input),)
    parse = _TOOLS.get(use.tool)
    parsed = parse(use.input) if parse else ()
    return parsed or (Other(use.tool, " ".join(all_texts(use.input))),)


def answer(use: ToolUse, result: ToolResult) -> Answer:
    """Return what came back from the call."""
    output = without_reminders(result.text)
    started = _STARTED.match(output) if output.startswith(_STARTED_BEGINNINGS) else None
    if use.tool in _DELEGATES:
        output = _AFTER_REPORT.sub("", output)
    if result.is_error:
        return _failure(use, output)
    return Answer(
        text=output,
        exit_code=0 if use.tool == "Bash" else _job_exit_code(use, output),
        failed=False,
        chosen=_user_choices(use.input, output) if use.tool == "AskUserQuestion" else (),
        approved=True if use.tool == "ExitPlanMode" and output.startswith(_APPROVED) else None,
        todo_id=_todo_id(output) if use.tool == "TaskCreate" else None,
        job_id=started[1] if started else None,
        ended_jobs=_ended_jobs(use, output),
    )


def _job_exit_code(use: ToolUse, output: str) -> int | None:
    """Return how the background command ended whose output a call reads."""
    code = _JOB_CODE.search(output) if use.tool in _READS_JOB else None
    return int(code[1]) if code else None


def _ended_jobs(use: ToolUse, output: str) -> tuple[str, ...]:
    """Return the job that a call stopped, or whose output says that it has ended."""
    if isinstance(use.input, str) or use.tool not in (*_STOPS_JOB, *_READS_JOB):
        return ()
    job_id = next((value for key in _JOB_KEYS if isinstance(value := use.input.get(key), str)), None)
    has_ended = use.tool in _STOPS_JOB or _JOB_ENDED.search(output) is not None
    return (job_id,) if job_id and has_ended else ()


def finished_jobs(record: Record) -> tuple[FinishedJob, ...]:
    """Return the background jobs whose end a record reports, each with its own report."""
    notices = (_NOTICE.findall(block.text) for block in record.blocks if isinstance(block, Text))
    found = []
    for notice in (each for several in notices for each in several):
        job_id, report = _NOTICE_ID.search(notice), _NOTICE_RESULT.search(notice)
        if job_id and _JOB_ENDED.search(notice):
            found.append(FinishedJob(job_id[1].strip(), report[1].strip() if report else ""))
    return tuple(found)


def _failure(use: ToolUse, output: str) -> Answer:
    is_from_client = not use.tool.startswith(_MCP)
    if is_from_client and output.startswith((_REFUSED, *_REFUSED_OTHERWISE)):
        user_text = output.partition(_USER_SAID)[2].strip() if output.startswith(_REFUSED) else ""
        clarifies = user_text.startswith(_CLARIFIES)
        return Answer(
            text=output,
            failed=True,
            refused=True,
            user_text="" if clarifies else user_text,
            chosen=tuple(_CLARIFIED.findall(user_text)) if clarifies else (),
            approved=False if use.tool == "ExitPlanMode" else None,
        )
    if is_from_client and output.startswith(_INTERRUPTED):
        return Answer(text=output)
    code = _EXIT_CODE.match(output)
    if code:
        return Answer(text=output[code.end() :], exit_code=int(code[1]), failed=True)
    wrapped = _WRAPPED.match(output)
    return Answer(text=wrapped[1] if wrapped else output, failed=True)


def _user_choices(arguments: JsonObject | str, output: str) -> tuple[tuple[str, str], ...]:
    """Return each question with its answer from a list of ``"question"="answer"``.

    Answers may contain quotes and commas, so the questions show where each begins.
    """
    questions = _questions(arguments) if isinstance(arguments, dict) else []
    positions = [(output.find(f'"{question}"="'), question) for question in questions]
    begins = sorted(position for position in positions if position[0] >= 0)
    ends = [*(start for start, _ in begins[1:]), len(output)]
    choices = []
    for (start, question), end in zip(begins, ends, strict=False):  # no question, no answer
        answer = output[start + len(question) + 4 : end]
        last = _CHOSEN_END.search(answer) if end == len(output) else None
        choices.append((question, answer[: last.start()] if last else answer.removesuffix('", ')))
    return tuple(choices)


def _questions(arguments: JsonObject) -> list[str]:
    texts = [text(row, "question") for row in rows(arguments, "questions") if isinstance(row, dict)]
    return [question for question in texts if question]


def _todo_id(output: str) -> str | None:
    found = _CREATED.search(output)
    return found[1] if found else None


def _run_command(arguments: JsonObject) -> tuple[Action, ...]:
    command = text(arguments, "command")
    return (Ran(command, purpose=text(arguments, "description")),) if command else ()


def _read_file(arguments: JsonObject) -> tuple[Action, ...]:
    path = text(arguments, "file_path") or text(arguments, "notebook_path")
    if path is None:
        return ()
    first, lines = count(arguments, "offset"), count(arguments, "limit")
    return (Looked(path, first, (first or 1) + lines - 1 if lines else None),)


def _search(arguments: JsonObject) -> tuple[Action, ...]:
    pattern = text(arguments, "pattern") or text(arguments, "path")
    return (Searched(pattern, text(arguments, "path") or text(arguments, "glob")),) if pattern else ()


def _edit_file(arguments: JsonObject) -> tuple[Action, ...]:
    path = text(arguments, "file_path")
    edits = [edit for edit in rows(arguments, "edits") or [arguments] if isinstance(edit, dict)]
    if path is None:
        return ()
    return tuple(
        Changed(path, text(edit, "old_string") or "", text(edit, "new_string") or "") for edit in edits
    )


def _edit_notebook(arguments: JsonObject) -> tuple[Action, ...]:
    path = text(arguments, "notebook_path")
    return (Changed(path, "", text(arguments, "new_source") or ""),) if path else ()


def _write_file(arguments: JsonObject) -> tuple[Action, ...]:
    path = text(arguments, "file_path")
    return (Wrote(path, text(arguments, "content") or ""),) if path else ()


def _plan(arguments: JsonObject) -> tuple[Action, ...]:
    todos = [todo for todo in rows(arguments, "todos") if isinstance(todo, dict)]
    return (Planned(tuple(Todo(text(todo, "content") or "", _status(todo) or "pending") for todo in todos)),)


def _add_todo(arguments: JsonObject) -> tuple[Action, ...]:
    return (TodoSet(None, text(arguments, "subject") or text(arguments, "description") or "", "pending"),)


def _set_todo(arguments: JsonObject) -> tuple[Action, ...]:
    number = arguments.get("taskId")
    return (
        (TodoSet(str(number), text(arguments, "subject"), _status(arguments)),) if number is not None else ()
    )


def _status(arguments: JsonObject) -> TodoStatus | None:
    return _STATUSES.get(text(arguments, "status") or "")


def _delegate(arguments: JsonObject) -> tuple[Action, ...]:
    prompt = text(arguments, "prompt") or ""
    return (
        Delegated(text(arguments, "description") or prompt[:80], prompt, to=text(arguments, "subagent_type")),
    )


def _ask_user(arguments: JsonObject) -> tuple[Action, ...]:
    return (Questioned(tuple(_questions(arguments))),)


def _propose(arguments: JsonObject) -> tuple[Action, ...]:
    return (Proposed(text(arguments, "plan") or ""),)


def _fetch(arguments: JsonObject) -> tuple[Action, ...]:
    what = text(arguments, "url") or text(arguments, "query")
    return (Fetched(what),) if what else ()


_TOOLS: Mapping[str, Callable[[JsonObject], tuple[Action, ...]]] = {
    "Bash": _run_command,
    "Read": _read_file,
    "NotebookRead": _read_file,
    "Grep": _search,
    "Glob": _search,
    "LS": _search,
    "Edit": _edit_file,
    "MultiEdit": _edit_file,
    "NotebookEdit": _edit_notebook,
    "Write": _write_file,
    "TodoWrite": _plan,
    "TaskCreate": _add_todo,
    "TaskUpdate": _set_todo,
    "Task": _delegate,
    "Agent": _delegate,
    "AskUserQuestion": _ask_user,
    "ExitPlanMode": _propose,
    "WebFetch": _fetch,
    "WebSearch": _fetch,
}
