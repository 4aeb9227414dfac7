"""Add a finished tool call to the state: files, commands, to-dos, commits, background jobs, reports, verdicts of the user."""

from __future__ import annotations

import re
from typing import NamedTuple

from leftoff.core.actions import (
    Action,
    Answer,
    Changed,
    Delegated,
    Planned,
    Proposed,
    Ran,
    TodoSet,
    Wrote,
)
from leftoff.core.records import Record
from leftoff.extraction import checks, files, user_rules
from leftoff.extraction.state import (
    Command,
    Commit,
    Job,
    Outcome,
    Passage,
    Ref,
    State,
    TodoFact,
    make_ref,
    truncate,
)

_MAX_COMMAND_CHARS = 600
_MAX_TEXT_CHARS = 8_000
_MIN_OUTPUT_CHARS = 40
_MAX_OUTPUTS, _MAX_OUTPUT_CHARS = 3, 1_500
_LAST_PASSAGES = 40  # among which no more outputs are kept
_MAX_EDIT_CHARS = 600
_WHOLE_NOTE_CHARS = 1_000
_VERDICTS = {True: "approved", False: "rejected", None: ""}
_COMMITTED = re.compile(
    r"(?:^|\bstdout: )\[([^\]\n]*?) ?(?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$", re.MULTILINE
)
_MESSAGE = re.compile(
    r"<<-?\s*['\"]?(?P<end>\w+)['\"]?\n(?P<heredoc>.*?)\n\s*(?P=end)\b"
    r"|-[a-z]*m\s*(?P<quote>['\"])(?P<quoted>.*?)(?<!\\)(?P=quote)",
    re.DOTALL,
)
_QUIET_COMMIT = re.compile(r"\bgit(?: -C \S+)? commit\b[^\n;&|]*\s(?:-q|--quiet|-[a-z]*q[a-z]*)\b")
_TRAILER = re.compile(
    r"^(?:Co-Authored-By|Signed-off-by|🤖|[A-Z][\w-]+-(?:Id|Checkpoint|Session)): ?.*$|^🤖.*$",
    re.MULTILINE | re.IGNORECASE,
)
_PUSH_SHOWN = re.compile(r"^ [ +*] ?\S+(?:\.\.\.?\S+| \[new branch\]) +\S+ -> \S+|^ \* \[new ", re.MULTILINE)
_ON_BRANCH = re.compile(r"^(?:On branch |## )([\w./-]+?)(?=\.\.\.|\s|\Z)", re.MULTILINE)
_PUSHED = re.compile(r"\bgit(?: -C \S+)? push\b")
_SHOWS_HOW_IT_ENDED = re.compile(rf"{_COMMITTED.pattern}|{checks.ENDED.pattern}", re.MULTILINE)
_CHANGES_FOLDER = re.compile(r"\s*cd\s+([^\s;&|]+)\s*&&")
_FOLDER = re.compile(r"(?:\bcd|\bgit -C)\s+(\S+)")


class Call(NamedTuple):
    """A request with its answer. ``record`` holds the answer and becomes a source only where one is needed."""

    asked: Ref
    record: Record
    actions: tuple[Action, ...]
    answer: Answer

    def answer_ref(self, excerpt: str) -> Ref:
        """Return the answer as a source, quoted with ``excerpt``."""
        return make_ref(self.record, excerpt)


def add_call(state: State, call: Call) -> None:
    """Add a call and its result. Calls of a subagent count for files only."""
    is_main, answer = call.record.actor is None, call.answer
    if is_main:
        state.calls += 1
        state.errors += bool(answer.failed and not answer.refused)
        if answer.refused or answer.chosen or answer.approved:
            user_rules.add_verdict(state, call.answer_ref(answer.user_text), call.actions, answer)
        _end_jobs(state, call)
    for action in call.actions:
        if is_main and isinstance(action, Proposed):
            _add_passage(state, call.asked, "plan", action.plan, _VERDICTS[answer.approved])
        if not answer.refused:
            files.add_file(state, call.asked, action, failed=bool(answer.failed), is_main=is_main)
            if is_main:
                _add_action(state, call, action)


def _end_jobs(state: State, call: Call) -> None:
    """Forget the jobs that ended; where the answer says how, they count as commands that were run."""
    for job_id in call.answer.ended_jobs:
        job = state.jobs.pop(job_id, None)
        is_worth_it = call.answer.exit_code is not None or _SHOWS_HOW_IT_ENDED.search(call.answer.text)
        if job is not None and is_worth_it:
            _add_command(state, call._replace(asked=job.ref), Ran(job.command))


def _add_action(state: State, call: Call, action: Action) -> None:
    match action:
        case Ran():
            _add_command(state, call, action)
        case Planned() | TodoSet():
            _update_todos(state, call.asked, action, call.answer)
        case Delegated(task, prompt, to):
            state.agents += [to] if to and to not in state.agents else []
            about, report, job_id = task or truncate(prompt, 100), call.answer.text, call.answer.job_id
            if job_id is not None:
                state.jobs[job_id] = Job(call.asked.with_excerpt(about), job_id, about)
            elif not call.answer.failed:
                _add_passage(state, call.answer_ref(report), "report", report, about)
        case Wrote() | Changed() if not call.answer.failed:
            _add_written(state, call.asked, action)
        case _:
            pass


def _add_written(state: State, ref: Ref, action: Wrote | Changed) -> None:
    """Keep the prose that was written, and of other files what was changed in them."""
    is_prose = action.path.endswith(checks.PROSE)
    if isinstance(action, Changed):
        text = action.new if is_prose else _difference(action.old, action.new)
        _add_passage(state, ref, "note" if is_prose else "edit", text, action.path)
    elif is_prose:
        _add_passage(state, ref, "note", action.text, action.path)


def _difference(old: str, new: str) -> str:
    """Return the lines that an edit removed and added, without those that it only repeats around them."""
    before, after = old.splitlines(), new.splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    added = "\n".join(f"+{line}" for line in after)
    removed = "\n".join(f"-{line}" for line in before)
    # What was added says more, so a long removal does not take its room.
    removed = _cut(removed, max(_MAX_EDIT_CHARS // 2, _MAX_EDIT_CHARS - len(added)))
    added = _cut(added, _MAX_EDIT_CHARS - len(removed))
    lines = "\n".join(filter(None, [removed, added]))
    return f"```diff\n{lines}\n```" if lines else ""


def _cut(lines: str, max_chars: int) -> str:
    """Return whole lines, with a mark where others follow."""
    return (
        lines if len(lines) <= max_chars else f"{lines[:max_chars].rpartition(chr(10))[0]}\n […]".lstrip("\n")
    )


def _add_passage(state: State, ref: Ref, kind: str, text: str, about: str) -> None:
    """Keep prose that may be quoted; a document that is written again replaces what was kept of it."""
    text = truncate(text.strip(), _MAX_TEXT_CHARS)
    if not text:
        return
    if kind == "plan":  # only the last version of a plan counts
        state.passages[:] = [each for each in state.passages if each.kind != "plan"]
    if kind == "note" and len(text) > _WHOLE_NOTE_CHARS:
        state.passages[:] = [each for each in state.passages if (each.kind, each.about) != (kind, about)]
    state.passages.append(Passage(ref.with_excerpt(text), kind, text, about, state.turns, state.calls))  # type: ignore[arg-type]


def _update_todos(state: State, ref: Ref, action: Planned | TodoSet, answer: Answer) -> None:
    """Update the agent's to-do list, whole or entry by entry."""
    if answer.failed:
        return
    if isinstance(action, Planned):
        _replace_todos(state, ref, action)
    elif action.id is None:
        text, status = action.text or "", action.status or "pending"
        state.todos.append(TodoFact(ref.with_excerpt(text), answer.todo_id or "", text, status, state.calls))
    else:
        state.todos[:] = [
            todo._replace(
                text=action.text or todo.text, status=action.status or todo.status, call=state.calls
            )
            if todo.id == action.id
            else todo
            for todo in state.todos
        ]


def _replace_todos(state: State, ref: Ref, plan: Planned) -> None:
    """Take over a new list. What was finished before stays known; what is no longer on it was given up."""
    named = {todo.text for todo in plan.todos}
    earlier = {(todo.text, todo.status): todo for todo in state.todos}
    state.todos[:] = [todo for todo in state.todos if todo.status == "completed" and todo.text not in named]
    for text, status in ((todo.text, todo.status) for todo in plan.todos):
        # What did not change has its source where it was first written.
        fact = TodoFact(ref.with_excerpt(text), "", text, status, state.calls)
        state.todos.append(earlier.get((text, status), fact))


def _add_command(state: State, call: Call, ran: Ran) -> None:
    command, answer = ran.command.strip(), call.answer
    text = truncate(command, _MAX_COMMAND_CHARS)
    if answer.job_id is not None:
        if checks.looks_around(command):
            return  # it ends by itself, and nobody waits for it
        state.jobs = {key: job for key, job in state.jobs.items() if job.command != text}
        state.jobs[answer.job_id] = Job(call.asked.with_excerpt(text), answer.job_id, text)
        return
    folder = _folder_elsewhere(state, ran)
    name = f"{checks.name_of(text)} @ {folder}" if folder else checks.name_of(text)
    outcome, said = checks.read_outcome(command, answer)
    has_failed = outcome == "failed"
    earlier = state.commands.pop(name, None)
    state.commands[name] = Command(
        ref=call.asked,
        name=name,
        text=text,
        runs=earlier.runs + 1 if earlier else 1,
        failures=(earlier.failures if earlier else 0) + has_failed,
        outcome=outcome,
        call=state.calls,
        said=said,
        purpose=truncate(ran.purpose or "", 120) or (earlier.purpose if earlier else ""),
        result_ref=call.answer_ref(said) if said else None,
        folder=folder,
    )
    _count_parts(state, command, outcome)
    _add_git_state(state, call, command, has_failed=has_failed, is_here=not folder)
    if not said and len(answer.text) >= _MIN_OUTPUT_CHARS and not has_failed:
        _add_output(state, call.answer_ref(answer.text), answer.text, text)


def _count_parts(state: State, command: str, outcome: Outcome) -> None:
    """Where all commands of a line passed (``fmt && lint && test``), each of them that is known has passed now."""
    parts = command.split("&&") if outcome == "passed" else []
    for name in (checks.name_of(part.strip()) for part in parts[: len(parts) if len(parts) > 1 else 0]):
        if (known := state.commands.pop(name, None)) is not None:
            state.commands[name] = known._replace(
                runs=known.runs + 1, outcome="passed", said="", result_ref=None, call=state.calls
            )


def _add_output(state: State, ref: Ref, output: str, command: str) -> None:
    """Keep the end of the last outputs, which the agent may not have commented yet."""
    last = range(max(0, len(state.passages) - _LAST_PASSAGES), len(state.passages))
    known = [number for number in last if state.passages[number].kind == "output"]
    if len(known) >= _MAX_OUTPUTS:
        del state.passages[known[0]]
    if len(output) > _MAX_OUTPUT_CHARS:
        output = output[-_MAX_OUTPUT_CHARS:].partition("\n")[2]
    _add_passage(state, ref, "output", output, command)


def _folder_elsewhere(state: State, ran: Ran) -> str:
    """Return the folder that a command ran in, if that is another than the project's: there it is another command."""
    changed_to = _CHANGES_FOLDER.match(ran.command)
    folder = files.below(ran.folder or state.project, changed_to[1]) if changed_to else ran.folder or ""
    return "" if not state.project or folder.rstrip("/") == state.project.rstrip("/") else folder


def _add_git_state(state: State, call: Call, command: str, *, has_failed: bool, is_here: bool) -> None:
    """Note what was committed and pushed; what the output shows was done even if a later command of the line failed."""
    is_here = is_here and not _FOLDER.search(command)
    if is_here and "git" in command and (branch := _ON_BRANCH.search(call.answer.text)):
        state.branch, state.branch_ref = branch[1], call.answer_ref(branch[0])
    if "push" in command and _PUSHED.search(command):
        is_shown = _PUSH_SHOWN.search(call.answer.text) is not None
        state.pushed_at = state.pushed_at if has_failed and not is_shown else state.calls
    if "commit" not in command:
        return
    message = _MESSAGE.search(command)
    lines = ((message["heredoc"] or message["quoted"] or "") if message else "").strip().split("\n", 1)
    body = _TRAILER.sub("", lines[1]).strip() if len(lines) > 1 else ""
    folder = _FOLDER.search(command)
    is_elsewhere = folder is not None and not _is_near(folder[1].strip("'\""), state.project)
    shown = _COMMITTED.findall(call.answer.text[:4_000])
    if not shown and not has_failed and _QUIET_COMMIT.search(command):
        texts = (each["heredoc"] or each["quoted"] or "" for each in _MESSAGE.finditer(command))
        shown = [(" ", "", subject) for text in texts if (subject := text.strip().split("\n", 1)[0])]
    if shown and "--amend" in command and state.commits:
        state.commits.pop()
    for branch, sha, subject in shown:
        if " " not in branch and not is_elsewhere:
            state.branch, state.branch_ref = branch, call.answer_ref(branch)
        body = body if lines[0].strip() == subject.strip() else ""
        state.commits.append(
            Commit(
                call.answer_ref(subject),
                sha,
                truncate(subject, 160),
                state.calls,
                truncate(body, 1_500),
                is_elsewhere,
            )
        )


def _is_near(folder: str, project: str) -> bool:
    """Return whether a folder is in the project or around it; relative ones are."""
    one, other = folder.rstrip("/") + "/", project.rstrip("/") + "/"
    return not folder.startswith(("/", "~")) or one.startswith(other) or other.startswith(one)
