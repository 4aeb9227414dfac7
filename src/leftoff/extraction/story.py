"""Tell what happened: choose the paragraphs that tell most, and say of each where it is from; and what was decided.

A paragraph counts by where it is: the reply that ends a turn, a plan, a summary, a long request, something said on the way, a report,
a note, output, an edit. Newer ones count more. Words on progress and announcements of the next call are left out, and a guess counts
less, once the turn has an outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from leftoff.core.budget import count_quarters
from leftoff.extraction import checks, passages, wording
from leftoff.extraction.passages import Entry
from leftoff.extraction.phrases import any_of
from leftoff.extraction.state import Ref, Rule, State
from leftoff.extraction.wording import quote, relative_path, shorten

_WEIGHTS = {
    "outcome": 1.5,
    "plan": 1.5,
    "summary": 1.2,
    "request": 1.5,
    "reply": 1.0,
    "fact": 1.0,
    "note": 0.9,
    "report": 0.6,
    "edit": 0.3,
    "output": 1.0,
}
_OLDEST = 0.4  # what the first passage is worth beside the last one
_GUESS_WEIGHT = 0.35  # in a turn that has an outcome
_MAX_PROGRESS_BYTES = 120  # such as "Good. All imports are valid."
_MIN_SAID_BYTES = 33  # what is shorter, said on the way to an outcome, only reports progress
_LONG_REQUEST_CHARS = 200  # the mission shortens a longer one
_ASKED_CHARS = 160
_ABOUT_CHARS = 160
_UNDER_WAY = 2.0  # a plan without an outcome yet
_MAX_SAID_CHARS = 400
_MAX_DECISION_CHARS = 600
_MAX_CHOICES = 12
_MAX_FAILURES = 12
_SUPPOSES = re.compile(any_of("supposes"), re.IGNORECASE)
_DECIDES = re.compile(rf"(?:\b|(?<=\W))(?:{any_of('decides')})", re.IGNORECASE)
_REASON = re.compile(any_of("reason"), re.IGNORECASE)
# How an item begins that is not the agent's own text, by where it is from; ``{}`` is what it is about.
OPENINGS = {
    "outcome": "Asked “{}”",
    "reply": "On “{}”",
    "request": "The user wrote",
    "approved": "The plan that the user approved",
    "rejected": "A plan that the user rejected",
    "proposed": "The plan that the agent proposed",
    "summary": "From the agent's summary at an earlier compaction",
    "report": "A subagent reported on “{}”",
    "note": "Written to `{}`",
    "output": "`{}` printed",
    "edit": "Edit in `{}`",
}
_ON = OPENINGS["reply"].partition("{}")[0]


class Item(NamedTuple):
    """An item of a section of a log, with its sources."""

    section: str
    text: str
    refs: list[Ref]

    @property
    def line(self) -> int:
        """The line of its last source, which puts items in order."""
        return max((ref.line_idx for ref in self.refs), default=0)


class _Told(NamedTuple):
    """Something that may be told: its section, words that say where it is from, its text, and what its place is worth."""

    section: str
    label: str
    text: str
    refs: list[Ref]
    weight: float

    @property
    def line(self) -> int:
        """The line of its last source, which puts items in order."""
        return max(ref.line_idx for ref in self.refs)


def tell(state: State, room: int, *, known: str) -> list[Item]:
    """Choose the paragraphs that tell most beside what is ``known``, and return them as items, oldest first."""
    offered = [*_passages(state), *_requests(state), *_facts(state)]
    entries = [Entry(each.label, passages.split(each.text), each.weight) for each in offered]
    told = passages.tell(entries, room, known=known, cost=count_quarters, overhead=16)
    items = []
    last_label = ""
    for each, text in sorted(
        ((offered[number], text) for number, text in told), key=lambda pair: pair[0].line
    ):
        # Of what was said on the way to one request, only the first says to which.
        label = "" if each.label == last_label and each.section == "key_findings" else each.label
        last_label = each.label if each.label.startswith(_ON) else last_label
        refs = each.refs if label else each.refs[-1:]
        items.append(Item(each.section, f"{label}:{_between(text)}{text}" if label else text, refs))
    return items


def _between(text: str) -> str:
    return "\n" if text.startswith("`") else " "


def _passages(state: State) -> Iterator[_Told]:
    """Yield the agent's texts, and what it wrote and was told; each with words that say where it is from."""
    asked = {prompt.turn: prompt for prompt in state.prompts if not prompt.is_for_leftoff}
    for number, each in enumerate(state.passages):
        text = wording.without_announcements(each.text)
        text = wording.without_last_announcement(text) if each.kind == "reply" else text
        weight = _weight(state, number, text)
        if not weight:
            continue
        body, _, last = text.rpartition("\n\n")
        if each.turn < state.turns and last.endswith(("?", "\uff1f")):
            text = body or text  # the question was answered by the next prompt
        refs, label = [each.ref], ""
        if each.kind not in ("reply", "outcome"):
            about = shorten(relative_path(each.about, state.project), _ABOUT_CHARS)
            label = OPENINGS[each.about or "proposed" if each.kind == "plan" else each.kind].format(about)
        elif each.turn in asked:
            prompt = asked[each.turn]
            label = OPENINGS[each.kind].format(wording.essence(prompt.text, _ASKED_CHARS))
            refs.insert(0, prompt.ref)
        section = "accomplishments" if each.kind in ("outcome", "edit") else "key_findings"
        yield _Told(section, label, text, refs, weight)


def _weight(state: State, number: int, text: str) -> float:
    """Return what a passage is worth by its kind, its age, and whether its turn has an outcome; 0 is not told at all."""
    each, reply = state.passages[number], state.last_reply
    weight = _WEIGHTS[each.kind]
    is_over = each.turn < state.turns or (reply is not None and reply.kind == "outcome")
    if each.kind == "plan":
        return weight if is_over else weight * _UNDER_WAY
    if each.kind in ("edit", "output"):
        is_commented = reply is not None and reply.call >= each.call
        is_last = not is_over and (each.kind == "edit" or not is_commented)
        if each.kind == "output" and not is_last:
            return 0.0  # the agent has said what matters in it
        weight = _WEIGHTS["reply"] if is_last else weight
    elif each.kind == "reply" and is_over:
        chars = len(text.encode())  # of Japanese, fewer say as much
        if chars < _MIN_SAID_BYTES or (chars < _MAX_PROGRESS_BYTES and wording.begins_by_announcing(text)):
            return 0.0
        weight *= _GUESS_WEIGHT if _SUPPOSES.search(wording.straighten_quotes(text)) else 1.0
    return weight * (_OLDEST + (1 - _OLDEST) * number / len(state.passages))


def _requests(state: State) -> Iterator[_Told]:
    """Yield the long requests, which the mission and the next steps shorten."""
    for prompt in state.prompts:
        text = prompt.text.strip()
        if not text.startswith("#"):  # no plan or specification: without the output that was pasted into it
            text = "\n\n".join(wording.typed_paragraphs(text, passages.GAP))
        if len(text) > _LONG_REQUEST_CHARS:
            yield _Told("key_findings", OPENINGS["request"], f"“{text}”", [prompt.ref], _WEIGHTS["request"])


def _facts(state: State) -> Iterator[_Told]:
    """Yield commits, to-dos finished since the last answer, and what did not work although it is no check."""
    answered = max((each.call for each in state.passages if each.kind == "outcome"), default=-1)
    for commit in state.commits:
        name = f"Committed `{commit.sha}`" if commit.sha else "Committed"
        text = f"{name}: {commit.subject}" + (f"\n{commit.body}" if commit.body else "")
        yield _Told("accomplishments", "", text, [commit.ref], _WEIGHTS["fact"])
    for todo in state.todos:
        if todo.status == "completed" and todo.text and todo.call > answered:
            text = f"Done: {shorten(todo.text, 200)}"
            yield _Told("accomplishments", "", text, [todo.ref], _WEIGHTS["fact"] / 2)
    last = {each.said: each for each in state.commands.values() if each.outcome == "failed" and each.said}
    for command in [*last.values()][-_MAX_FAILURES:]:
        if not checks.is_check(command) and not checks.only_reads(command.text):
            text = f"Did not work: `{shorten(command.text, 200)}`: {quote(command.said, 160)}"
            yield _Told("key_findings", "", text, command.refs, _WEIGHTS["fact"])


def decide(state: State) -> list[Item]:
    """Return what was decided, oldest first: by the user, and by the agent with a reason."""
    return sorted([*_verdicts(state), *_choices(state)], key=lambda item: item.line)


def _verdicts(state: State) -> Iterator[Item]:
    """Yield what the user decided: answers, choices, refusals with their reason, verdicts on plans, corrections."""
    last = state.prompts[-1].ref.line_idx if state.prompts else None
    for rule in state.rules:
        text = _describe_verdict(rule)
        ran = (each for each in state.commands.values() if f"`{each.text}`" == rule.about)
        was_allowed = not rule.text and any(each.call > rule.call for each in ran)
        if text and rule.ref.line_idx != last and not was_allowed:  # the last is quoted as the request
            yield Item("decisions", text, [rule.ref])


def _describe_verdict(rule: Rule) -> str:
    """Return a sentence that tells it; empty for a rule, which is told elsewhere."""
    said = f"“{shorten(rule.text, _MAX_SAID_CHARS)}”" if rule.text else ""
    match rule.kind:
        case "answer" | "choice" if rule.about:
            return f"Asked {quote(rule.about, 200)}, the user answered {said}"
        case "choice":
            return f"The user decided: {said}"
        case "correction":
            return f"The user corrected the agent: {said}"
        case "plan_approved":
            return f"The user approved the plan {quote(rule.about, 160)}"
        case "plan_rejected":
            return f"The user rejected the plan {quote(rule.about, 160)}" + (f": {said}" if said else "")
        case "refusal":
            return f"The user refused {shorten(rule.about, 200)}" + (f": {said}" if said else "")
        case _:
            return ""


def _choices(state: State) -> list[Item]:
    """Return the newest paragraphs in which the agent decides something and gives a reason."""
    found = [
        Item("decisions", part, [each.ref.with_excerpt(part)])
        for each in state.passages
        if each.kind in ("reply", "outcome")
        for part in re.split(r"\n{2,}", each.text)
        if len(part) <= _MAX_DECISION_CHARS
        and not any(mark in part for mark in ("\n", "?", "\uff1f"))
        and _REASON.search(part)
        and _DECIDES.search(part)
    ]
    return found[-_MAX_CHOICES:]


def as_decision(text: str) -> dict[str, str]:
    """Split a decision from the user's or the agent's reason."""
    what, mark, why = text.partition(": “")
    return (
        {"decision": what, "rationale": f"“{why}"}
        if mark and text.startswith(("The user refused", "The user rejected"))
        else {"decision": text, "rationale": ""}
    )
