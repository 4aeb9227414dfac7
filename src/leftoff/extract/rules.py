"""The user's rules, word for word: constraints, corrections, refusals, answers to questions, verdicts on plans.

Only the user's own words can become a rule: prompts without what was pasted into them, answers to the agent's questions, and
what the user said when refusing a call. Tool output, pages and the agent's own words never do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from leftoff.extract import todos, words
from leftoff.extract.caseless import Caseless
from leftoff.extract.state import Ref, Rule, State, Statement, begun
from leftoff.model.actions import Action, Answer, Changed, Proposed, Questioned, Ran, Wrote

_MOST_RULE_CHARS = 700
_LONGEST_SENTENCE_CHARS = 500
_MOST_FROM_ONE_PROMPT = 12
_SHORT_PROMPT_CHARS = 500
_ENOUGH_WHEN_TAKEN_BACK = 2  # words in common
SUPERSEDING_CHARS = 200  # of the later rule, told with the earlier one

# Words that make a sentence binding wherever they stand.
_BINDING = Caseless(
    r"\b(?:never|always|must(?:n't)?|do not|don'?t (?:ever|use|touch|add|change|push|commit|edit|create|delete|remove|run|write|put|make"
    r"|forget|need to|break|want|give|include|call|rename|modify|install|mock|ask|do|try|start|merge|let|skip|assume|over)"
    r"|make sure|be sure|ensure|from now on|keep in mind|remember (?:to|that|we)|no (?:new|more|need|longer)|not allowed|forbidden"
    r"|under no circumstances|at all times|in (?:any|no) case|without (?:adding|changing|touching|breaking|using|any)|avoid|prefer"
    r"|stick (?:to|with)|adher\w+|comply|only (?:use|in|when|if|the|for|change|touch)|(?:set|use|keep|run|write|put) only|at (?:most|least)"
    r"|before (?:each|every|you|any)|after (?:each|every)|whenever|each time|every time|by default|required? to|requirement"
    r"|hard[- ]deprecat\w+|write a test first|test first|as you go|be careful|important)\b"
    r"|_needs?_|\bNEVER\b|\bALWAYS\b|\bMUST\b|\bONLY\b"
    r"|必ず|絶対|しないで|禁止|厳守|必须|不要|务必|切勿|始终|всегда|никогда|нельзя|обязательно|immer|niemals|keinesfalls|siempre|nunca|toujours|jamais",
)
# Words that bind when they speak of the work rather than of what happened.
_WISH = Caseless(
    r"\b(?:should(?:n'?t| not)?|needs? to|has to|(?:you|we|they|it) have to|(?:we|you|I) need\b|we want|I want|I'?d (?:like|prefer|add|go|rather|keep|say)"
    r"|let'?s (?:use|keep|store|not|skip|drop|go|do|make|stick|leave|put|call|add|remove|definitely|stay)|I think (?:we|it|by|that|this)"
    r"|is (?:too|to) (?:much|big|long|many|complex)|use [\w./`-]+ (?:skill|instead|for|not|as)|instead|rather than|as well\b|also\b.*\b(?:need|want|should)"
    r"|has been renamed|is (?:poorly|badly|wrong)|is not terminal|on purpose|we (?:removed|decided|agreed|already|don'?t)|as (?:draft|short|simple) as"
    r"|lightweight|keep (?:it|the|all|everything|current)|not so useful|no,|nope)\b",
)
# What was seen, asked or supposed is no rule, whatever words it uses.
_REPORT = Caseless(
    r"\b(?:I|we|it|they|he|she|you) (?:never|always|only|don'?t|didn'?t|did not|do not|couldn'?t|can'?t|wasn'?t) (?:saw|see|seen|know|knew|got|get|had|happened|work(?:s|ed)?"
    r"|edit(?:ed)? (?:in|a)|remember|understand|think (?:so|that)|care|find|found|think it)\b"
    r"|\b(?:is|are|was|were|gets|got|has been|have been|had|does|did|keeps|kept|will be|would be) (?:never|always|only|still) \w+"
    r"|\bI (?:guess|wonder|just|pushed|did|had|messed|tried|ran|noticed|saw|got|see)\b|\bgot this\b|\bhere'?s? (?:is|the)\b|\blooks like\b|\bseems?\b",
)
# A sentence about something, which binds only if it says what should be.
_TELLS = Caseless(
    r"(?:the|it|an?|my|our|their|his|her|this|that|there|yesterday|today|some|by default|an important)\b",
)
_MODAL = Caseless(
    r"\b(?:should(?:n'?t)?|must(?:n'?t)?(?! have)|needs? to|ha(?:s|ve) to (?!be run by)|may not|can(?:not|'t) be|shall|not allowed|forbidden|required|too (?:much|big)|to (?:much|big)|instead)\b|_needs?_",
)
# An order that holds: how things are done, or what is left alone.
_ORDERS = Caseless(
    r"\A(?:please )?(?:use .*\b(?:not|never|instead|only)\b|use (?:tabs|spaces)|leave .*\b(?:alone|untouched|as (?:it|they) (?:is|are)|for (?:later|tomorrow|now))"
    r"|stay (?:on|with|within|in|away)|ask (?:me|first|before)|stick (?:to|with)|follow (?:the|our|my)|respect (?:the|our)|target \S+ \d|pin \S+ (?:to|at)|limit \S+ to"
    r"|keep .*\b(?:under|below|small|short|simple|as|in sync|compatible)\b|no \w+ing\b|stop \w+ing|hands off|(?:reply|answer|write|speak) (?:to me )?in [A-Z]\w+|commit (?:in|after|each|every|small)|nothing may\b"
    r"|tests? go(?:es)? in)",
)
_ASKS = re.compile(r"\?\s*(?:[:;]-?[)(/|]|[\U0001F300-\U0001FAFF☀-➿]|\))*\s*\Z")
# A question that is a wish: it judges what is there.
_JUDGES = Caseless(
    r"\b(?:not|isn'?t|better|instead|simpl\w+|too|rather|remove|again|useful|need|should|why don'?t|are we able|enough|just)\b",
)
_PLAN = re.compile(r"\AImplement the following plan:\s.*", re.DOTALL)
_OPTION_NAMED = re.compile(
    r"(?:(?:let'?s )?(?:go with|do|take|use) )?(?:option )?([a-z]|\d)[.)!]?", re.IGNORECASE
)
_GO_AHEAD = Caseless(
    r"(?:yes|yep|yeah|ok(?:ay)?|sure|continue|go(?: ahead| on)?|do it|proceed|push|please|thanks?(?: you)?|great|cool|perfect|nice|[ ,.!:)]|to all"
    r"|with all|now|next|fix it)+\Z",
)
_CORRECTS = Caseless(
    r"\A(?:no\b|nope|nah|but\b|actually|hmm|not |wait|correction\b|I(?:'ve| have)? changed my mind|forget (?:the|about|what)|on second thought|scratch that|that'?s (?:not|wrong)|those|this is(?:n'?t| not)|it'?s not|you (?:forgot|missed|should))",
)
# The agent gives in: what the user said just before was a correction (labelled sessions: the best single sign of one).
_ASSENT = Caseless(
    r"\A\W*(?:you'?re (?:absolutely |completely |totally |quite )?(?:right|correct)|good (?:call|catch|point|idea|question)|great (?:point|catch)|right[!,. —-]"
    r"|exactly|understood|agreed|absolutely|makes sense|fair (?:point|enough)|ah[,!]|got it|yes, (?:absolutely|exactly|you)|that makes sense)",
)
# The user takes something back.
_GIVES_UP = Caseless(
    r"\b(?:try something else|(?:remove|take|drop) .*\bagain|revert|undo|get rid of|no remove|ignore this|let'?s not|is (?:too|to) (?:much|big)"
    r"|forget (?:about )?(?:that|this|it)|scrap|never ?mind)\b",
)
_OPPOSITES = (
    ("keep", "remove"),
    ("add", "remove"),
    ("always", "never"),
    ("soft", "hard"),
    ("enable", "disable"),
    ("with", "without"),
    ("allow", "forbid"),
    ("include", "exclude"),
    ("public", "private"),
)
_TURNING = frozenset(word for pair in _OPPOSITES for word in pair)
# The user says in so many words that something said before holds no longer.
_TAKES_BACK = Caseless(
    r"\A(?:correction\b|actually\b|forget (?:the|about|what)|scratch that|on second thought|I(?:'ve| have)? changed my mind)|\bafter all\b",
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_NEGATION = Caseless(
    r"\b(?:no|not|never|don'?t|do not|without|remove|drop|stop|avoid|delete|revert|no longer|isn'?t)\b",
)
_CONTENT = re.compile(r"[A-Za-z_][\w.-]{3,}")
_STOPWORDS_IN_A_ROW = (
    "that this with from have should would could must never always about there their they them what when which then than also "
    "only just make sure into your please need want keep before after every each more some other where because like does"
)
_STOPWORDS = frozenset(_STOPWORDS_IN_A_ROW.split())


def note_prompt(state: State, ref: Ref, typed: str) -> None:
    """The rules in a prompt; those that are one only if the agent gives in wait for its next words."""
    state.candidates = []
    if chosen := _chosen_option(state, typed):
        _add(state, Rule(ref.saying(typed), typed.strip(), "answer", chosen, state.calls))
        return
    typed = _PLAN.sub("", typed)  # a plan was the agent's before the user handed it back
    own = [*words.typed_sentences(typed, is_casual=2 * state.casual_prompts > state.turns)]
    is_short = sum(map(len, own)) <= _SHORT_PROMPT_CHARS
    announced = words.announced_rules(typed)
    found = [
        Rule(ref.saying(said), said, kind, "", state.calls)
        for said in own
        if (kind := "constraint" if said in announced else _kind(said))
    ]
    for rule in [rule for rule in found if rule.kind != "candidate"][:_MOST_FROM_ONE_PROMPT]:
        _add(state, rule)
    if is_short:
        waiting = [rule._replace(kind="correction") for rule in found if rule.kind == "candidate"]
        state.candidates = waiting[:_MOST_FROM_ONE_PROMPT]
    for said in own:
        todos.cancel(state, said)
    for rule in found[:_MOST_FROM_ONE_PROMPT]:
        if _GIVES_UP.search(words.straight(rule.text)):
            state.statements.append(Statement(rule.ref, "abandoned", rule.text, "", state.turns, state.calls))


def _chosen_option(state: State, typed: str) -> str:
    """The option that a bare "2" or "option B" takes up, as the agent's last words put it; empty when it takes up none."""
    named = _OPTION_NAMED.fullmatch(typed.strip())
    before = state.statements[-1] if state.statements else None
    if named is None or before is None or before.kind != "summary":
        return ""
    offered = re.compile(rf"\W*(?:option |approach )?{named[1]}\b\W+\w.*", re.IGNORECASE)
    return next((said.strip() for said in before.text.splitlines() if offered.fullmatch(said.strip())), "")[
        :300
    ]


def note_reply(state: State, text: str) -> None:
    """The agent's first words after a prompt show whether the prompt was a correction."""
    waiting, state.candidates = state.candidates, []
    if waiting and _ASSENT.match(text):
        for rule in waiting[:3]:
            _add(state, rule)


def note_verdict(state: State, ref: Ref, actions: tuple[Action, ...], answer: Answer) -> None:
    """What the user decided about a call: answers, refusals, plans."""
    for question, chosen in answer.chosen:
        told = "\n".join(_told(chosen))
        if told and told != "(No answer provided)":
            _add(
                state,
                Rule(
                    ref.saying(chosen),
                    begun(told, _MOST_RULE_CHARS),
                    "answer",
                    begun(question, 300),
                    state.calls,
                ),
            )
    if answer.approved:
        _add(state, Rule(ref.saying("approved"), "", "plan_approved", _title(actions), state.calls))
    elif answer.refused and not any(isinstance(action, Questioned) for action in actions):
        kind = "refusal" if answer.approved is None else "plan_rejected"
        said = begun(answer.said, _MOST_RULE_CHARS)
        _add(state, Rule(ref.saying(said or "refused"), said, kind, _title(actions), state.calls))


def _kind(sentence: str) -> str | None:
    """What kind of rule a sentence of a prompt is; None: it is none."""
    sentence = words.straight(sentence)
    if len(sentence) > _LONGEST_SENTENCE_CHARS or len(sentence) < 6 or _GO_AHEAD.match(sentence):
        return None
    if _ASKS.search(sentence):
        return "candidate" if _JUDGES.search(sentence) else None
    if _REPORT.search(sentence) and not _CORRECTS.match(sentence):
        return None
    if _CORRECTS.match(sentence):
        return "correction"
    if _TELLS.match(sentence) and not _MODAL.search(sentence):
        return "candidate"
    if _ORDERS.match(sentence) or _BINDING.search(sentence) or _WISH.search(sentence):
        return "constraint"
    return "candidate"


def _told(answer: str) -> Iterator[str]:
    """The parts of an answer that tell something; half of the free answers are questions back."""
    parts = [*words.sentences(answer)]
    return (part for part in parts if not _ASKS.search(part))


def _title(actions: tuple[Action, ...]) -> str:
    """What the verdict is about, in one line."""
    for action in actions:
        match action:
            case Proposed(plan):
                return next(
                    (line.strip("# ").strip() for line in plan.splitlines() if line.strip()), "a plan"
                )[:160]
            case Ran(command, _, _):
                return f"`{begun(command, 160)}`"
            case Changed(path, _, new):
                return f"a change of {path}: {begun(' '.join(new.split()), 120)}"
            case Wrote(path, _):
                return f"writing {path}"
            case _:
                pass
    return "a tool call"


def _add(state: State, rule: Rule) -> None:
    """One more rule; the same words again count as said now, and a contradiction supersedes."""
    others = [known for known in state.rules if known.text != rule.text or known.about != rule.about]
    if rule.text:
        after = _stance(rule.text)
        others = [
            known._replace(superseded_by=begun(rule.text, SUPERSEDING_CHARS))
            if not known.superseded_by and _are_contrary(_stance(known.text), after)
            else known
            for known in others
        ]
    state.rules[:] = [*others, rule]


def contradicts(earlier: str, later: str) -> bool:
    """The same matter with the opposite verdict; in doubt both stand."""
    return _are_contrary(_stance(earlier), _stance(later))


def _are_contrary(before: _Stance, after: _Stance) -> bool:
    if not after.takes_back and before.matter.isdisjoint(after.matter):
        return False  # as nearly all pairs; every rule is held against every other
    shared = before.matter & after.matter
    if after.takes_back:
        return len(shared) >= _ENOUGH_WHEN_TAKEN_BACK or bool(before.numbers & after.numbers)
    is_same = (len(shared) >= 3 and len(shared) * 2 >= min(len(before.matter), len(after.matter))) or (
        (len(shared) >= 2 or max(len(before.matter), len(after.matter)) <= 2)
        and any("_" in word or "." in word for word in shared)
    )
    is_repeated = before.matter <= after.matter or after.matter <= before.matter
    return (
        is_same
        and not (is_repeated and before.negates == after.negates)
        and (
            before.negates != after.negates
            or (
                not before.words.isdisjoint(_TURNING)
                and any(_turned(before.words, after.words, pair) for pair in _OPPOSITES)
            )
        )
    )


def _turned(before: frozenset[str], after: frozenset[str], pair: tuple[str, str]) -> bool:
    return any(one in before and other in after and one not in after for one, other in (pair, pair[::-1]))


class _Stance(NamedTuple):
    """What a rule is about, which words it uses, and whether it forbids."""

    matter: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[str]
    negates: bool
    takes_back: bool


@lru_cache(maxsize=512)
def _stance(text: str) -> _Stance:
    text = words.straight(text)
    used = frozenset(word.strip(".,;:!?\"'`()").lower() for word in text.split())
    matter = frozenset(word.lower().strip(".") for word in _CONTENT.findall(text)) - _STOPWORDS
    return _Stance(
        matter=matter,
        words=used,
        numbers=frozenset(_NUMBER.findall(text)),
        negates=_NEGATION.search(text) is not None,
        takes_back=_TAKES_BACK.search(text.lstrip("“")) is not None,
    )
