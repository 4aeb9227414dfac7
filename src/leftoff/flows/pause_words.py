"""The lines of a hook's pause with their words, read from the transcript by offset and redacted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from leftoff.errors import NotFoundError, TranscriptError
from leftoff.flows.agents import agent_called
from leftoff.flows.capture import Capture
from leftoff.flows.pause_homes import PauseHome
from leftoff.model.protocols import Agent
from leftoff.model.records import Place, Record
from leftoff.pauses.journal import Line, Recorded
from leftoff.pauses.origin import Origin, origin_in
from leftoff.pauses.snapshot import reworded
from leftoff.pauses.words import told_by, with_words

_STEP_BYTES = 64 * 1024


def worded(home: PauseHome, recorded: Recorded, capture: Capture) -> Recorded:
    """The pause with what its transcript says of each action, and every line without credentials, whoever wrote it.

    A transcript that the lines of a project's own pause name is not opened, because a cloned repository could name anybody's.
    """
    origin = origin_in(recorded.first_data) if home.is_of_hooks else None
    actions = recorded.actions
    if origin is not None and origin.transcript is not None:
        # A transcript that was deleted, or an agent whose plugin is gone: the bare lines are still worth keeping.
        with suppress(TranscriptError, NotFoundError):
            agent = agent_called(origin.agent)
            told = told_by(
                _records(agent, origin), agent.typed, capture.clean, exclude_tools=capture.exclude_tools
            )
            actions = with_words(actions, told)
    clean = reworded(recorded, [capture.clean_action(action) for action in actions])
    return replace(clean, lines=tuple(_without_credentials(line, capture) for line in clean.lines))


def _without_credentials(line: Line, capture: Capture) -> Line:
    """A line that is no action is kept too, but for what it must not say."""
    if line.action is not None:
        return line
    text = line.raw.decode("utf-8", "surrogateescape")
    return Line(str(capture.clean(text)).encode("utf-8", "surrogateescape"), None)


def _records(agent: Agent, origin: Origin) -> Iterator[Record]:
    """The records from where the pause began: the calls that it names first were asked for a little before."""
    transcript = Path(origin.transcript or "")
    start = _line_start(transcript, origin.offset or 0)
    after = Place(str(transcript), 0, 0, start) if start else None
    return agent.read(transcript, after)


def _line_start(transcript: Path, offset: int) -> int:
    """The beginning of a line some way before the offset, which may lie in the middle of one that was being written."""
    try:
        with transcript.open("rb") as file:
            position = min(offset, file.seek(0, 2))
            while position > 0:
                position = max(0, position - _STEP_BYTES)
                file.seek(position)
                newline = file.read(min(_STEP_BYTES, offset - position)).find(b"\n")
                if newline >= 0 and position > 0:
                    return position + newline + 1
    except (OSError, ValueError):
        return 0
    return 0
