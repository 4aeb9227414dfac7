"""What happened to a file, a command or an error in earlier sessions, or in one session, with outcomes and reasons.

The search index says which sessions to read; each is read once. A change has the prompt it followed, and of what the agent said in
that turn the sentence that most likely gives the reason: one that names the file or has a word such as *because*.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from leftoff.core.actions import Action, Changed, Looked, Moved, Ran, Removed, Wrote
from leftoff.core.records import Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.errors import LeftoffError, UsageError
from leftoff.extraction import wording
from leftoff.extraction.checks import read_outcome
from leftoff.mcp.texts import Cleaner
from leftoff.search.search import SearchRequest, search
from leftoff.sessions.find import find_session, session_at
from leftoff.workspace import SessionRef, Workspace

What = Literal["read", "changed", "created", "deleted", "moved", "passed", "failed", "ran", "asked"]
CHANGES: tuple[What, ...] = ("changed", "created", "deleted", "moved")
MAX_SESSIONS = 12  # read for one answer, the newest
_MAX_ABOUT_CHARS, _MAX_PROMPT_CHARS, _MAX_REASON_CHARS = 200, 200, 240
_NEAR_TEXTS = 20  # before and after a change, among which its reason is looked for
_REASON = re.compile(
    r"\b(because|since|so that|in order to|to avoid|to prevent|instead of|otherwise|due to|the reason|root cause|weil|damit|car|porque)\b|因为|ため|から",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is asked about: a file by its path or the end of one, a command, or an error by words that occur in them."""

    kind: Literal["file", "command", "error"]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened; ``line`` is 1-based and of ``transcript``. Unknown values are None.

    ``about`` is the file or the command, ``said`` the line of the output that tells how the command ended, ``reason`` the sentence
    that gives the reason for a change, ``added`` the text that the change put into the file.
    """

    session_id: str
    agent: str
    project: str | None
    transcript: str
    line: int
    at: datetime | None
    what: What
    about: str
    said: str
    prompt: str
    reason: str
    added: str

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "session_id": self.session_id,
            "agent": self.agent,
            "project": self.project,
            "line": self.line,
            "at": None if self.at is None else self.at.isoformat().replace("+00:00", "Z"),
            "what": self.what,
            "about": self.about,
            "said": self.said or None,
            "prompt": self.prompt or None,
            "reason": self.reason or None,
        }


def what_happened(
    workspace: Workspace,
    target: Target,
    now: datetime,
    *,
    since: str | None = None,
    sessions: int = MAX_SESSIONS,
    most_bytes: int | None = None,
) -> list[Happening]:
    """Return what happened to the target, newest first; in this project if anything did, else in any.

    Only so many ``sessions`` are read, the newest, and only so many bytes.
    """
    if not target.words.strip():
        raise UsageError(f"Which {target.kind}? It is empty.")
    cleaner, found = Cleaner(workspace), list[Happening]()
    for root in (str(workspace.project.root), None):
        transcripts = _sessions_with(workspace, target, root, since, now)[:sessions]
        found = [
            each
            for path in _up_to(most_bytes, transcripts)
            for each in _select(_in_transcript(path, cleaner), target, workspace)
        ]
        if found:
            break
    if target.kind == "file":
        found = _of_that_very_file(found, target.words, workspace) or found
    oldest = datetime.min.replace(tzinfo=now.tzinfo)
    # A copy of a session repeats what happened, at the same moments.
    once = {(each.at or each.line, each.what, each.about): each for each in reversed(found)}
    return sorted(once.values(), key=lambda each: (each.at or oldest, each.line), reverse=True)


def in_session(workspace: Workspace, selector: str) -> list[Happening]:
    """Return what happened in one session, oldest first: prompts, changed files, commands and how they ended."""
    cleaner = Cleaner(workspace)
    ref = find_session(selector, workspace)
    return [each for each in _SessionReader(ref, cleaner).steps() if each.what != "read"]


def gives_reason(change: Happening) -> bool:
    """Return whether what the agent said of a change gives a reason, rather than only announces it."""
    return _REASON.search(change.reason) is not None


def change_of_line(changes: Iterable[Happening], text: str) -> Happening | None:
    """Return the newest change that put this line into the file; None where no known change did."""
    wanted = text.strip()
    return next(
        (each for each in changes if wanted and wanted in map(str.strip, each.added.splitlines())), None
    )


def _sessions_with(
    workspace: Workspace, target: Target, root: str | None, since: str | None, now: datetime
) -> list[Path]:
    """Return the transcripts of the newest sessions with the target, by the search index."""
    given: dict[str, str] = {target.kind: target.words}
    if (
        target.kind == "file"
    ):  # the index compares ends of paths: a path of this project is named from its root
        given = {"file": wording.relative_path(target.words, str(workspace.project.root))}
    query = f'since:"{since}"' if since else ""
    request = SearchRequest(query=query, root=root, newest=True, limit=MAX_SESSIONS, hits=1, **given)
    found = search(workspace, request, now).sessions
    paths = [Path(each.source.path) for each in found if each.source.type == "session"]
    return [path for path in paths if path.is_file()]


def _up_to(most_bytes: int | None, transcripts: list[Path]) -> Iterator[Path]:
    """Yield transcripts that together have no more than so many bytes."""
    read = 0
    for each in transcripts:
        size = each.stat().st_size
        if most_bytes is None or read + size <= most_bytes:
            read += size
            yield each


def _in_transcript(transcript: Path, cleaner: Cleaner) -> list[Happening]:
    """Return what happened in a transcript; nothing where it cannot be read, because others can."""
    try:
        return [*_SessionReader(session_at(transcript), cleaner).steps()]
    except LeftoffError:
        return []


def _select(steps: list[Happening], target: Target, workspace: Workspace) -> Iterator[Happening]:
    """Yield the steps that concern the target. After a failure also what was changed until it was gone."""
    if target.kind == "file":
        yield from (
            each for each in steps if each.what != "asked" and _is_file(each, target.words, workspace)
        )
        return
    wanted = " ".join(target.words.casefold().split())
    failing: set[str] = set()
    for each in steps:
        if each.what in CHANGES and failing:
            yield each
        elif each.what in {"passed", "failed", "ran"}:
            text = each.about if target.kind == "command" else each.said
            is_meant = wanted in " ".join(text.casefold().split())
            if is_meant or each.about in failing:
                (failing.add if each.what == "failed" else failing.discard)(each.about)
                yield each


def _of_that_very_file(found: list[Happening], words: str, workspace: Workspace) -> list[Happening]:
    """Return what happened to the file at this path of the project, without files of the same name in other folders."""
    root = str(workspace.project.root)
    wanted = wording.relative_path(words.removeprefix("./"), root)
    return [each for each in found if wording.relative_path(each.about, root) == wanted]


def _is_file(step: Happening, words: str, workspace: Workspace) -> bool:
    """Return whether a step is about the file: its path, or one that ends so, as in another checkout."""
    if step.what in {"passed", "failed", "ran"}:
        return False
    wanted = wording.relative_path(words.removeprefix("./"), str(workspace.project.root))
    return step.about == words or f"/{step.about}".endswith(f"/{wanted.lstrip('/')}")


class _Turn:
    """The changes of one turn, which wait for what the agent says until its end."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.texts: list[str] = []
        self.steps: list[tuple[Happening, int]] = []

    def finish(self, cleaner: Cleaner) -> Iterator[Happening]:
        """Yield the steps of the turn with their reasons."""
        for step, said in self.steps:
            reason = self._reason(step.about, said) if step.what in CHANGES else ""
            yield replace(step, reason=cleaner.one_line(reason, _MAX_REASON_CHARS))

    def _reason(self, path: str, said: int) -> str:
        """Return the sentence that most likely says why the file was changed: the best, and of equals the nearest before it."""
        name = path.rpartition("/")[2]
        stem = name.partition(".")[0]
        best, worth = "", 0.0
        first = max(0, said - _NEAR_TEXTS)
        for number, text in enumerate(self.texts[first : said + _NEAR_TEXTS], first):
            distance = said - 1 - number  # 0: the last text before the change; negative: after it
            near = 1.0 / (1 + distance) if distance >= 0 else 0.5 / -distance
            sentences = [*wording.sentences(text)]
            for place, sentence in enumerate(sentences):
                has_name = name in sentence or (len(stem) > 3 and stem in sentence)
                is_last = distance == 0 and place == len(sentences) - 1
                value = near + 1.5 * bool(_REASON.search(sentence)) + has_name + 0.5 * is_last
                if value > worth and (has_name or distance >= 0 or _REASON.search(sentence)):
                    best, worth = sentence, value
        return best


class _Asked(NamedTuple):
    record: Record
    use: ToolUse


class _SessionReader:
    """Reads what happened in one session."""

    def __init__(self, ref: SessionRef, cleaner: Cleaner) -> None:
        self._ref, self._cleaner = ref, cleaner
        self._excluded_tools = cleaner.excluded_tools
        self._turn, self._asked = _Turn(""), dict[str, _Asked]()
        self._known = set[str]()  # files that were there: writing one again changes it

    def steps(self) -> Iterator[Happening]:
        """Yield everything that happened, in its order."""
        if self._cleaner.is_forgotten_session(self._ref.session.session_id):
            return
        for record in self._ref.agent.read(self._ref.transcript):
            if record.kind is RecordKind.PROMPT and record.actor is None:
                yield from self._turn.finish(self._cleaner)
                prompt = self._cleaner.one_line(self._ref.agent.typed(record), _MAX_PROMPT_CHARS)
                self._turn = _Turn(prompt)
                self._add(record, "asked", prompt)
            elif record.kind in {RecordKind.REPLY, RecordKind.RESULT}:
                self._read_blocks(record)
        yield from self._turn.finish(self._cleaner)

    def _read_blocks(self, record: Record) -> None:
        for block in record.blocks:
            match block:
                case Text(text) if record.actor is None and text.strip():
                    self._turn.texts.append(text)
                case ToolUse(call_id=call_id) if block.tool not in self._excluded_tools:
                    self._asked[call_id] = _Asked(record, block)
                case ToolResult(call_id=call_id) if call_id in self._asked:
                    self._add_call(self._asked.pop(call_id), block)
                case _:
                    pass

    def _add_call(self, call: _Asked, result: ToolResult) -> None:
        answer = self._ref.agent.answer(call.use, result)
        for action in () if answer.refused else self._ref.agent.actions(call.use):
            if isinstance(action, Ran):
                outcome, said = read_outcome(action.command, answer)
                self._add(call.record, "ran" if outcome == "unknown" else outcome, action.command, said=said)
            elif (done := _done_to_file(action)) is not None and not answer.failed:
                what, path, added = done
                is_new = what == "created" and path not in self._known
                self._known.add(path)
                self._add(call.record, what if is_new or what != "created" else "changed", path, added=added)

    def _add(self, record: Record, what: What, about: str, *, said: str = "", added: str = "") -> None:
        happening = Happening(
            session_id=self._ref.session.session_id,
            agent=self._ref.agent.id,
            project=self._ref.session.project,
            transcript=record.place.transcript,
            line=record.place.line_idx + 1,
            at=record.at,
            what=what,
            about=self._cleaner.one_line(about, _MAX_ABOUT_CHARS),
            said=self._cleaner.one_line(said, _MAX_ABOUT_CHARS),
            prompt=self._turn.prompt,
            reason="",
            added=added,
        )
        self._turn.steps.append((happening, len(self._turn.texts)))


def _done_to_file(action: Action) -> tuple[What, str, str] | None:
    """Return what an action did to a file, the file's path and the text it put in; None for an action of another kind."""
    match action:
        case Looked(path):
            return "read", path, ""
        case Changed(path, old, new):
            return "changed", path, _added_lines(old, new)
        case Wrote(path, text):
            return "created", path, text
        case Removed(path):
            return "deleted", path, ""
        case Moved(path, _):
            return "moved", path, ""
        case _:
            return None


def _added_lines(old: str, new: str) -> str:
    """Return the lines that an edit added, without those that it only repeats."""
    repeated, added = Counter(map(str.strip, old.splitlines())), list[str]()
    for line in new.splitlines():
        if repeated[line.strip()]:
            repeated[line.strip()] -= 1
        else:
            added.append(line)
    return "\n".join(added)
