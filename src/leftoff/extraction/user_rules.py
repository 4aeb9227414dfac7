"""Collect the user's standing demands and verdicts, word for word.

A rule is a sentence that keeps holding ("Never exceed $40 without approval"), kept with the sentence before it where it needs that
to say what it is about. One-off requests, questions, reports, pasted text and what the client or the agent said are no rules. What the
user decided about a call, a question or a plan is kept beside the rules, with the user's reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from leftoff.core.actions import Action, Answer, Changed, Proposed, Questioned, Ran, Wrote
from leftoff.extraction import passages, wording
from leftoff.extraction.phrases import LISTS, any_of
from leftoff.extraction.state import Ref, Rule, RuleKind, State, truncate

_MAX_RULE_CHARS = 700
_MAX_SENTENCE_CHARS = 400
_MIN_SENTENCE_CHARS = 12
_MAX_RULES_PER_PROMPT = 15
_SHORT_PROMPT_CHARS = 400
_LONG_PROMPT_CHARS = 1_500
_SEARCHED_CHARS = 50_000  # at each end of a prompt: nobody types more, and a megabyte takes a second
_MIN_SHARED_WORDS_OF_RETRACTION = 2
SUPERSEDING_CHARS = 200  # of the later rule, quoted with the earlier one
_STANDING = re.compile(rf"\b(?:{any_of('standing')})\b|{any_of('standing, other languages')}", re.IGNORECASE)
_ORDER = re.compile(rf"\A\W*(?:{any_of('polite')})*(?:{any_of('standing order')})", re.IGNORECASE)
_FORBIDS = re.compile(
    rf"(?:\A\W*|[,;:\u2014\u2013(-]\s*|\b(?:please|and|but|so|then|just)\s+)(?:{any_of('forbids')})",
    re.IGNORECASE,
)
_REPORT = re.compile(any_of("report"), re.IGNORECASE)
_ONE_OFF = re.compile(any_of("one-off"), re.IGNORECASE)
_STRICT = re.compile(
    r"\b(?:never|always|do not|don't|must not|mustn't|not allowed|forbidden|only|no|ask|prefer|avoid)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?\uff1f]\W*\Z")
_CORRECTION = re.compile(rf"\A(?:{any_of('correction')})", re.IGNORECASE)
_DIRECTS = re.compile(rf"\b(?:{any_of('directs')})\b", re.IGNORECASE)
# A pronoun near the beginning, or a verb without an object: the sentence before says what it is about.
_POINTS_BACK = re.compile(
    r"\A\W*(?:\w+\W+){0,5}?(?:it|that|this|them|those|these|they)\b"
    r"|\b(?:never|always|not|don't)\s+\w+\s*(?:[.!]|\Z|\b(?:without|unless|before|until|after|when|if)\b)",
    re.IGNORECASE,
)
_PLAN = re.compile(r"\AImplement the following plan:\s.*", re.DOTALL)
_CHOICE = re.compile(rf"(?:\b|(?<=\W))(?:{any_of('decides')})", re.IGNORECASE)
_MAX_ANSWER_CHARS = 100
_OPTION_NAMED = re.compile(
    r"(?:(?:let'?s )?(?:go with|do|take|use) )?(?:option )?([a-z]|\d)[.)!]?", re.IGNORECASE
)
_RETRACTION = re.compile(rf"\A(?:{any_of('retraction')})|\bafter all\b", re.IGNORECASE)
_PERMITS = re.compile(rf"\b(?:{any_of('permits')})\b", re.IGNORECASE)
_PERMITS_NOT = re.compile(r"(?:not|never|only|no)\b", re.IGNORECASE)
_NEGATION = re.compile(rf"\b(?:{any_of('negation')})\b", re.IGNORECASE)
_CANCELLATION = re.compile(rf"\b(?:{any_of('cancellation')})\b", re.IGNORECASE)
_OPPOSITES = [tuple(pair.split()) for pair in LISTS["opposites"]]
_STOP_WORDS = frozenset(LISTS["stop words"])
_TODO_FILLER = frozenset(LISTS["to-do filler"])
_WORDS_OF_PERMISSION = {"again", "now", "allowed", "fine", "okay"}
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_TOPIC_WORD = re.compile(r"[A-Za-z_][\w.-]{3,}")
_WORD = re.compile(r"[\w-]+")


def add_prompt(state: State, ref: Ref, typed: str, *, has_read_last_reply: bool) -> None:
    """Add the rules of a prompt, and the correction that a short prompt makes; what was typed before a reply answers no question in it."""
    if len(typed) > 2 * _SEARCHED_CHARS:
        typed = f"{typed[:_SEARCHED_CHARS]}\n\n{typed[-_SEARCHED_CHARS:]}"
    if chosen := _chosen_option(state, typed) if has_read_last_reply else "":
        _add(state, Rule(ref.with_excerpt(typed), typed.strip(), "answer", chosen, state.calls))
        return
    if asked := _answered_question(state, typed) if has_read_last_reply else "":
        _add(state, Rule(ref.with_excerpt(typed), typed.strip(), "choice", asked, state.calls))
    typed = "" if _PLAN.match(typed) else typed  # the agent wrote the plan before the user handed it back
    paragraphs = [*wording.typed_paragraphs(typed)]
    sentences = [said for paragraph in paragraphs for said in wording.sentences(paragraph)]
    announced = {*wording.announced_rules(typed), *(said for said in sentences if _takes_back(state, said))}
    found = [rule for paragraph in paragraphs for rule in _rules_of_paragraph(paragraph, announced)]
    if (
        len(typed) > _LONG_PROMPT_CHARS
    ):  # the description of a task: "must" says there what is to be done in it
        found = [said for said in found if said in announced or _STRICT.search(said) or not said.isascii()]
    found = [said for said in found if not any(said in each.text for each in state.passages)]  # pasted back
    for said in dict.fromkeys(found[:_MAX_RULES_PER_PROMPT]):
        _add(state, Rule(ref.with_excerpt(said), said, "rule", "", state.calls))
    if not found and not asked:
        _add_decision(state, ref, " ".join(paragraphs), sentences)
    for said in sentences:
        cancel_todos(state, said)


def _add_decision(state: State, ref: Ref, typed: str, sentences: list[str]) -> None:
    """Add what a short prompt corrects, or else the first sentence that chooses one way of several."""
    straight, before = wording.straighten_quotes(typed), state.last_reply
    corrects = _CORRECTION.match(straight) and _DIRECTS.search(straight) and not _QUESTION.search(typed)
    is_answer = before is not None and _QUESTION.search(before.text)
    if corrects and len(typed) <= _SHORT_PROMPT_CHARS and not is_answer:
        _add(state, Rule(ref.with_excerpt(typed), typed, "correction", "", state.calls))
        return
    for said in sentences:
        is_whole = _MIN_SENTENCE_CHARS <= len(said) <= _MAX_SENTENCE_CHARS and not _QUESTION.search(said)
        if is_whole and _CHOICE.search(wording.straighten_quotes(said)):
            _add(state, Rule(ref.with_excerpt(said), said, "choice", "", state.calls))
            return


def _answered_question(state: State, typed: str) -> str:
    """Return the question with which the agent ended its turn, if the prompt is short and answers it; else nothing."""
    before = state.last_reply
    if (
        before is None
        or before.kind != "outcome"
        or len(typed) > _MAX_ANSWER_CHARS
        or _QUESTION.search(typed)
    ):
        return ""
    asked = [*wording.sentences(before.text.rpartition("\n\n")[2]), ""][-2:][0]
    shared = passages.words(typed) & passages.words(asked)
    is_answer = wording.GO_AHEAD.match(typed) or any(len(word) > 3 or not word.isascii() for word in shared)
    return truncate(asked, 300) if _QUESTION.search(asked) and is_answer else ""


def _takes_back(state: State, said: str) -> bool:
    """Return whether a sentence retracts or permits what a rule says: it holds from then on, whatever its words are."""
    return _may_take_back(said) and any(
        rule.kind == "rule" and contradicts(rule.text, said) for rule in state.rules
    )


def _may_take_back(said: str) -> bool:
    stance = _stance(said)
    is_told = len(said) <= _MAX_SENTENCE_CHARS and not _QUESTION.search(said)
    return is_told and (stance.retracts or stance.permits)


def retractions(state: State) -> list[str]:
    """Return the user's sentences that may retract or permit what a rule says, newest first."""
    return [
        said
        for prompt in reversed(state.prompts)
        if not prompt.is_for_leftoff
        for said in reversed([*wording.sentences(prompt.text)])
        if _may_take_back(said)
    ]


def _rules_of_paragraph(paragraph: str, announced: set[str]) -> Iterator[str]:
    """Yield the rules of a paragraph, line by line; one that points back is told with the sentence, or the rule, before it."""
    for line in paragraph.splitlines():
        found: list[str] = []
        before = ""
        for said in wording.sentences(line):
            if said in announced or is_rule(said):
                is_subject = 0 < len(before) <= _MAX_SENTENCE_CHARS // 2 and not _QUESTION.search(before)
                rule = f"{before} {said}" if is_subject and _POINTS_BACK.search(said) else said
                if found and rule.startswith(f"{found[-1]} "):
                    found.pop()
                found.append(rule)
                before = rule
            else:
                before = said
        yield from found


def is_rule(sentence: str) -> bool:
    """Return whether a sentence of the user is a standing demand."""
    sentence = wording.straighten_quotes(sentence)
    if len(sentence) > _MAX_SENTENCE_CHARS or (len(sentence) < _MIN_SENTENCE_CHARS and sentence.isascii()):
        return False
    if _QUESTION.search(sentence) or _ONE_OFF.search(sentence):
        return False
    if _FORBIDS.search(sentence) or _ORDER.match(sentence):
        return True
    return _STANDING.search(sentence) is not None and not _REPORT.search(sentence)


def _chosen_option(state: State, typed: str) -> str:
    """Return the option that a bare "2" or "option B" chooses, in the agent's last words; empty when it chooses none."""
    named = _OPTION_NAMED.fullmatch(typed.strip())
    before = state.last_reply
    if named is None or before is None or before.kind != "outcome":
        return ""
    offered = re.compile(rf"\W*(?:option |approach )?{named[1]}\b\W+\w.*", re.IGNORECASE)
    return next((said.strip() for said in before.text.splitlines() if offered.fullmatch(said.strip())), "")[
        :300
    ]


def add_verdict(state: State, ref: Ref, actions: tuple[Action, ...], answer: Answer) -> None:
    """Add what the user decided about a call: answers, refusals, verdicts on plans."""
    for question, chosen in answer.chosen:
        text = "\n".join(said for said in wording.sentences(chosen) if not _QUESTION.search(said))
        if text and text != "(No answer provided)":
            text, about = truncate(text, _MAX_RULE_CHARS), truncate(question, 300)
            _add(state, Rule(ref.with_excerpt(chosen), text, "answer", about, state.calls))
    if answer.approved:
        _add(state, Rule(ref.with_excerpt("approved"), "", "plan_approved", _title(actions), state.calls))
    elif answer.refused and not any(isinstance(action, Questioned) for action in actions):
        said = truncate(answer.user_text, _MAX_RULE_CHARS)
        kind: RuleKind = "refusal" if answer.approved is None else "plan_rejected"
        _add(state, Rule(ref.with_excerpt(said or "refused"), said, kind, _title(actions), state.calls))


def _title(actions: tuple[Action, ...]) -> str:
    """Return what a verdict is about, in one line."""
    for action in actions:
        match action:
            case Proposed(plan):
                lines = (line.strip("# ").strip() for line in plan.splitlines())
                return next(filter(None, lines), "a plan")[:160]
            case Ran(command, _, _):
                return f"`{truncate(command, 160)}`"
            case Changed(path, _, _):
                return f"a change of `{path}`"
            case Wrote(path, _):
                return f"writing `{path}`"
            case _:
                pass
    return "a tool call"


def _add(state: State, rule: Rule) -> None:
    """Add a rule; repeated words count as said now, and a rule that contradicts an earlier one supersedes it."""
    others = [known for known in state.rules if known.text != rule.text or known.about != rule.about]
    if rule.text:
        superseding = truncate(rule.text, SUPERSEDING_CHARS)
        others = [
            known._replace(superseded_by=superseding)
            if not known.superseded_by and known.text and contradicts(known.text, rule.text)
            else known
            for known in others
        ]
    state.rules[:] = [*others, rule]


def contradicts(earlier: str, later: str) -> bool:
    """Return whether a later rule says the opposite about the same topic; in doubt it does not."""
    before, after = _stance(earlier), _stance(later)
    shared = before.topic & after.topic
    if after.retracts:
        return len(shared) >= _MIN_SHARED_WORDS_OF_RETRACTION or bool(before.numbers & after.numbers)
    if after.permits and before.negates and shared and after.topic - before.topic <= _WORDS_OF_PERMISSION:
        return True  # "You may delete rows now" after "Never delete rows"
    fewest, most = sorted((len(before.topic), len(after.topic)))
    names = any("_" in word or "." in word for word in shared)
    is_same = (len(shared) >= 3 and len(shared) * 2 >= fewest) or (names and (len(shared) >= 2 or most <= 2))
    if not is_same:
        return False
    return before.negates != after.negates or (
        len(shared) < fewest
        and any(
            one in before.words and other in after.words and one not in after.words
            for pair in _OPPOSITES
            for one, other in (pair, pair[::-1])
        )
    )


class _Stance(NamedTuple):
    """The topic of a rule, the words it uses, and whether it forbids, permits or retracts."""

    topic: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[str]
    negates: bool
    permits: bool
    retracts: bool


@lru_cache(maxsize=512)
def _stance(text: str) -> _Stance:
    text = wording.straighten_quotes(text)
    permits = _PERMITS.search(text)
    return _Stance(
        topic=frozenset(word.lower().strip(".") for word in _TOPIC_WORD.findall(text)) - _STOP_WORDS,
        words=frozenset(word.strip(".,;:!?\"'`()").lower() for word in text.split()),
        numbers=frozenset(_NUMBER.findall(text)),
        negates=_NEGATION.search(text) is not None,
        permits=permits is not None and not _PERMITS_NOT.match(text, permits.end()),
        retracts=_RETRACTION.search(text.lstrip("“")) is not None,
    )


def cancel_todos(state: State, said: str) -> None:
    """Cancel the to-dos that the user takes off the list."""
    if not _CANCELLATION.search(said):
        return
    for number, todo in enumerate(state.todos):
        if todo.status in ("pending", "in_progress") and is_cancelled(todo.text, said):
            state.todos[number] = todo._replace(status="cancelled", call=state.calls)


def is_cancelled(todo: str, said: str) -> bool:
    """Return whether a sentence takes a to-do off the list: it says so, and names all of its words."""
    if not _CANCELLATION.search(said):
        return False
    topic = {word.lower() for word in _WORD.findall(todo)} - _TODO_FILLER
    return bool(topic) and topic <= {word.lower() for word in _WORD.findall(said)}
