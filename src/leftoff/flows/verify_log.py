"""Check a resume log, or a text that a model wrote, against the transcripts it rests on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from leftoff.errors import NotFoundError, TranscriptError
from leftoff.flows.agents import agent_of
from leftoff.flows.choose import LATEST
from leftoff.flows.log_folder import log_folder
from leftoff.flows.settings import settings_here
from leftoff.model.actions import Action, Changed, Moved, Ran, Removed, Wrote
from leftoff.model.protocols import Agent
from leftoff.model.records import Place, Record, ToolResult, ToolUse
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.resume_logs import verify
from leftoff.resume_logs.verify import Event, Evidence, Finding, Verdict
from leftoff.stores import log_files
from leftoff.system import paths

_REMOVING = re.compile(r"(?:^|[;&|]\s*)(?:git\s+)?rm\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A log with a verdict for each of its items."""

    log: ResumeLog
    path: Path
    verdicts: tuple[Verdict, ...]

    def count(self, outcome: verify.Outcome) -> int:
        """How many items ended so."""
        return sum(verdict.outcome == outcome for verdict in self.verdicts)

    def marked(self) -> ResumeLog:
        """The log with contradicted items struck and those without a source marked."""
        return verify.marked(self.log, self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """A text with everything in it that can be checked, and whether that is known."""

    text: str
    findings: tuple[Finding, ...]


def verify_log(words: str, working_folder: Path) -> Verified:
    """Every item of the log that ``words`` name against its source. Reads, and changes nothing."""
    path, log = log_called(words, working_folder)
    evidence: dict[Place, Evidence] = {}
    events: list[Event] = []
    for transcript in dict.fromkeys(source.place.transcript for source in log.sources):
        wanted = {source.place for source in log.sources if source.place.transcript == transcript}
        try:
            _read_transcript(Path(transcript), wanted, evidence, events)
        except TranscriptError:
            _read_spans(Path(transcript), wanted, evidence)
    return Verified(log=log, path=path, verdicts=verify.verify(log, evidence, events))


def check_text(text: str, words: str, working_folder: Path) -> CheckedText:
    """What in ``text`` can be checked, and whether the log that ``words`` name or a transcript behind it says the same."""
    _, log = log_called(words, working_folder)
    findings = verify.verify_text(text, _known(log), tests_pass=_tests_pass(log))
    return CheckedText(text=text, findings=findings)


def log_called(words: str, working_folder: Path) -> tuple[Path, ResumeLog]:
    """The log that ``words`` name, and its file: a path, a session's id or the beginning of one, or ``latest``."""
    if "/" in words or words.endswith((".json", ".md", ".gz")):
        named = Path(words).expanduser()
        folder, session = named.parent, log_files.session_of(named.name)
        if session is None or not named.is_file():
            raise NotFoundError(
                f"{named}: no resume log is there. leftoff log list shows what there is.", path=named
            )
        wanted = session[0]
    else:
        folder = log_folder(
            paths.project_of(working_folder), settings_here(working_folder).settings.resume_logs.storage_dir
        )
        wanted = "" if words == LATEST else words
    found = [each for each in log_files.found_in(folder) if each.session_id.startswith(wanted)]
    exact = [each for each in found if each.session_id == wanted] or found
    if not exact:
        raise NotFoundError(
            f"There is no resume log {words[:60]!r} in {folder}. leftoff log list shows what there is."
        )
    return exact[0].json or exact[0].path, exact[0].log()


class _Asked(NamedTuple):
    """A request that waits for its answer."""

    use: ToolUse
    record: Record


def _read_transcript(
    path: Path, wanted: set[Place], evidence: dict[Place, Evidence], events: list[Event]
) -> None:
    """One pass: what stands at the wanted places now, and what could refute an item.

    A request and its answer are one thing that happened: either is evidence for what the other says.
    """
    agent = agent_of(path)
    spans = {(place.start, place.end): place for place in wanted}
    asked: dict[str, _Asked] = {}
    for record in agent.read(path):
        place = spans.get((record.place.start, record.place.end))
        if place is not None:
            # What the user queued is told where it was taken from the queue, and its bytes stand where it was put in.
            evidence[place] = verify.evidence_of(record.raw).joined_by(record.text)
        for block in record.blocks:
            if isinstance(block, ToolUse):
                asked[block.call_id] = _Asked(block, record)
                events += _begun(agent, block, record.place)
            elif isinstance(block, ToolResult) and (request := asked.pop(block.call_id, None)):
                events += _ended(agent, request.use, block, record.place)
                _join(evidence, spans, request.record, record)


def _join(
    evidence: dict[Place, Evidence], spans: Mapping[tuple[int, int], Place], request: Record, answer: Record
) -> None:
    for one, other in ((request, answer), (answer, request)):
        place = spans.get((one.place.start, one.place.end))
        if place is not None:
            evidence[place] = evidence[place].joined_by(verify.evidence_of(other.raw).words)


def _begun(agent: Agent, use: ToolUse, place: Place) -> Iterator[Event]:
    return (Event(place, "ran", _command(each)) for each in agent.actions(use) if isinstance(each, Ran))


def _ended(agent: Agent, use: ToolUse, result: ToolResult, place: Place) -> Iterator[Event]:
    """What a call did to commands and files. What the user refused did not happen."""
    answer = agent.answer(use, result)
    if answer.refused:
        return
    failed = bool(answer.exit_code) if answer.exit_code is not None else answer.failed
    for action in agent.actions(use):
        yield from _done(action, place, failed)


def _done(action: Action, place: Place, failed: bool | None) -> Iterator[Event]:  # noqa: FBT001 - a value, no switch
    match action:
        case Ran(command=command):
            yield Event(place, "ran", _command(action), failed)
            if not failed and _REMOVING.search(command):
                yield from (Event(place, "removed", path) for path in _removed_by(command))
        case Removed(path=path) | Moved(path=path) if not failed:
            yield Event(place, "removed", path)
        case Wrote(path=path) | Changed(path=path) if not failed:
            yield Event(place, "written", path)
        case _:
            return


def _command(ran: Ran) -> str:
    return " ".join(ran.command.split())


def _removed_by(command: str) -> Iterator[str]:
    """The paths behind ``rm``; nothing where the shell would still have to work them out."""
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
    """Sources that are no transcript (pins): the bytes as they stand."""
    try:
        with path.open("rb") as file:
            for place in wanted:
                file.seek(place.start)
                evidence[place] = verify.evidence_of(file.read(max(0, place.end - place.start)))
    except (OSError, ValueError):  # gone, or a name no file can have: no evidence
        return


def _tests_pass(log: ResumeLog) -> bool | None:
    """By the transcripts as far as they are there, else by the log."""
    events: list[Event] = []
    for transcript in dict.fromkeys(source.place.transcript for source in log.sources):
        try:
            _read_transcript(Path(transcript), set(), {}, events)
        except TranscriptError:
            continue
    told = verify.last_run_passed(events)
    return verify.log_says_passed(log) if told is None else told


def _known(log: ResumeLog) -> Iterator[str]:
    """The log first, which is short and says most; then its transcripts, record by record, as far as they are there."""
    yield verify.words_of(log)
    for transcript in dict.fromkeys(source.place.transcript for source in log.sources):
        try:
            for record in agent_of(Path(transcript)).read(Path(transcript)):
                yield verify.evidence_of(record.raw).words
        except TranscriptError:
            continue
