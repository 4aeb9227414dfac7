"""State what must not be guessed: the user's rules, what is committed, the files that changed and why, how the work is checked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from leftoff.core.budget import count_quarters
from leftoff.core.markdown import AS_GIT_SAID
from leftoff.core.provenance import Ground
from leftoff.core.quantities import count
from leftoff.core.resume_log import ResumeLog
from leftoff.extraction import checks
from leftoff.extraction.state import Command, Commit, File, Ref, Rule, State
from leftoff.extraction.wording import quote, relative_path, shorten

_CONTEXT_QUARTERS = ResumeLog.TOKEN_BUDGET["critical_context"] * 4
_RULES_QUARTERS = _CONTEXT_QUARTERS // 2
_FILES_QUARTERS = _CONTEXT_QUARTERS * 5 // 16
_COMMANDS_QUARTERS = _CONTEXT_QUARTERS * 3 // 16
_MAX_NAMED_FILES = 15
_MAX_NAMED_COMMITS = 5  # the last ones
_HALF_LIFE_CALLS = 60
_OTHER_VERSION_CONTROL = re.compile(r"(?:^|[;&|]\s*)(?:jj|hg|sl|svn) ", re.MULTILINE)


def critical_context(state: State, ground: Ground | None) -> dict[str, Any]:
    """Return the rules, then what must not be guessed: the state of the work, the files that changed and why, how it is checked."""
    return {
        "user_rules": _rules(state),
        "state": [*_git_state(state, ground)],
        "files": _files(state),
        "commands": _commands(state),
        "where": {
            name: (text, [ref])
            for name, text, ref in (
                ("project", state.project, state.project_ref),
                ("branch", state.branch, state.branch_ref),
            )
            if text and ref is not None
        },
    }


def _rules(state: State) -> list[tuple[str, list[Ref]]]:
    """Return the rules word for word, the newest if they do not all fit; of the others only the places."""
    rules = [rule for rule in state.rules if rule.kind == "rule"]
    kept: list[Rule] = []
    room = _RULES_QUARTERS
    for rule in reversed(rules):
        room -= count_quarters(rule.text) + 8
        if room < 0:
            break
        kept.insert(0, rule)
    entries = [
        (
            f"“{rule.text}”" + (f" (superseded by: “{rule.superseded_by}”)" if rule.superseded_by else ""),
            [rule.ref],
        )
        for rule in kept
    ]
    if left_out := rules[: len(rules) - len(kept)]:
        places = ", ".join(str(rule.ref.line_idx + 1) for rule in left_out[:20])
        note = f"({count(len(left_out), 'earlier rule')} left out to fit: lines {places} of the transcript)"
        entries.insert(0, (note, [rule.ref for rule in left_out[:20]]))
    return entries


def _git_state(state: State, ground: Ground | None) -> Iterator[tuple[str, list[Ref]]]:
    """Say what is committed and pushed: as git says when the log is saved, else as the transcript tells."""
    here = [commit for commit in state.commits if not commit.is_elsewhere]
    last = here[-1] if here else None
    changed = [file for file in state.files.values() if file.edits or file.last in ("deleted", "moved")]
    since = [file for file in changed if last is None or file.edited_at > last.call]
    by_others = "; what subagents changed is not in this list" if state.agents or _has_reports(state) else ""
    refs = [last.ref] if last is not None else [file.ref.with_excerpt(file.path) for file in since[-1:]]
    if not refs and state.project_ref is not None:
        refs = [state.project_ref]
    if ground is not None and ground.dirty is not None:
        if ground.dirty:
            yield f"Not committed, {AS_GIT_SAID}: {_name_files(ground.dirty)}", refs
        elif ground.head is not None:
            yield f"Everything is committed, {AS_GIT_SAID} (HEAD {ground.head[:10]})", refs
    elif since:
        names = _name_files([relative_path(file.path, state.project) for file in reversed(since)])
        yield (
            f"Changed since commit {_name_commit(last)}: {names}{by_others}"
            if last is not None
            else f"Changed: {names}{by_others}{_without_commit(state)}",
            refs,
        )
    elif last is not None:
        yield f"Nothing was changed after commit {_name_commit(last)}", refs
    if last is not None:
        pushed = "pushed" if state.pushed_at >= last.call else "the last was not pushed in this session"
        named = [_name_commit(commit) for commit in here[-_MAX_NAMED_COMMITS:]]
        earlier = f"{len(here) - len(named)} more, " if len(here) > len(named) else ""
        yield f"Committed in this session: {earlier}{', '.join(named)}; {pushed}", [last.ref]


def _has_reports(state: State) -> bool:
    return any(each.kind == "report" for each in state.passages)


def _without_commit(state: State) -> str:
    """Say that no commit was seen, unless another program than git may have made one."""
    uses_other = any(_OTHER_VERSION_CONTROL.search(command.text) for command in state.commands.values())
    return "" if uses_other else "; no commit was seen in this session"


def _name_commit(commit: Commit) -> str:
    """Name a commit; one that was made quietly has no known hash."""
    return f"`{commit.sha}` ({quote(commit.subject, 80)})" if commit.sha else quote(commit.subject, 80)


def _name_files(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMED_FILES
    return ", ".join(f"`{name}`" for name in names[:_MAX_NAMED_FILES]) + (
        f" and {more} more" if more > 0 else ""
    )


def _files(state: State) -> dict[str, tuple[str, list[Ref]]]:
    """Return the files that were changed, with what was done and why, then the ones read most; best first."""
    known = (
        file
        for file in state.files.values()
        if file.edits or file.reads != 1 or file.last in ("deleted", "moved")
    )
    ranked = sorted(known, key=lambda file: -_file_score(file, state.calls))
    found: dict[str, tuple[str, list[Ref]]] = {}
    room = _FILES_QUARTERS
    for file in ranked:
        path, text = relative_path(file.path, state.project), _describe_file(file)
        room -= count_quarters(path + text) + 12
        if room < 0:
            break
        found[path] = (text, [file.ref.with_excerpt(file.path)])
    return found


def _file_score(file: File, now: int) -> float:
    recency = math.pow(0.5, max(0, now - file.call) / _HALF_LIFE_CALLS)
    changed = 2.0 if file.edits or file.last in ("deleted", "moved") else 0.0
    return changed + math.log2(2 + file.reads + 3 * file.edits) * recency


def _describe_file(file: File) -> str:
    if file.last == "deleted":
        return "deleted"
    if file.last == "moved":
        return f"moved to {file.moved_to}"
    if not file.edits:
        return f"read {count(file.reads, 'time')}" if file.reads else "searched"
    done = "created" if file.is_new else "changed"
    edits = file.edits - file.is_new
    times = f", {count(edits, 'edit')}" if edits else ""
    why = "; ".join(shorten(purpose, 110) for purpose in file.purposes[-2:])
    return f"{done}{times}" + (f": {why}" if why else "")


def _commands(state: State) -> list[tuple[str, list[Ref]]]:
    """Return the commands that check, run or ship the work, with how they ended; the most used first."""
    found: list[tuple[str, list[Ref]]] = []
    room = _COMMANDS_QUARTERS
    last_edit = checks.last_edit(state)
    useful = [each for each in state.commands.values() if not checks.looks_around(each.text)]
    forms = Counter(each.text for each in useful)
    for command in sorted(useful, key=lambda each: -_command_score(each, state.calls)):
        folder = relative_path(command.folder, state.project) if forms[command.text] > 1 else ""
        text = _describe_command(command, last_edit, folder)
        if count_quarters(text) + 8 <= room:
            room -= count_quarters(text) + 8
            found.append((text, command.refs))
    return found


def _command_score(command: Command, now: int) -> float:
    """Score a command by how likely it is to be run again: often run, short, or checking the work."""
    use = math.log2(1 + command.runs) + (1.0 if checks.is_check(command) else 0.0)
    recency = math.pow(0.5, max(0, now - command.call) / (2 * _HALF_LIFE_CALLS))
    return use * (0.5 + recency) * (0.1 + 0.9 * min(1.0, 80 / max(1, len(command.text))))


def _describe_command(command: Command, last_edit: int, folder: str) -> str:
    """Return a command with how it ended; ``folder`` is named where the same command ran in several."""
    if command.runs == 1:
        ended = {
            "passed": "passed" if checks.is_check(command) else "worked",
            "failed": "failed",
            "unknown": "outcome not shown",
        }[command.outcome]
    else:
        ended = (
            f"{command.runs} runs, {command.failures} failed, "
            + {
                "passed": "the last passed" if checks.is_check(command) else "the last worked",
                "failed": "the last failed",
                "unknown": "outcome of the last not shown",
            }[command.outcome]
        )
    said = f" ({quote(command.said, 80)})" if command.said else ""
    if checks.is_check(command) and command.call < last_edit:
        said += ", before the last change"
    purpose = f"; {shorten(command.purpose, 80)}" if command.purpose else ""
    where = f"in `{folder}`: " if folder else ""
    return f"`{command.text}` → {where}{ended}{said}{purpose}"
