"""Say what the session was for and what is left to do: the request, what the agent said last, open to-dos, failing checks, jobs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from leftoff.core.budget import count_quarters
from leftoff.core.markdown import NO_STEP_NAMED, NOTHING_OPEN
from leftoff.extraction import checks, passages, user_rules, wording
from leftoff.extraction.open_request import (
    CONTEXT,
    LAST_REQUEST_CHARS,
    Step,
    fit_reply,
    is_complete,
    open_request,
    quote_prompt,
    says_what_is_left,
)
from leftoff.extraction.phrases import any_of
from leftoff.extraction.state import Passage, Pending, Prompt, Ref, State
from leftoff.extraction.wording import quote, shorten

_MAX_NEXT_STEPS = 20
_VERDICTS = ("answer", "refusal", "plan_rejected")
_FIRST_REQUEST_CHARS = 1_800
_REQUEST_CHARS = 260  # of each between the first and the last
_REQUESTS_CHARS = 4_200  # all together
# How the steps begin that a later session may find in the log.
FIRST_ASKED = "The user first asked:"  # the beginning of a mission
TEAM_ASKED = "Another agent first asked:"  # the same, in a team of agents
LATEST = "The latest request:"
WAITING = "Newest request, not begun:"
UNDER_WAY = "Call without an answer:"
LAST_REPLY = "The agent's last reply"
FAILS = "Failing check:"
RUNNING = "Running in the background when last seen:"
TODO_WORDS = {"in_progress": "In progress", "pending": "To do"}
_MAX_THANKS_CHARS = 120  # a longer prompt asks for something else
_CONTENT = re.compile(rf"\b(?:{any_of('content')})\b|^\W*(?:done|finished)\W*$", re.IGNORECASE)
_PARTLY = re.compile(rf"\b(?:{any_of('partly')})\b|n't\b|[?\uff1f]|\d\s?%|\[ \]|\bopen:", re.IGNORECASE)
_THANKS = re.compile(rf"\b(?:{any_of('thanks')})\b", re.IGNORECASE)
_MORE_TO_COME = re.compile(rf"\b(?:{any_of('more to come')})\b|[?\uff1f]", re.IGNORECASE)
_CODE = re.compile(r"`([^`]+)`")


def mission(state: State) -> tuple[str, list[Ref]]:
    """Return what the user asked first, what followed, and the latest request; without any, the project continued."""
    asked = requests(state)
    if not asked:
        return _mission_of_project(state)
    first, last = asked[0], asked[-1]
    opening = TEAM_ASKED if first.by_agent else FIRST_ASKED
    typed = first.text + last.text
    share = min(
        1.0, 1.3 * len(typed) / count_quarters(typed)
    )  # Chinese takes five times as many tokens as English
    parts = [f"{opening} {quote_prompt(first, int(_FIRST_REQUEST_CHARS * share))}"]
    latest = f"{LATEST} {quote_prompt(last, int(LAST_REQUEST_CHARS * share))}" if last is not first else ""
    chars_left = int(_REQUESTS_CHARS * share) - len(parts[0]) - len(latest)
    between, quoted = [], [first]
    for prompt in reversed(asked[1:-1]):
        line = f"- “{wording.essence(prompt.text, _REQUEST_CHARS)}”"
        if len(line) > chars_left:
            break
        chars_left -= len(line) + 1
        between.append(line)
        quoted.append(prompt)
    left_out = len(asked) - 2 - len(between)
    if between:
        note = f" ({left_out} earlier requests left out)" if left_out > 0 else ""
        parts.append("\n".join([f"Then{note}, in this order:", *reversed(between)]))
    if latest:
        parts.append(latest)
        quoted.append(last)
    return "\n\n".join(parts), [prompt.ref for prompt in quoted]


def _mission_of_project(state: State) -> tuple[str, list[Ref]]:
    if not (continued := [prompt for prompt in state.prompts if prompt.project]):
        return "", []
    names = " and ".join(dict.fromkeys(shorten(prompt.project, 80) for prompt in continued))
    mission = f"The user had project {names} continued; its _resume.md says what it is for."
    return mission, [prompt.ref for prompt in continued]


def requests(state: State) -> list[Prompt]:
    """Return the prompts that ask for something: not those for leftoff, nor those that only say "continue", "yes" or "thanks"."""
    return [
        each for each in state.prompts if not each.is_for_leftoff and not wording.GO_AHEAD.match(each.text)
    ]


def next_steps(state: State) -> list[Step]:
    """Return what is open, with what the agent said last; where nothing is open, a step that says so."""
    steps = [*_open_steps(state, with_context=True)] if find_open_steps(state) else [*_nothing_open(state)]
    return [*dict.fromkeys((text, tuple(refs)) for text, refs in steps[:_MAX_NEXT_STEPS])]  # type: ignore[list-item]


def find_open_steps(state: State) -> list[Step]:
    """Return all that is left to do. When that is nothing, the work may be finished."""
    return [*_open_steps(state, with_context=False)]


def _open_steps(state: State, *, with_context: bool) -> Iterator[Step]:
    """Yield what is open; ``with_context`` also what the agent said and did last, which is nothing to do by itself."""
    if state.queued and state.queued_ref is not None:
        yield f"{WAITING} “{passages.fit(state.queued, LAST_REQUEST_CHARS)}”", [state.queued_ref]
    if state.prompts and not is_answered(state, state.prompts[-1]):
        yield from open_request(state, with_context=with_context)
    else:
        said = _reply_with_next_step(state) or (_last_words(state) if with_context else None)
        if said is not None:
            yield f"{LAST_REPLY}{_answering(state, said)}: {fit_reply(said.text)}", [said.ref]
    yield from _open_todos(state)
    yield from _unsettled_calls(state)


def _answering(state: State, reply: Passage) -> str:
    """Say what a reply answers, where that is not the latest request: a mere "yes" and its offer, an answer, a refusal."""
    said = [(each.ref, each.text) for each in state.prompts if not each.is_for_leftoff]
    said += [(rule.ref, rule.text) for rule in state.rules if rule.kind in _VERDICTS and rule.text]
    before = [pair for pair in said if pair[0].line_idx < reply.ref.line_idx]
    asked = requests(state)
    ref, text = max(before, key=lambda pair: pair[0].line_idx, default=(None, ""))
    if ref is None or (asked and ref.line_idx == asked[-1].ref.line_idx):
        return ""
    offers = [each for each in state.passages if each.kind == "outcome" and each.ref.line_idx < ref.line_idx]
    offer = [*wording.sentences(offers[-1].text.rpartition("\n\n")[2])][-1:] if offers else []
    return f" (to {quote(text, 400)}" + (f", after {quote(offer[0], 300)})" if offer else ")")


def _unsettled_calls(state: State) -> Iterator[Step]:
    """Yield calls without an answer, checks that fail, and jobs that were not seen to end."""
    for waiting in state.pending.values():
        yield f"{UNDER_WAY} {_describe_call(waiting)}", [waiting.ref.with_excerpt(waiting.tool)]
    last_edit = checks.last_edit(state)
    for command in checks.unresolved_failures(state)[-4:]:
        why = f" → {quote(command.said, 160)}" if command.said else ""
        since = " (files were changed since, it was not run again)" if command.call < last_edit else ""
        yield f"{FAILS} `{shorten(command.text, 160)}`{why}{since}", command.refs
    for job in state.jobs.values():
        yield f"{RUNNING} `{shorten(job.command, 160)}`", [job.ref]


def _open_todos(state: State) -> Iterator[Step]:
    # An entry in progress from before the agent called the work done is one that it forgot to tick off.
    said = [each for each in state.passages if each.kind == "outcome" or each is state.last_reply]
    is_over = bool(state.prompts) and is_answered(state, state.prompts[-1])
    ends = (each for each in said if each.kind == "outcome" or is_over)
    done_at = max(
        (each.call for each in ends if any(map(is_complete, wording.sentences(each.text)))), default=-1
    )
    for status, word in TODO_WORDS.items():
        for todo in state.todos:
            if todo.status == status and todo.text and (status == "pending" or todo.call > done_at):
                yield f"{word}: {shorten(todo.text, 300)}", [todo.ref]


def _describe_call(call: Pending) -> str:
    """Return what a call was to do: its command or file, else the tool's name."""
    given = call.input
    if isinstance(given, dict):
        for key in ("command", "cmd", "file_path", "path", "description", "url", "query", "pattern"):
            value = given.get(key)
            text = " ".join(map(str, value)) if isinstance(value, list) else value
            if isinstance(text, str) and text:
                return f"{call.tool} `{shorten(text, 200)}`"
    elif isinstance(given, str) and given:
        return f"{call.tool} `{shorten(given, 160)}`"
    return call.tool


def is_answered(state: State, prompt: Prompt) -> bool:
    """Return whether the agent said something after the last call of the prompt's turn."""
    if prompt is not state.prompts[-1]:
        return any(each.kind == "outcome" and each.turn == prompt.turn for each in state.passages)
    reply = state.last_reply
    return reply is not None and reply.call == state.calls and not state.pending and reply.turn == prompt.turn


def _last_words(state: State) -> Passage | None:
    """Return the agent's last reply that says something: not "No response requested." after a command of the client."""
    said = (each for each in reversed(state.passages) if each.kind in ("reply", "outcome"))
    return next((each for each in said if not wording.only_announces(each.text)), state.last_reply)


def _reply_with_next_step(state: State) -> Passage | None:
    """Return the agent's last reply if it says what is left; after mere thanks, the reply before."""
    last = state.last_reply
    if last is None or last.turn != state.turns:
        return None
    for said in (last, *_replies_before_thanks(state)):
        about = [sentence for sentence in wording.sentences(said.text) if says_what_is_left(sentence)]
        if said is not last:  # a question was answered by the prompt after it
            about = [sentence for sentence in about if not sentence.endswith("?")]
        if about:
            return said
    return None


def _replies_before_thanks(state: State) -> Iterator[Passage]:
    """Yield the outcomes of earlier turns, newest first, as far back as nothing was asked or done since."""
    for prompt in reversed(state.prompts):
        if not wording.GO_AHEAD.match(prompt.text) or prompt.call != state.calls:
            return
        before = prompt.previous_turn
        yield from (
            each for each in reversed(state.passages) if each.kind == "outcome" and each.turn == before
        )


def _nothing_open(state: State) -> Iterator[Step]:
    """Yield a step that says so explicitly, so that the next session does not look for open work; in doubt, only what was said."""
    reply = _last_words(state)
    if not state.prompts or reply is None:
        return
    asked = requests(state)
    opening = NOTHING_OPEN if is_finished(state) else NO_STEP_NAMED
    answer = fit_reply(reply.text)
    if state.prompts[-1].is_for_leftoff or not asked:
        yield f"{opening}: the agent's last words were: {answer}", [state.prompts[-1].ref, reply.ref]
    else:
        last = asked[-1]
        yield (
            f"{opening}: {quote(wording.title(last.text), 200)} was answered with: {answer}",
            [last.ref, reply.ref],
        )


def is_finished(state: State) -> bool:
    """Return whether nothing is open and the user, the to-do list or the agent's last text says that the work is done.

    Silence is no end: people close windows in the middle of their work.
    """
    if not state.prompts or find_open_steps(state):
        return False
    return _user_is_content(state) or _list_is_done(state) or _says_done(state.last_reply)


def _user_is_content(state: State) -> bool:
    """Return whether the last prompt says that the work is done, or is thanks for what the agent had called done."""
    prompt = " ".join(wording.straighten_quotes(state.prompts[-1].text).split())
    if len(prompt) > _MAX_THANKS_CHARS or _MORE_TO_COME.search(prompt):
        return False
    turn = state.prompts[-1].turn
    before = [each for each in state.passages if each.kind == "outcome" and each.turn < turn]
    is_thanks = _THANKS.search(prompt) is not None and (not before or _says_done(before[-1]))
    return is_thanks or _CONTENT.search(prompt) is not None


def _list_is_done(state: State) -> bool:
    """Return whether an entry was completed since the last prompt; the caller has checked that none is open."""
    calls_before = state.prompts[-1].call
    return any(todo.status == "completed" and todo.call > calls_before for todo in state.todos)


def _says_done(said: Passage | None) -> bool:
    """Return whether a text says that the work is complete, and not that only a part is."""
    sentences = [*wording.sentences(said.text)] if said is not None else []
    return any(map(is_complete, sentences)) and not any(map(_PARTLY.search, sentences))


def is_settled(step: str, state: State) -> bool:
    """Return whether this session settled an open step that it took over from another one. When in doubt, it did not.

    A failing check is settled when a check like it passes, a to-do when it is ticked off or cancelled, a reply that names
    files to change when all of them were changed. Any other step is settled by work: the user said "continue", and the
    agent made calls and answered. What was under way in the other session is not under way here.
    """
    if step.startswith((UNDER_WAY, RUNNING, *CONTEXT)):
        return True
    if step.startswith(FAILS):
        failed = _CODE.search(step)
        return failed is not None and checks.is_refuted(failed[1], state)
    kind, _, what = step.partition(": ")
    said = (sentence for prompt in state.prompts for sentence in wording.sentences(prompt.text))
    if any(user_rules.is_cancelled(what, sentence) for sentence in said):
        return True
    if kind in TODO_WORDS.values():
        return _is_todo_settled(what, state)
    if step.startswith(LAST_REPLY):
        left = [sentence for sentence in wording.sentences(step) if says_what_is_left(sentence)]
        if not left:
            return True  # it was quoted beside other steps
        if named := wording.FILE_NAME.findall(" ".join(left)):
            return _all_changed(named, state)
    return _went_ahead(state)


def _all_changed(names: Iterable[str], state: State) -> bool:
    changed = [f"/{file.path}" for file in state.files.values() if file.edits]
    return all(any(path.endswith(f"/{name.removeprefix('./')}") for path in changed) for name in names)


def _is_todo_settled(text: str, state: State) -> bool:
    if any(
        shorten(todo.text, 300) == text for todo in state.todos
    ):  # an open one is listed by this session itself
        return True
    return (
        _went_ahead(state) and bool(state.todos) and all(todo.status == "completed" for todo in state.todos)
    )


def _went_ahead(state: State) -> bool:
    """Return whether the user told the agent to continue, and the agent made calls and then answered."""
    ends = [*(prompt.call for prompt in state.prompts[1:]), state.calls]
    return any(
        wording.GO_AHEAD.match(prompt.text) and end > prompt.call and is_answered(state, prompt)
        for prompt, end in zip(state.prompts, ends, strict=True)
    )
