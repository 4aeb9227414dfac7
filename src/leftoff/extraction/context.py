"""State what must not be guessed: the user's rules, what is committed, the files that changed and why, how the work is checked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from leftoff.core.budget import count_quarters
from leftoff.core.markdown import AS_GIT_SAID
from leftoff.core.provenance import Ground
from leftoff.core.quantities import count
from leftoff.core.resume_log import ResumeLog
from leftoff.extraction import checks
from leftoff.extraction.state import Command, Commit, File, Ref, State
from leftoff.extraction.wording import quote, relative_path, shorten

_CONTEXT_QUARTERS = ResumeLog.TOKEN_BUDGET["critical_context"] * 4
_MAX_NAMED_FILES = 15
_MAX_NAMED_REMOVED = 3
_MAX_NAMED_COMMITS = 5  # the last ones
_MAX_NAMED_RULES = 20  # of those left out
_HALF_LIFE_CALLS = 60

_OTHER_VERSION_CONTROL = re.compile(r"(?:^|[;&|]\s*)(?:jj|hg|sl|svn) ", re.MULTILINE)
_SAYS_COMMITTED = re.compile(r"\bcommit(?:ted)?\b[^.\n]{0,40}\b[0-9a-f]{7,40}\b", re.IGNORECASE)
_T = TypeVar("_T")
Entries = list[tuple[str, list[Ref]]]


def critical_context(state: State, ground: Ground | None) -> dict[str, Any]:
    """Return the rules, then what must not be guessed: the state of the work, the files that changed and why, how it is checked."""
    places = (("project", state.project, state.project_ref), ("branch", state.branch, state.branch_ref))
    return {
        "user_rules": _rules(state),
        "state": [*_git_state(state, ground)],
        "files": dict(_files(state)),
        "commands": _commands(state),
        "where": {name: (text, [ref]) for name, text, ref in places if text and ref is not None},
    }


def _fit(entries: Iterable[_T], room: int, text_of: Callable[[_T], str]) -> list[_T]:
    """Return the first entries that fit."""
    kept: list[_T] = []
    for entry in entries:
        room -= count_quarters(text_of(entry)) + 8
        if room < 0:
            break
        kept.append(entry)
    return kept


def _rules(state: State) -> Entries:
    """Return the rules word for word, the newest if they do not all fit; of the others only the places."""
    rules = [rule for rule in state.rules if rule.kind == "rule"]
    kept = _fit(reversed(rules), _CONTEXT_QUARTERS // 2, lambda rule: rule.text)
    entries: Entries = []
    if left_out := rules[: len(rules) - len(kept)]:
        refs = [rule.ref for rule in left_out[:_MAX_NAMED_RULES]]
        places = ", ".join(str(ref.line_idx + 1) for ref in refs)
        note = f"({count(len(left_out), 'earlier rule')} left out to fit: lines {places} of the transcript)"
        entries.append((note, refs))
    for rule in reversed(kept):
        later = f" (superseded by: “{rule.superseded_by}”)" if rule.superseded_by else ""
        entries.append((f"“{rule.text}”{later}", [rule.ref]))
    return entries


def _git_state(state: State, ground: Ground | None) -> Iterator[tuple[str, list[Ref]]]:
    """Say what is committed and pushed: as git says when the log is saved, else as the transcript tells."""
    here = [commit for commit in state.commits if not commit.is_elsewhere]
    last = here[-1] if here else None
    changed = [file for file in state.files.values() if file.edits or file.last in ("deleted", "moved")]
    since = [file for file in changed if last is None or file.edited_at > last.call]
    refs = [last.ref] if last is not None else [file.ref.with_excerpt(file.path) for file in since[-1:]]
    if not refs and state.project_ref is not None:
        refs = [state.project_ref]
    if ground is not None and ground.dirty is not None:
        if ground.dirty:
            yield f"Not committed, {AS_GIT_SAID}: {_name_files(ground.dirty)}", refs
        elif ground.head is not None:
            yield f"Everything is committed, {AS_GIT_SAID} (HEAD {ground.head[:10]})", refs
    elif since:
        yield _changed_since(state, since, last), refs
    elif last is not None:
        yield f"Nothing was changed after commit {_name_commit(last)}", refs
    if last is not None:
        pushed = "pushed" if state.pushed_at >= last.call else "the last was not pushed in this session"
        named = [_name_commit(commit) for commit in here[-_MAX_NAMED_COMMITS:]]
        earlier = f"{len(here) - len(named)} more, " if len(here) > len(named) else ""
        yield f"Committed in this session: {earlier}{', '.join(named)}; {pushed}", [last.ref]


def _changed_since(state: State, files: Sequence[File], last: Commit | None) -> str:
    gone = ("deleted", "moved")
    left = [file for file in reversed(files) if file.last not in gone or not file.is_new]
    if not left:
        return "All files created since were removed again"
    when = f" since commit {_name_commit(last)}" if last is not None else ""
    told: list[str] = []
    for verb, is_removed, most in (
        ("Changed", False, _MAX_NAMED_FILES),
        ("Deleted", True, _MAX_NAMED_REMOVED),
    ):
        named = [file.path for file in left if (file.last == "deleted") is is_removed]
        if named:
            paths = [relative_path(path, state.project) for path in named]
            told.append(f"{verb if not told else verb.lower()}{when}: {_name_files(paths, most)}")
            when = ""
    told += ["subagents may have changed more"] if state.agents else []
    text = "; ".join(told)
    if last is not None:
        return text
    said = (each.text for each in state.passages if each.kind in ("reply", "outcome"))
    commands = (each.text for each in state.commands.values())
    may_be = any(map(_SAYS_COMMITTED.search, said)) or any(map(_OTHER_VERSION_CONTROL.search, commands))
    return text + ("" if may_be or state.commits else "; no commit was seen in this session")


def _name_commit(commit: Commit) -> str:
    """Name a commit; one that was made quietly has no known hash."""
    return f"`{commit.sha}` ({quote(commit.subject, 80)})" if commit.sha else quote(commit.subject, 80)


def _name_files(names: Sequence[str], most: int = _MAX_NAMED_FILES) -> str:
    more = len(names) - most
    named = ", ".join(f"`{name}`" for name in names[:most])
    return f"{named} and {more} more" if more > 0 else named


def _files(state: State) -> list[tuple[str, tuple[str, list[Ref]]]]:
    """Return the files that were changed, with what was done and why, then the ones read most; best first."""

    def score(file: File) -> float:
        recency = math.pow(0.5, max(0, state.calls - file.call) / _HALF_LIFE_CALLS)
        changed = 2.0 if file.edits or file.last in ("deleted", "moved") else 0.0
        return changed + math.log2(2 + file.reads + 3 * file.edits) * recency

    known = [
        file
        for file in state.files.values()
        if file.edits or file.last not in ("read", "searched") or file.reads > 1
    ]
    told = (
        (relative_path(file.path, state.project), (_describe_file(file), [file.ref.with_excerpt(file.path)]))
        for file in sorted(known, key=score, reverse=True)
    )
    return _fit(told, _CONTEXT_QUARTERS * 5 // 16, lambda entry: entry[0] + entry[1][0])


def _describe_file(file: File) -> str:
    if file.last == "deleted":
        return "deleted"
    if file.last == "moved":
        return f"moved to {file.moved_to}"
    if not file.edits:
        return f"read {count(file.reads, 'time')}"
    edits = file.edits - file.is_new
    times = f", {count(edits, 'edit')}" if edits else ""
    why = "; ".join(shorten(purpose, 110) for purpose in file.purposes[-2:])
    return f"{'created' if file.is_new else 'changed'}{times}" + (f": {why}" if why else "")


def _commands(state: State) -> Entries:
    """Return the commands that check, run or ship the work, with how they ended; those likely to be run again first."""

    def score(command: Command) -> float:
        use = math.log2(1 + command.runs) + checks.is_check(command)
        recency = math.pow(0.5, max(0, state.calls - command.call) / (2 * _HALF_LIFE_CALLS))
        return use * (0.5 + recency) * (0.1 + 0.9 * min(1.0, 80 / max(1, len(command.text))))

    last_edit = checks.last_edit(state)
    useful = [each for each in state.commands.values() if not checks.looks_around(each.text)]
    forms = Counter(each.text for each in useful)
    told = []
    for command in sorted(useful, key=score, reverse=True):
        folder = relative_path(command.folder, state.project) if forms[command.text] > 1 else ""
        told.append((_describe_command(command, last_edit, folder), command.refs))
    return _fit(told, _CONTEXT_QUARTERS * 3 // 16, lambda entry: entry[0])


def _describe_command(command: Command, last_edit: int, folder: str) -> str:
    """Return a command with how it ended; ``folder`` is named where the same command ran in several."""
    is_check = checks.is_check(command)
    passed = "passed" if is_check else "worked"
    if command.runs == 1:
        unknown = "outcome not shown" if is_check else "ran"
        ended = {"passed": passed, "failed": "failed", "unknown": unknown}[command.outcome]
    else:
        last = {"passed": f", the last {passed}", "failed": ", the last failed"}
        ended = f"{command.runs} runs"
        if is_check or command.failures or command.outcome != "unknown":
            unknown = ", outcome of the last not shown" if is_check else ""
            ended += f", {command.failures} failed{last.get(command.outcome, unknown)}"
    said = f" ({quote(command.said, 80)})" if command.said else ""
    if is_check and command.call < last_edit:
        said += ", before the last change"
    purpose = f"; {shorten(command.purpose, 80)}" if command.purpose else ""
    where = f"in `{folder}`: " if folder else ""
    return f"`{command.text}` → {where}{ended}{said}{purpose}"
