"""Collect the user's rules, word for word: constraints, corrections, refusals, answers to questions, verdicts on plans.

Only the user's own text can become a rule: prompts without what was pasted into them, answers to the agent's questions, and what the
user said when refusing a call. Tool output, web pages and the agent's own text never do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from leftoff.core.actions import Action, Answer, Changed, Proposed, Questioned, Ran, Wrote
from leftoff.extraction import wording
from leftoff.extraction.phrases import LISTS, any_of
from leftoff.extraction.state import Ref, Rule, State, Statement, truncate

_MAX_RULE_CHARS = 700
_MAX_SENTENCE_CHARS = 500
_MIN_SENTENCE_CHARS = 6
_MAX_RULES_PER_PROMPT = 12
_SHORT_PROMPT_CHARS = 500
_MIN_SHARED_WORDS_OF_RETRACTION = 2
SUPERSEDING_CHARS = 200  # of the later rule, quoted with the earlier one
_BINDING = re.compile(rf"\b(?:{any_of('binding')})\b|{any_of('binding unbounded')}", re.IGNORECASE)
_WISH = re.compile(rf"\b(?:{any_of('wish')})\b", re.IGNORECASE)
_REPORT = re.compile(any_of("report"), re.IGNORECASE)
_DESCRIPTION = re.compile(rf"(?:{any_of('description')})\b", re.IGNORECASE)
_MODAL = re.compile(rf"\b(?:{any_of('modal')})\b|_needs?_", re.IGNORECASE)
_STANDING_ORDER = re.compile(rf"\A(?:please )?(?:{any_of('standing order')})", re.IGNORECASE)
_QUESTION = re.compile(r"\?\s*(?:[:;]-?[)(/|]|[\U0001F300-\U0001FAFF☀-➿]|\))*\s*\Z")
_JUDGING_QUESTION = re.compile(rf"\b(?:{any_of('judging question')})\b", re.IGNORECASE)
_PLAN = re.compile(r"\AImplement the following plan:\s.*", re.DOTALL)
_OPTION_NAMED = re.compile(
    r"(?:(?:let'?s )?(?:go with|do|take|use) )?(?:option )?([a-z]|\d)[.)!]?", re.IGNORECASE
)
_APPROVAL = re.compile(rf"(?:{any_of('approval')}|[ ,.!:)])+\Z", re.IGNORECASE)
_CORRECTION = re.compile(rf"\A(?:{any_of('correction')})", re.IGNORECASE)
_ASSENT = re.compile(rf"\A\W*(?:{any_of('assent')})", re.IGNORECASE)
_ABANDONED = re.compile(rf"\b(?:{any_of('abandoned by user')})\b", re.IGNORECASE)
_RETRACTION = re.compile(rf"\A(?:{any_of('retraction')})|\bafter all\b", re.IGNORECASE)
_NEGATION = re.compile(rf"\b(?:{any_of('negation')})\b", re.IGNORECASE)
_CANCELLATION = re.compile(rf"\b(?:{any_of('cancellation')})\b", re.IGNORECASE)
_OPPOSITES = [tuple(pair.split()) for pair in LISTS["opposites"]]
_OPPOSITE_WORDS = frozenset(word for pair in _OPPOSITES for word in pair)
_STOP_WORDS = frozenset(LISTS["stop words"])
_TODO_FILLER = frozenset(LISTS["to-do filler"])
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_TOPIC_WORD = re.compile(r"[A-Za-z_][\w.-]{3,}")
_WORD = re.compile(r"[\w-]+")


def add_prompt(state: State, ref: Ref, typed: str) -> None:
    """Add the rules of a prompt. A sentence that is one only if the agent gives in waits for the agent's next text."""
    state.candidates = []
    if chosen := _chosen_option(state, typed):
        _add(state, Rule(ref.with_excerpt(typed), typed.strip(), "answer", chosen, state.calls))
        return
    typed = _PLAN.sub("", typed)  # the agent wrote the plan before the user handed it back
    own = [*wording.typed_sentences(typed, is_casual=2 * state.casual_prompts > state.turns)]
    is_short = sum(map(len, own)) <= _SHORT_PROMPT_CHARS
    announced = wording.announced_rules(typed)
    found = [
        Rule(ref.with_excerpt(said), said, kind, "", state.calls)
        for said in own
        if (kind := "constraint" if said in announced else _rule_kind(said))
    ]
    for rule in [rule for rule in found if rule.kind != "candidate"][:_MAX_RULES_PER_PROMPT]:
        _add(state, rule)
    if is_short:
        waiting = [rule._replace(kind="correction") for rule in found if rule.kind == "candidate"]
        state.candidates = waiting[:_MAX_RULES_PER_PROMPT]
    for said in own:
        cancel_todos(state, said)
    for rule in found[:_MAX_RULES_PER_PROMPT]:
        if _ABANDONED.search(wording.straighten_quotes(rule.text)):
            state.statements.append(Statement(rule.ref, "abandoned", rule.text, "", state.turns, state.calls))


def _chosen_option(state: State, typed: str) -> str:
    """Return the option that a bare "2" or "option B" chooses, in the agent's last words; empty when it chooses none."""
    named = _OPTION_NAMED.fullmatch(typed.strip())
    before = state.statements[-1] if state.statements else None
    if named is None or before is None or before.kind != "summary":
        return ""
    offered = re.compile(rf"\W*(?:option |approach )?{named[1]}\b\W+\w.*", re.IGNORECASE)
    return next((said.strip() for said in before.text.splitlines() if offered.fullmatch(said.strip())), "")[
        :300
    ]


def add_assented(state: State, text: str) -> None:
    """Add the waiting rules if the agent's first words after a prompt show that the prompt was a correction."""
    waiting, state.candidates = state.candidates, []
    if waiting and _ASSENT.match(text):
        for rule in waiting[:3]:
            _add(state, rule)


def add_verdict(state: State, ref: Ref, actions: tuple[Action, ...], answer: Answer) -> None:
    """Add what the user decided about a call: answers, refusals, verdicts on plans."""
    for question, chosen in answer.chosen:
        text = "\n".join(_statements(chosen))
        if text and text != "(No answer provided)":
            _add(
                state,
                Rule(
                    ref.with_excerpt(chosen),
                    truncate(text, _MAX_RULE_CHARS),
                    "answer",
                    truncate(question, 300),
                    state.calls,
                ),
            )
    if answer.approved:
        _add(state, Rule(ref.with_excerpt("approved"), "", "plan_approved", _title(actions), state.calls))
    elif answer.refused and not any(isinstance(action, Questioned) for action in actions):
        kind = "refusal" if answer.approved is None else "plan_rejected"
        said = truncate(answer.user_text, _MAX_RULE_CHARS)
        _add(state, Rule(ref.with_excerpt(said or "refused"), said, kind, _title(actions), state.calls))


def _rule_kind(sentence: str) -> str | None:
    """Return what kind of rule a sentence of a prompt is; None when it is no rule."""
    sentence = wording.straighten_quotes(sentence)
    if (
        len(sentence) > _MAX_SENTENCE_CHARS
        or len(sentence) < _MIN_SENTENCE_CHARS
        or _APPROVAL.match(sentence)
    ):
        return None
    if _QUESTION.search(sentence):
        return "candidate" if _JUDGING_QUESTION.search(sentence) else None
    if _REPORT.search(sentence) and not _CORRECTION.match(sentence):
        return None
    if _CORRECTION.match(sentence):
        return "correction"
    if _DESCRIPTION.match(sentence) and not _MODAL.search(sentence):
        return "candidate"
    if _STANDING_ORDER.match(sentence) or _BINDING.search(sentence) or _WISH.search(sentence):
        return "constraint"
    return "candidate"


def _statements(answer: str) -> Iterator[str]:
    """Return the sentences of an answer that are not questions back: half of the free answers are."""
    parts = [*wording.sentences(answer)]
    return (part for part in parts if not _QUESTION.search(part))


def _title(actions: tuple[Action, ...]) -> str:
    """Return what a verdict is about, in one line."""
    for action in actions:
        match action:
            case Proposed(plan):
                return next(
                    (line.strip("# ").strip() for line in plan.splitlines() if line.strip()), "a plan"
                )[:160]
            case Ran(command, _, _):
                return f"`{truncate(command, 160)}`"
            case Changed(path, _, new):
                return f"a change of {path}: {truncate(' '.join(new.split()), 120)}"
            case Wrote(path, _):
                return f"writing {path}"
            case _:
                pass
    return "a tool call"


def _add(state: State, rule: Rule) -> None:
    """Add a rule; repeated words count as said now, and a rule that contradicts an earlier one supersedes it."""
    others = [known for known in state.rules if known.text != rule.text or known.about != rule.about]
    if rule.text:
        after = _stance(rule.text)
        others = [
            known._replace(superseded_by=truncate(rule.text, SUPERSEDING_CHARS))
            if not known.superseded_by and _contradict(_stance(known.text), after)
            else known
            for known in others
        ]
    state.rules[:] = [*others, rule]


def contradicts(earlier: str, later: str) -> bool:
    """Return whether a later rule says the opposite about the same topic; in doubt it does not."""
    return _contradict(_stance(earlier), _stance(later))


def _contradict(before: _Stance, after: _Stance) -> bool:
    if not after.retracts and before.topic.isdisjoint(after.topic):
        return False  # true of nearly all pairs, and every rule is compared with every other
    shared = before.topic & after.topic
    if after.retracts:
        return len(shared) >= _MIN_SHARED_WORDS_OF_RETRACTION or bool(before.numbers & after.numbers)
    is_same = (len(shared) >= 3 and len(shared) * 2 >= min(len(before.topic), len(after.topic))) or (
        (len(shared) >= 2 or max(len(before.topic), len(after.topic)) <= 2)
        and any("_" in word or "." in word for word in shared)
    )
    is_repeated = before.topic <= after.topic or after.topic <= before.topic
    return (
        is_same
        and not (is_repeated and before.negates == after.negates)
        and (
            before.negates != after.negates
            or (
                not before.words.isdisjoint(_OPPOSITE_WORDS)
                and any(_opposed(before.words, after.words, pair) for pair in _OPPOSITES)
            )
        )
    )


def _opposed(before: frozenset[str], after: frozenset[str], pair: tuple[str, ...]) -> bool:
    return any(one in before and other in after and one not in after for one, other in (pair, pair[::-1]))


class _Stance(NamedTuple):
    """The topic of a rule, the words it uses, and whether it forbids or retracts."""

    topic: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[str]
    negates: bool
    retracts: bool


@lru_cache(maxsize=512)
def _stance(text: str) -> _Stance:
    text = wording.straighten_quotes(text)
    used = frozenset(word.strip(".,;:!?\"'`()").lower() for word in text.split())
    topic = frozenset(word.lower().strip(".") for word in _TOPIC_WORD.findall(text)) - _STOP_WORDS
    return _Stance(
        topic=topic,
        words=used,
        numbers=frozenset(_NUMBER.findall(text)),
        negates=_NEGATION.search(text) is not None,
        retracts=_RETRACTION.search(text.lstrip("“")) is not None,
    )


def cancel_todos(state: State, said: str) -> None:
    """Cancel the to-dos that the user takes off the list."""
    for number, todo in enumerate(state.todos):
        if todo.status in ("pending", "in_progress") and is_cancelled(todo.text, said):
            state.todos[number] = todo._replace(status="cancelled", call=state.calls)


def is_cancelled(todo: str, said: str) -> bool:
    """Return whether a sentence takes a to-do off the list: it says so, and names all of its words."""
    if not _CANCELLATION.search(said):
        return False
    topic = {word.lower() for word in _WORD.findall(todo)} - _TODO_FILLER
    return bool(topic) and topic <= {word.lower() for word in _WORD.findall(said)}
