"""Check a resume log, or a text that a model wrote, against the transcripts it rests on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.registry import agent_of
from leftoff.core.actions import Action, Changed, Moved, Ran, Removed, Wrote
from leftoff.core.protocols import Agent
from leftoff.core.records import Place, Record, ToolResult, ToolUse
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import NotFoundError, NothingFoundError, TranscriptError
from leftoff.platform import files
from leftoff.resume_logs import verify_items
from leftoff.resume_logs.verify_items import Event, Evidence, Finding, Verdict
from leftoff.sessions.find import LATEST
from leftoff.storage import file_store
from leftoff.workspace import Workspace

_REMOVING = re.compile(r"(?:^|[;&|]\s*)(?:git\s+)?rm\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedLog:
    """A log with a verdict for each of its items."""

    log: ResumeLog
    path: Path
    verdicts: tuple[Verdict, ...]

    def count(self, outcome: verify_items.Outcome) -> int:
        """Return how many items have this outcome."""
        return sum(verdict.outcome == outcome for verdict in self.verdicts)

    def marked(self) -> ResumeLog:
        """Return the log with contradicted items struck through and those without a source marked."""
        return verify_items.mark_items(self.log, self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """A text with its claims, and whether each is known."""

    text: str
    findings: tuple[Finding, ...]


def verify_log(selector: str, workspace: Workspace) -> VerifiedLog:
    """Check every item of the log that ``selector`` names against its source; nothing is changed."""
    path, log = find_log_file(selector, workspace)
    evidence: dict[Place, Evidence] = {}
    events: list[Event] = []
    for transcript in dict.fromkeys(source.place.transcript for source in log.sources):
        wanted = {source.place for source in log.sources if source.place.transcript == transcript}
        try:
            _read_transcript(Path(transcript), wanted, evidence, events)
        except TranscriptError:
            _read_spans(Path(transcript), wanted, evidence)
    return VerifiedLog(log=log, path=path, verdicts=verify_items.verify_items(log, evidence, events))


def check_text(text: str, selector: str, workspace: Workspace) -> CheckedText:
    """Return the claims of ``text``, and whether the log that ``selector`` names or one of its transcripts contains them."""
    _, log = find_log_file(selector, workspace)
    findings = verify_items.verify_text(text, _known_texts(log), tests_pass=_tests_pass(log))
    return CheckedText(text=text, findings=findings)


def find_log_file(selector: str, workspace: Workspace) -> tuple[Path, ResumeLog]:
    """Return the file and the log that a path, a session id, the beginning of one, or ``latest`` selects."""
    if "/" in selector or selector.endswith((".json", ".md", ".gz")):
        named = Path(selector).expanduser()
        folder, session = named.parent, file_store.parse_file_name(named.name)
        if session is None or not named.is_file():
            raise NotFoundError(
                f"{named}: no resume log is there. To list them: leftoff log list", path=named
            )
        wanted_id = session[0]
    else:
        folder = workspace.log_folder
        wanted_id = "" if selector == LATEST else selector
    found = [each for each in file_store.list_log_files(folder) if each.session_id.startswith(wanted_id)]
    if not wanted_id:
        found = [*filter(None, [file_store.latest(found)])]
    exact = [each for each in found if each.session_id == wanted_id] or found
    if not exact and selector == LATEST:
        raise NothingFoundError("This project has no resume log yet. To save one: leftoff log save")
    if not exact:
        raise NotFoundError(
            f"There is no resume log {selector[:60]!r} in {folder}. To list them: leftoff log list"
        )
    return exact[0].json or exact[0].path, exact[0].log()


class _Request(NamedTuple):
    """A request without an answer yet."""

    use: ToolUse
    record: Record


def _read_transcript(
    path: Path, wanted: set[Place], evidence: dict[Place, Evidence], events: list[Event]
) -> None:
    """Read a transcript once: what is at the wanted places now, and the events that could refute an item.

    A request and its answer belong together: each is evidence for what the other says.
    """
    agent = agent_of(path)
    spans = {(place.start, place.end): place for place in wanted}
    requests: dict[str, _Request] = {}
    for record in agent.read(path):
        place = spans.get((record.place.start, record.place.end))
        if place is not None:
            # A queued prompt has its text where it left the queue, and its bytes where it entered.
            evidence[place] = verify_items.evidence_of(record.raw).with_text(record.text)
        for block in record.blocks:
            if isinstance(block, ToolUse):
                requests[block.call_id] = _Request(block, record)
                events += _started_commands(agent, block, record.place)
            elif isinstance(block, ToolResult) and (request := requests.pop(block.call_id, None)):
                events += _finished_call(agent, request.use, block, record.place)
                _join(evidence, spans, request.record, record)


def _join(
    evidence: dict[Place, Evidence], spans: Mapping[tuple[int, int], Place], request: Record, answer: Record
) -> None:
    for one, other in ((request, answer), (answer, request)):
        place = spans.get((one.place.start, one.place.end))
        if place is not None:
            evidence[place] = evidence[place].with_text(verify_items.evidence_of(other.raw).text)


def _started_commands(agent: Agent, use: ToolUse, place: Place) -> Iterator[Event]:
    return (Event(place, "ran", _one_line(each)) for each in agent.actions(use) if isinstance(each, Ran))


def _finished_call(agent: Agent, use: ToolUse, result: ToolResult, place: Place) -> Iterator[Event]:
    """Yield what a call ran and did to files. What the user refused did not happen."""
    answer = agent.answer(use, result)
    if answer.refused:
        return
    failed = bool(answer.exit_code) if answer.exit_code is not None else answer.failed
    for action in agent.actions(use):
        yield from _events_of(action, place, failed)


def _events_of(action: Action, place: Place, failed: bool | None) -> Iterator[Event]:  # noqa: FBT001 - a value, not a switch
    match action:
        case Ran(command=command):
            yield Event(place, "ran", _one_line(action), failed)
            if not failed and _REMOVING.search(command):
                yield from (Event(place, "removed", path) for path in _removed_paths(command))
        case Removed(path=path) | Moved(path=path) if not failed:
            yield Event(place, "removed", path)
        case Wrote(path=path) | Changed(path=path) if not failed:
            yield Event(place, "written", path)
        case _:
            return


def _one_line(ran: Ran) -> str:
    return " ".join(ran.command.split())


def _removed_paths(command: str) -> Iterator[str]:
    """Yield the paths that ``rm`` removes, except those with patterns or variables that a shell would expand."""
    for part in re.split(r"[;&|]+", command):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        if words[:2] == ["git", "rm"]:
            words = words[1:]
        if words[:1] == ["rm"]:
            yield from (word for word in words[1:] if not word.startswith("-") and not set("*?$`[") & {*word})


def _read_spans(path: Path, wanted: set[Place], evidence: dict[Place, Evidence]) -> None:
    """Read sources that are no transcript, such as pins."""
    try:
        with files.open_regular_file(path) as file:
            for place in wanted:
                file.seek(place.start)
                size_bytes = min(max(0, place.end - place.start), files.MAX_DOCUMENT_BYTES)
                evidence[place] = verify_items.evidence_of(file.read(size_bytes))
    except (OSError, ValueError):  # gone, or no valid file name: no evidence
        return


def _tests_pass(log: ResumeLog) -> bool | None:
    """Return whether tests pass by the transcripts that exist, else by the log."""
    events: list[Event] = []
    for transcript in dict.fromkeys(source.place.transcript for source in log.sources):
        try:
            _read_transcript(Path(transcript), set(), {}, events)
        except TranscriptError:
            continue
    passed = verify_items.last_run_passed(events)
    return verify_items.log_says_passed(log) if passed is None else passed


def _known_texts(log: ResumeLog) -> Iterator[str]:
    """Yield the text of the log, which is short and says most, then that of its existing transcripts record by record."""
    yield verify_items.text_of(log)
    for transcript in dict.fromkeys(source.place.transcript for source in log.sources):
        try:
            for record in agent_of(Path(transcript)).read(Path(transcript)):
                yield verify_items.evidence_of(record.raw).text
        except TranscriptError:
            continue
