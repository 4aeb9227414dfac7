"""Tell what happened: choose the paragraphs that tell most, and say of each where it is from; and what was decided.

A paragraph counts by where it is: the reply that ends a turn, a plan, a summary, a long request, something said on the way, a report,
a note, a document to follow, output, an edit. Newer ones count more. A guess, or an announcement of the next call, is left out once the
turn has an outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leftoff.core.budget import count_quarters
from leftoff.extraction import checks, passages, wording
from leftoff.extraction.passages import Paragraph
from leftoff.extraction.phrases import any_of
from leftoff.extraction.state import Passage, Prompt, Ref, Rule, State
from leftoff.extraction.wording import quote, relative_path, shorten

_WEIGHTS = {
    "outcome": 1.6,
    "plan": 1.4,
    "summary": 1.2,
    "request": 1.5,
    "reply": 1.0,
    "report": 0.5,
    "note": 0.9,
    "document": 0.7,
    "output": 0.2,
    "edit": 0.35,
}
_OLDEST = 0.4  # what the first passage is worth beside the last one
_UNFINISHED_WEIGHT = 1.3  # of a reply in the turn that has no outcome yet
_PASSING_WEIGHT = 0.35  # of a guess or an announcement in a turn that has one
_TODO_WEIGHT = 0.6
_MIN_REPLY_CHARS = 16  # "All green." on the way is told by what was checked
_PROGRESS_CHARS = 100  # a shorter text said on the way only reports progress, which the outcome tells
_HEAD_CHARS = 300  # within which a plan has its first heading
_LONG_REQUEST_CHARS = 200  # the mission shortens a longer one
_MIN_PARAGRAPH_CHARS = 25
_MAX_PARAGRAPH_CHARS = 1_600
_RECENT_TURNS = 3  # whose requests are quoted at length
_MAX_DECISION_CHARS = 600
_MAX_CHOICES = 12
_MAX_FAILURES = 12
_MAX_SAID_CHARS = 400
_ABOUT_CHARS = 160
_SUPPOSES = re.compile(any_of("supposes"), re.IGNORECASE)
_OBJECTS = re.compile(rf"\W*(?:{any_of('objects')})", re.IGNORECASE)
_MAY_OBJECT = re.compile(rf"\W*(?:{any_of('may object')})", re.IGNORECASE)
_ADMITS = re.compile(rf"\W*(?:{any_of('admits')})", re.IGNORECASE)
_QUESTION_MARKS = ("?", "\uff1f")
# What an earlier summary calls open: what happened since tells more.
_WAS_OPEN = re.compile(
    r"\b(?:pending tasks?|current(?:ly)?|next steps?|not yet|still (?:fail|open|to do|need|pending))",
    re.IGNORECASE,
)
_HEADING_LINE = re.compile(r"^#{1,4} \S", re.MULTILINE)
_DECIDES = re.compile(rf"(?:\b|(?<=\W)){any_of('decides').join(('(?:', ')'))}", re.IGNORECASE)
_REASON = re.compile(rf"{any_of('reason').join(('(?:', ')'))}", re.IGNORECASE)
_FACTS = {"done": "accomplishments", "todo": "accomplishments", "fixed": "key_findings"}
# How an item begins that is not the agent's own text, by where it is from; ``{}`` is what it is about.
OPENINGS = {
    "objected": "Asked “{}”, to which the user then said “{}”",
    "outcome": "Asked “{}”",
    "reply": "On “{}”",
    "request": "The user wrote",
    "template": "The template of a command that the user ran says",
    "approved": "The plan that the user approved",
    "rejected": "A plan that the user rejected",
    "proposed": "The plan that the agent proposed",
    "summary": "From the agent's summary at an earlier compaction",
    "report": "A subagent reported on “{}”",
    "note": "Written to `{}`",
    "document": "`{}`, which the user named, says",
    "output": "`{}` printed",
    "edit": "Edit in `{}`",
}


class Item(NamedTuple):
    """An item of a section of a log, with its sources."""

    section: str
    text: str
    refs: list[Ref]

    @property
    def line(self) -> int:
        """The line of its last source, which puts items in order."""
        return max((ref.line_idx for ref in self.refs), default=0)


def tell(state: State, room: int, *, known: Iterable[str]) -> list[Item]:
    """Choose the paragraphs that tell most beside the ``known`` texts, and return them as items, oldest first."""
    known = [*known]
    groups = [*_candidates(state, "\n".join(known))]
    units = [
        Paragraph(
            group,
            number,
            passages.shorten_paragraph(part, _MAX_PARAGRAPH_CHARS),
            weight * passages.worth(part),
        )
        for group, (_, parts, weight) in enumerate(groups)
        for number, part in enumerate(parts)
        if len(part) >= _MIN_PARAGRAPH_CHARS or len(parts) == 1
    ]
    has_known = set[str]().union(*map(passages.words, known))
    chosen = passages.choose(units, room, known=has_known, cost=count_quarters, overhead=16)
    by_group: dict[int, list[tuple[int, str]]] = {}
    for unit in units:
        if (unit.group, unit.number) in chosen:
            by_group.setdefault(unit.group, []).append((unit.number, unit.text))
    items, seen_turns = [], set[int]()
    for group, parts in by_group.items():
        item = _as_item(state, groups[group][0], passages.join(parts), seen_turns)
        items.append(item)
    return sorted(items, key=lambda item: item.line)


def _candidates(state: State, known: str) -> Iterator[tuple[Passage, list[str], float]]:
    """Yield what may be told, with its paragraphs and the weight of its place; of the last turns, what is not known yet."""
    finished = {each.turn for each in state.passages if each.kind == "outcome"}
    for number, each in enumerate(state.passages):
        is_under_way = each.turn == state.turns and each.turn not in finished
        is_passing = each.kind == "reply" and not is_under_way
        was_refused = _objection(state, each) is not None
        text = wording.without_last_announcement(each.text) if each.kind == "reply" else each.text
        parts = _told_parts(each, text)[: 1 if was_refused else None]
        if each.kind in ("reply", "outcome") and each.turn >= state.turns - 1:
            parts = _without_known(parts, text, known)
        if parts and not (each.kind == "reply" and len(text) < _MIN_REPLY_CHARS):
            weight = _WEIGHTS[each.kind] * _weight_of_age(each, number / len(state.passages))
            if each.kind == "reply" and is_under_way:
                weight *= _UNFINISHED_WEIGHT
            elif was_refused or (is_passing and (_SUPPOSES.search(text) or len(text) < _PROGRESS_CHARS)):
                weight *= _PASSING_WEIGHT
            yield each, parts, weight
    yield from _requests(state, known)
    for template in _templates(state):
        weight = _WEIGHTS["document"] * _weight_of_age(template, template.turn / state.turns)
        yield template, _told_parts(template, template.text), weight
    for fact in (
        *_changed_files(state, known),
        *_commits(state),
        *_fixed_failures(state),
        *_failures(state),
        *_finished_todos(state),
    ):
        yield fact, [fact.text], _TODO_WEIGHT if fact.about == "todo" else 1.0


def _weight_of_age(passage: Passage, place: float) -> float:
    """Return what is left of a passage's weight by its place between the first (0) and the last (1); plans do not age."""
    return 1.0 if passage.kind in ("summary", "plan") else _OLDEST + (1 - _OLDEST) * place


def _told_parts(passage: Passage, text: str) -> list[str]:
    """Return the paragraphs that say something; a question that ends a turn was answered by the next prompt."""
    if passage.kind == "summary":
        text = "\n".join(line for line in text.split("\n") if not _WAS_OPEN.search(line))
    parts = [part for part in passages.split(text) if not wording.only_announces(part)]
    if passage.kind == "outcome" and len(parts) > 1 and parts[-1].endswith(_QUESTION_MARKS):
        parts.pop()
    return parts


def _objection(state: State, passage: Passage) -> Prompt | None:
    """Return the prompt that objects to the outcome of a turn; a "no" to a question is an answer."""
    if passage.kind != "outcome" or passage.text.endswith(_QUESTION_MARKS):
        return None
    after = (each for each in state.prompts if each.previous_turn == passage.turn)
    return next((each for each in after if _is_objection(state, each)), None)


def _is_objection(state: State, prompt: Prompt) -> bool:
    text = wording.straighten_quotes(prompt.text)
    if not _MAY_OBJECT.match(text):
        return _OBJECTS.match(text) is not None
    replies = (
        each for each in state.passages if each.turn == prompt.turn and each.kind in ("reply", "outcome")
    )
    reply = next(replies, None)
    return reply is not None and _ADMITS.match(wording.straighten_quotes(reply.text)) is not None


def _requests(state: State, known: str) -> Iterator[tuple[Passage, list[str], float]]:
    """Yield the long requests, which the mission and the next steps shorten."""
    for prompt in state.prompts:
        text = prompt.text.strip()
        if _HEADING_LINE.search(text[:_HEAD_CHARS]) is None:
            # No plan or specification: without the output that was pasted into it.
            text = "\n\n".join(wording.typed_paragraphs(text))
        if len(text) > _LONG_REQUEST_CHARS:
            parts = _without_known(passages.split(text), text, known)
            request = Passage(prompt.ref, "reply", text, "request", prompt.turn, prompt.call)
            yield request, parts, _WEIGHTS["request"]


def _templates(state: State) -> Iterator[Passage]:
    """Yield the templates of the user's commands, each with the last prompt that has it: documents to follow."""
    for prompt in {prompt.template: prompt for prompt in state.prompts if prompt.template}.values():
        yield Passage(
            prompt.ref.with_excerpt(prompt.template),
            "document",
            prompt.template,
            "template",
            prompt.turn,
            prompt.call,
        )


def _without_known(parts: list[str], text: str, known: str) -> list[str]:
    """Return the paragraphs of a text that are not told with the mission or the next steps, which may tell it whole."""
    flat = " ".join(known.split())  # a quoted prompt has no empty lines
    is_told = " ".join(text.split()) in flat
    return [] if is_told else [part for part in parts if " ".join(part.split()) not in flat]


def _changed_files(state: State, known: str) -> Iterator[Passage]:
    """Yield the changed files that critical context has no room for, with what the agent said it did there."""
    for file in state.files.values():
        path = relative_path(file.path, state.project)
        if (
            file.edits
            and file.purposes
            and file.last not in ("deleted", "moved")
            and f"\n{path}\n" not in known
        ):
            why = "; ".join(shorten(purpose, 140) for purpose in file.purposes)
            text = f"{'Created' if file.is_new else 'Changed'} `{path}`: {why}"
            yield Passage(file.ref.with_excerpt(file.path), "note", text, "done", 0, file.call)


def _commits(state: State) -> Iterator[Passage]:
    for each in state.commits:
        name = f"Committed `{each.sha}`" if each.sha else "Committed"
        text = f"{name}: {each.subject}" + (f"\n{each.body}" if each.body else "")
        yield Passage(each.ref, "note", text, "done", 0, each.call)


def _fixed_failures(state: State) -> Iterator[Passage]:
    for command in state.commands.values():
        if command.failed_before and command.outcome == "passed" and checks.is_check(command):
            files = ", ".join(f"`{relative_path(path, state.project)}`" for path in command.fixed_by)
            after = f" after changes in {files}" if files else ""
            text = f"Fixed{after}: `{shorten(command.text, 120)}` had failed with {quote(command.failed_before, 150)} and passes now."
            yield Passage(command.refs[-1], "note", text, "fixed", 0, command.call)


def _failures(state: State) -> Iterator[Passage]:
    """Yield what did not work although it is no check: how not to do something is worth knowing."""
    last = {command.said: command for command in state.commands.values() if command.outcome == "failed"}
    for command in [*last.values()][-_MAX_FAILURES:]:
        if command.said and not checks.is_check(command):
            text = f"Did not work: `{shorten(command.text, 200)}`: {quote(command.said, 160)}"
            yield Passage(command.refs[-1], "note", text, "fixed", 0, command.call)


def _finished_todos(state: State) -> Iterator[Passage]:
    for todo in state.todos:
        if todo.status == "completed" and todo.text:
            yield Passage(todo.ref, "note", f"Done: {shorten(todo.text, 200)}", "todo", 0, todo.call)


def _as_item(state: State, passage: Passage, text: str, seen_turns: set[int]) -> Item:
    """Return a passage as an item of its section, with words that say where it is from."""
    about = passage.about
    if passage.kind == "outcome":
        is_recent = passage.turn >= state.turns - _RECENT_TURNS
        return _with_request(state, passage, text, "accomplishments", seen_turns, 300 if is_recent else 160)
    if about in _FACTS:
        return Item(_FACTS[about], text, [passage.ref])
    if about in ("request", "template"):
        return Item("key_findings", f"{OPENINGS[about]}: “{text}”", [passage.ref])
    if passage.kind != "reply":
        opening = OPENINGS[about or "proposed" if passage.kind == "plan" else passage.kind]
        named = opening.format(shorten(relative_path(about, state.project), _ABOUT_CHARS))
        section = "accomplishments" if passage.kind == "edit" else "key_findings"
        return Item(section, f"{named}: {text}" if text[:1] != "`" else f"{named}:\n{text}", [passage.ref])
    return _with_request(state, passage, text, "key_findings", seen_turns, 80)


def _with_request(
    state: State, passage: Passage, text: str, section: str, seen_turns: set[int], max_chars: int
) -> Item:
    """Return an item that begins with the request it belongs to; in findings, only the first of each request does."""
    prompt = next((each for each in state.prompts if each.turn == passage.turn), None)
    if prompt is None or prompt.is_for_leftoff or (section == "key_findings" and passage.turn in seen_turns):
        return Item(section, text, [passage.ref])
    if section == "key_findings":
        seen_turns.add(passage.turn)
    asked = [wording.essence(prompt.text, max_chars)]
    objection = _objection(state, passage)
    if objection is not None:
        asked.append(shorten(wording.title(objection.text), 160))
    opening = OPENINGS["objected" if objection is not None else passage.kind].format(*asked)
    return Item(section, f"{opening}: {text}", [prompt.ref, passage.ref])


def decide(state: State) -> list[Item]:
    """Return what was decided, oldest first: by the user, and by the agent with a reason."""
    return sorted([*_verdicts(state), *_choices(state)], key=lambda item: item.line)


def _verdicts(state: State) -> Iterator[Item]:
    """Yield what the user decided: answers, choices, refusals with their reason, verdicts on plans, corrections."""
    last = state.prompts[-1].ref if state.prompts else None
    for rule in state.rules:
        text = _describe_verdict(rule)
        is_last = last is not None and rule.ref.line_idx == last.line_idx  # which is quoted as the request
        if text and not is_last and not _was_done_after_all(state, rule):
            yield Item("decisions", text, [rule.ref])


def _was_done_after_all(state: State, rule: Rule) -> bool:
    """Return whether a command that was refused without a reason ran later."""
    if rule.kind != "refusal" or rule.text:
        return False
    return any(
        each.text == rule.about.strip("`") and each.call > rule.call for each in state.commands.values()
    )


def _describe_verdict(rule: Rule) -> str:
    """Return a sentence that tells it; empty for a rule, which is told elsewhere."""
    said = f"“{wording.essence(rule.text, _MAX_SAID_CHARS)}”" if rule.text else ""
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
        for part in passages.split(each.text)
        if len(part) <= _MAX_DECISION_CHARS
        and "\n" not in part
        and not any(mark in part for mark in _QUESTION_MARKS)
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
