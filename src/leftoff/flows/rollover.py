"""Roll a session over into a fresh one, of the same agent or another, whose first message is what the resume log holds."""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.flows.agents import agent_typed
from leftoff.flows.ancestry import family_here
from leftoff.flows.choose import Chosen, choose
from leftoff.flows.cleaning import cleaner
from leftoff.flows.derive import Made, copier, require_known, resume_command, written_fresh
from leftoff.flows.drift import drift_since
from leftoff.flows.extraction import extracted_once
from leftoff.flows.handoff import hand_over
from leftoff.flows.polish import RULES, TIMEOUT_SECONDS, summariser_called
from leftoff.flows.save_log import log_of, save_log_of
from leftoff.flows.settings import settings_here
from leftoff.lineage.block import lineage_block
from leftoff.lineage.chain import oldest_first
from leftoff.lineage.metadata import continue_metadata
from leftoff.model.copying import FreshOrder, LivePieces
from leftoff.model.protocols import Agent
from leftoff.model.records import RecordKind
from leftoff.model.resume_log import ResumeLog
from leftoff.model.session import Session
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.restore.fence import fenced
from leftoff.restore.profiles import restoration_text
from leftoff.shrink import planning
from leftoff.shrink.rollover import SUMMARY_SENTENCE, first_message, shortened_summary, summary_prompt
from leftoff.system import clock, paths

_LAST_WORDS_CHARS = 20_000
_NAME_CHARS = 64  # more than the block has before the session has a file to be named by
_NO_PIECE = 1 << 62  # characters: no piece is so long, so none is given, only the sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How to roll over. ``to`` is an agent's id, None for the same; ``summary`` is one that the caller has already."""

    to: str | None = None
    with_summary: bool = False
    summary: str | None = None
    force: bool = False
    even_if_larger: bool = False
    project: Path | None = None

    def is_for_room(self, chosen: Chosen) -> bool:
        """Whether room alone is wanted: not another agent or folder, nor the session come what may."""
        is_same = self.project is None and self.to in {None, chosen.agent.id}
        return is_same and not self.force and not self.even_if_larger


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A fresh session before it is written. ``log_file`` is None where none was saved, for a mere look."""

    chosen: Chosen
    session: Session
    to: Agent
    folder: Path
    log: ResumeLog
    log_file: Path | None
    message: str
    summary_included: bool
    live: LivePieces  # the sums alone

    @property
    def chars_saved(self) -> int:
        """What the fresh session leaves behind of the conversation; the agent's own instructions stand in both."""
        return max(0, self.live.live_chars - len(self.message))

    @property
    def tokens_saved(self) -> int:
        """The same in tokens, counted as a trim's are."""
        return planning.tokens(self.chars_saved, self.live)

    @property
    def context_saved_percent(self) -> float:
        """0-100 of the live characters."""
        return 100 * self.chars_saved / self.live.live_chars if self.live.live_chars else 0.0

    @property
    def nothing_to_gain(self) -> bool:
        """Whether the fresh session would be no smaller."""
        return self.chars_saved == 0

    def to_dict(self) -> JsonObject:
        """The plan as scripts see it."""
        return {
            "dry_run": True,
            "strategy": "rollover",
            "session_id": self.session.session_id,
            "parent_file": str(self.chosen.transcript),
            "to": self.to.id,
            "live_tokens": self.live.live_tokens,
            "tokens_saved": self.tokens_saved,
            "context_saved_percent": round(self.context_saved_percent, 1),
            "nothing_to_gain": self.nothing_to_gain,
            "first_message": self.message,
        }


def looked_at(words: str, working_folder: Path, wanted: Wanted) -> Planned:
    """What the fresh session would begin with; nothing is written, and no summariser is asked."""
    chosen = choose(words, working_folder)
    session = chosen.open()
    folder = _folder(session, wanted, working_folder)
    log = log_of(chosen, session, extracted_once(chosen, session), settings_here(folder))
    return _planned(chosen, session, wanted, log, log_file=None, folder=folder, summary=wanted.summary)


def rolled_over(words: str, working_folder: Path, wanted: Wanted) -> Made:
    """Save the session's log, write the fresh session, and hand over what the settings want handed over."""
    return rolled_over_of(choose(words, working_folder), working_folder, wanted)


def rolled_over_of(chosen: Chosen, working_folder: Path, wanted: Wanted) -> Made:
    """The same for a session that is known already."""
    session = chosen.open()
    folder = _folder(session, wanted, working_folder)
    _require(chosen, session, wanted)
    kept = save_log_of(chosen, working_folder, stop_reason="manual_pause")
    summary = wanted.summary or (_summary(session, kept.log, folder) if wanted.with_summary else None)
    plan = _planned(
        chosen, session, wanted, kept.log, log_file=kept.markdown_file, folder=folder, summary=summary
    )
    if plan.nothing_to_gain and wanted.is_for_room(chosen):
        raise NothingToDoError(
            f"There is nothing to gain: a fresh session would begin with {len(plan.message):,} characters, and this "
            f"conversation has {plan.live.live_chars:,}. --force writes it all the same."
        )
    at = clock.now()
    included = plan.summary_included
    copy = written_fresh(
        plan.to,
        session,
        FreshOrder(
            at=at,
            project=folder,
            first_message=plan.message,
            metadata=continue_metadata(session, at, summary_included=included),
            parent_id=session.session_id if plan.to.id == chosen.agent.id else None,
            model=session.model if plan.to.id == chosen.agent.id else None,
        ),
    )
    hand_over(family_here().node(copy.transcript), kept, folder=folder, at=at)
    return Made(
        session_id=copy.session_id,
        output_file=copy.transcript,
        parent_file=chosen.transcript,
        tools_trimmed=0,
        tokens_saved=plan.tokens_saved,
        context_saved_percent=plan.context_saved_percent,
        resume_command=resume_command(plan.to, copy.session_id),
        folder=folder,
    )


def _planned(
    chosen: Chosen,
    session: Session,
    wanted: Wanted,
    log: ResumeLog,
    *,
    log_file: Path | None,
    folder: Path,
    summary: str | None,
) -> Planned:
    to = _target(chosen, wanted)
    _require(chosen, session, wanted)
    live = copier(chosen.agent).live_pieces(session, at_least_chars=_NO_PIECE, head=0, tail=0)
    block = lineage_block(oldest_first(family_here().node(chosen.transcript)), "continued")
    root = paths.project_of(folder).root
    restoration = restoration_text(
        log,
        profile="fresh",
        max_chars=settings_here(folder).settings.restore.max_chars - len(block) - 2 - _NAME_CHARS,
        drift=None if log.ground is None else drift_since(log.ground, root),
        path_of_whole=str(log_file or chosen.transcript),
    )
    return Planned(
        chosen=chosen,
        session=session,
        to=to,
        folder=folder,
        log=log,
        log_file=log_file,
        message=first_message(
            block, summary and fenced(SUMMARY_SENTENCE, shortened_summary(summary)), restoration
        ),
        # With the rules as summariser the record itself is the summary.
        summary_included=summary is not None or wanted.with_summary,
        live=live,
    )


def _require(chosen: Chosen, session: Session, wanted: Wanted) -> None:
    copier(_target(chosen, wanted))
    if not wanted.force and wanted.to in {None, chosen.agent.id}:
        require_known(chosen.agent, session)


def _target(chosen: Chosen, wanted: Wanted) -> Agent:
    return chosen.agent if wanted.to is None else agent_typed(wanted.to)


def _folder(session: Session, wanted: Wanted, working_folder: Path) -> Path:
    named = wanted.project or (Path(session.project) if session.project else working_folder)
    if not named.is_dir():
        raise LeftoffError(
            f"{named}: the session's folder is gone. leftoff resume {session.session_id} --here goes on in this one."
        )
    return named


def _summary(session: Session, log: ResumeLog, folder: Path) -> str | None:
    """What the summariser of the settings makes of the log and the last words; None for the rules, whose word the log is."""
    name = settings_here(folder).settings.summariser
    if name == RULES:
        return None
    said = [
        f"{record.kind}: {record.text}"
        for record in session.records
        if record.actor is None and record.kind in {RecordKind.PROMPT, RecordKind.REPLY} and record.text
    ]
    clean = cleaner(folder)  # it goes to a model, and comes back from one
    last = clean("\n\n".join(said)[-_LAST_WORDS_CHARS:])
    answer = summariser_called(name).summarise(
        summary_prompt(log.to_markdown(), last), timeout_seconds=TIMEOUT_SECONDS
    )
    return clean(answer)
