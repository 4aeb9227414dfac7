"""How much of what a log states is right, by labels that a reader made from the session.

A label file is JSON for one session: ``transcript`` (from LEFTOFF_TRANSCRIPTS), optionally ``line`` (the log is made of what is before
it), ``rules``, ``decisions`` and ``overtaken`` (statements that no longer hold) as texts or objects with a ``quote``, ``checks`` (objects
with ``command`` and ``last_outcome``: passed or failed) and ``finished``. An item is matched with a label by its words, which is a
proxy: what matches none is unjudged, and a reader's verdict on it (text of the item → right or wrong) counts instead.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.mentions import plain_command
from leftoff.agents.registry import agent_of
from leftoff.core.markdown import NOTHING_OPEN, SUPERSEDED
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import NotFoundError
from leftoff.platform import paths
from leftoff.resume_logs.save import build_log
from leftoff.workspace import SessionRef, Workspace

Verdict = Literal["right", "wrong", "unjudged"]
GOALS: Mapping[str, float | None] = {  # None: shown for comparison
    "rules": 0.90,
    "rules found": None,
    "decisions": 0.80,
    "decisions found": None,
    "passed or failed": 1.0,
    "open or finished": 0.95,
    "not overtaken": 0.98,
}
_SAME_WORDS = 0.6  # of the shorter text
_MIN_SAME_WORDS = 3
_OVERTAKEN_WORDS = 0.8  # of the label: an item may say much else
_FAILING = re.compile(r"Failing check: `(.+?)`(?= → |$)", re.DOTALL)
_CLAIMED = re.compile(r"`(.+?)` → (?:\d+ runs, \d+ failed, the last )?(passed|worked|failed)\b", re.DOTALL)
_SAYS_SO = re.compile(r"\b(?:superseded|replaced|overtaken|no longer|was wrong|later)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One item of a log, on one line, and whether it is right."""

    session: str
    measure: str
    text: str
    verdict: Verdict


def measure(labels: Path, verdicts: Mapping[str, str]) -> Iterator[Judged]:
    """Yield every item of every labelled session."""
    files = sorted(labels.glob("*.json"))
    if not files:
        raise NotFoundError(f"{labels} has no labels: expected a JSON file for each session.")
    for file in files:
        known = json.loads(file.read_text("utf-8"))
        for what, text, verdict in judge(_log(known), known):
            flat = " ".join(text.split())
            read = verdicts.get(flat)
            final: Verdict = "right" if read == "right" else "wrong" if read == "wrong" else verdict
            yield Judged(session=file.stem, measure=what, text=flat, verdict=final)


def _log(labels: Mapping[str, Any]) -> ResumeLog:
    transcript = Path(paths.environment().get("LEFTOFF_TRANSCRIPTS", ""), labels["transcript"])
    if not transcript.is_file():
        raise NotFoundError(
            f"{transcript} is missing. Name the folder of the transcripts: LEFTOFF_TRANSCRIPTS=DIR"
        )
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        copy = Path(name) / transcript.name
        lines = transcript.read_bytes().splitlines(keepends=True)
        copy.write_bytes(b"".join(lines[: labels["line"] - 1] if labels.get("line") else lines))
        return build_log(SessionRef(agent=agent_of(copy), transcript=copy), Workspace.open(Path(name)))


def judge(log: ResumeLog, labels: Mapping[str, Any]) -> Iterator[tuple[str, str, Verdict]]:
    """Yield what a log states, by measure: rules, decisions, outcomes, whether the work is finished, and all statements."""
    rules = [text for text in log.critical_context.get("user_rules", []) if not text.startswith("(")]
    decisions = [" ".join(filter(None, each.values())) for each in log.decisions]
    yield from _judge_words({"rules": rules, "decisions": decisions}, labels)
    yield from _judge_outcomes([*log.critical_context.get("commands", []), *log.next_steps], labels)
    if isinstance(labels.get("finished"), bool):
        says = "finished" if any(step.startswith(NOTHING_OPEN) for step in log.next_steps) else "open"
        is_right = (says == "finished") is labels["finished"]
        yield "open or finished", f"{log.session_id}: {says}", _verdict(is_right=is_right)
    if "overtaken" in labels:
        for text in (*log.accomplishments, *log.key_findings, *decisions, *log.next_steps, *rules):
            yield "not overtaken", text, _verdict(is_right=not _shows(text, _quotes(labels, "overtaken")))


def _judge_words(
    shown: Mapping[str, Sequence[str]], labels: Mapping[str, Any]
) -> Iterator[tuple[str, str, Verdict]]:
    """Compare rules and decisions with the labels of both: what the user decided can be either."""
    all_shown = [text for texts in shown.values() for text in texts]
    all_labels = [label for name in shown for label in _quotes(labels, name)]
    for name, texts in shown.items():
        for text in texts:
            is_right = any(_is_same(text.partition(SUPERSEDED)[0], label) for label in all_labels)
            yield name, text, "right" if is_right else "unjudged"
        for label in _quotes(labels, name):
            yield f"{name} found", label, _verdict(is_right=any(_is_same(label, text) for text in all_shown))


def _judge_outcomes(texts: Iterable[str], labels: Mapping[str, Any]) -> Iterator[tuple[str, str, Verdict]]:
    outcomes = {plain_command(each["command"]): each["last_outcome"] for each in labels.get("checks", ())}
    for text in texts:
        command, outcome = _claim(text)
        if outcome:
            known = outcomes.get(plain_command(command))
            verdict = _verdict(is_right=known == outcome)
            yield "passed or failed", text, "unjudged" if known is None else verdict


def _quotes(labels: Mapping[str, Any], name: str) -> list[str]:
    return [each if isinstance(each, str) else each["quote"] for each in labels.get(name, ())]


def _verdict(*, is_right: bool) -> Verdict:
    return "right" if is_right else "wrong"


def _is_same(text: str, label: str) -> bool:
    """Return whether two texts say the same: most words of the shorter one are in the other."""
    words, wanted = _words(text), _words(label)
    shorter = min(len(words), len(wanted))
    return len(words & wanted) >= max(_SAME_WORDS * shorter, min(_MIN_SAME_WORDS, shorter), 1)


def _shows(text: str, overtaken: Iterable[str]) -> bool:
    """Return whether a text tells an overtaken statement and does not say that it is overtaken."""
    words = _words(text)
    return not _SAYS_SO.search(text) and any(
        len(words & label) >= _OVERTAKEN_WORDS * max(1, len(label)) for label in map(_words, overtaken)
    )


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text.lower())}


def _claim(text: str) -> tuple[str, str]:
    """Return the command and the outcome that an item claims; both empty if it claims none."""
    failing, claimed = _FAILING.match(text), _CLAIMED.match(text)
    if failing:
        return failing[1], "failed"
    return (claimed[1], "failed" if claimed[2] == "failed" else "passed") if claimed else ("", "")
