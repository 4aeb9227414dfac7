"""Say what the session was for and what is left to do: the request, what the agent said last, open to-dos, failing checks, jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from leftoff.core.markdown import NO_STEP_NAMED, NOTHING_OPEN
from leftoff.core.own_phrases import only_saves
from leftoff.extraction import checks, passages, user_rules, wording
from leftoff.extraction.phrases import any_of
from leftoff.extraction.state import Passage, Pending, Prompt, Ref, State
from leftoff.extraction.wording import quote, shorten

Step = tuple[str, list[Ref]]

_MAX_NEXT_STEPS = 20
_FIRST_REQUEST_CHARS = 1_800
_REQUEST_CHARS = 260  # of each between the first and the last
_LAST_REQUEST_CHARS = 1_500
_REQUESTS_CHARS = 4_200  # all together
_LAST_REPLY_CHARS = 2_000
_LAST_TEXTS = 6  # of an unfinished turn
GO_AHEAD = re.compile(rf"(?:{any_of('go ahead')}|[ ,.!:)])+\Z", re.IGNORECASE)
# Not between word boundaries: some entries end with a colon or a comma.
_NEXT = re.compile(rf"(?<!\w)(?:{any_of('next step')})(?!\w)", re.IGNORECASE)
# How the steps begin that a later session may find in the log.
FIRST_ASKED = "The user first asked:"  # the beginning of a mission
TEAM_ASKED = "Another agent first asked:"  # the same, in a team of agents
LATEST = "The latest request:"
UNFINISHED = "Unfinished request:"
WAITING = "Newest request, not begun:"
UNDER_WAY = "Call without an answer:"
LAST_REPLY = "The agent's last reply:"
WAS_AT = "Since that request the agent said:"
SAID_BEFORE = "Before the last prompt the agent said:"  # the request may be an earlier one
DONE_SINCE = "Since that request the agent"
FAILS = "Failing check:"
RUNNING = "Running in the background when last seen:"
TODO_WORDS = {"in_progress": "In progress", "pending": "To do"}
_COMPLETE = re.compile(
    r"\b(?:all|everything|both|it|this|that|work|task|job|feature|implementation|migration|refactoring)\b[^.!?\n]{0,60}"
    r"\b(?:done|finished|complete|completed|in place)\b|^\W*(?:all )?(?:done|finished|completed?)\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"\b(?:half|partly|almost|nearly|mostly)\b|\d\s?%", re.IGNORECASE)
_MAX_THANKS_CHARS = 120  # a longer prompt asks for something else
_CONTENT = re.compile(rf"\b(?:{any_of('content')})\b|^\W*(?:done|finished)\W*$", re.IGNORECASE)
_PARTLY = re.compile(rf"\b(?:{any_of('partly')})\b|n't\b|[?\uff1f]|\d\s?%|\[ \]|\bopen:", re.IGNORECASE)
_THANKS = re.compile(rf"\b(?:{any_of('thanks')})\b", re.IGNORECASE)
_MORE_TO_COME = re.compile(rf"\b(?:{any_of('more to come')})\b|[?\uff1f]", re.IGNORECASE)
_CODE = re.compile(r"`([^`]+)`")
_FILE = re.compile(r"(?<![\w@/])[\w.~/-]*\w\.[A-Za-z]\w{0,7}\b(?!\()")


def mission(state: State) -> tuple[str, list[Ref]]:
    """Return what the user asked first, what followed, and the latest request; without any, the project continued."""
    asked = requests(state)
    if not asked:
        return _mission_of_project(state)
    first, last = asked[0], asked[-1]
    opening = TEAM_ASKED if first.by_agent else FIRST_ASKED
    parts = [f"{opening} {_quote_prompt(first, _FIRST_REQUEST_CHARS)}"]
    latest = f"{LATEST} {_quote_prompt(last, _LAST_REQUEST_CHARS)}" if last is not first else ""
    chars_left = _REQUESTS_CHARS - len(parts[0]) - len(latest)
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
    return [each for each in state.prompts if not each.is_for_leftoff and not GO_AHEAD.match(each.text)]


def _quote_prompt(prompt: Prompt, max_chars: int) -> str:
    """Quote a prompt with its lines; of one that is too long, the paragraphs that say most."""
    text = wording.typed_text(prompt.text).strip() or prompt.text
    return f"“{fit_paragraphs(text, max_chars).replace(chr(10) * 2, chr(10))}”"


def fit_paragraphs(text: str, max_chars: int, first_weight: float = 3.0) -> str:
    """Return the text, or where it is too long its first paragraph and those that say most."""
    return _fit(text, max_chars, lambda number, _: first_weight if number == 0 else 1.0, max_chars // 2)


def _fit(text: str, max_chars: int, weight: Callable[[int, str], float], longest: int) -> str:
    """Return the text, or where it is too long the paragraphs that say most; of several, none longer than ``longest``."""
    if len(text) <= max_chars:
        return text
    parts = passages.split(text)
    most = max_chars - passages.GAP_CHARS
    longest = most if len(parts) == 1 else min(longest, most)
    units = [
        passages.Paragraph(0, number, shorten_paragraph(part, longest), weight(number, part))
        for number, part in enumerate(parts)
    ]
    chosen = passages.choose(units, max_chars)
    kept = [(unit.number, unit.text) for unit in units if (0, unit.number) in chosen]
    return passages.join(kept, len(units))


def shorten_paragraph(text: str, max_chars: int) -> str:
    """Return a paragraph, or its beginning up to the end of a line or word with a mark where the rest is missing."""
    if len(text) <= max_chars:
        return text
    head = text[: max_chars - 6]
    cut = max(head.rfind("\n"), head.rfind(" "))
    return f"{head[: cut if cut > max_chars // 2 else len(head)].rstrip()} {passages.GAP}"


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
        yield f"{WAITING} “{fit_paragraphs(state.queued, _LAST_REQUEST_CHARS)}”", [state.queued_ref]
    if state.prompts and not is_answered(state, state.prompts[-1]):
        yield from _request_to_finish(state)
        if with_context:
            yield from _said_since(state)
            yield from _done_since(state)
    else:
        said = _reply_with_next_step(state) or (state.last_reply if with_context else None)
        if said is not None:
            yield f"{LAST_REPLY} {_fit_reply(said.text)}", [said.ref]
    yield from _open_todos(state)
    yield from _unsettled_calls(state)


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
    for status, word in TODO_WORDS.items():
        for todo in state.todos:
            if todo.status == status and todo.text:
                yield f"{word}: {shorten(todo.text, 300)}", [todo.ref]


def _request_to_finish(state: State) -> Iterator[Step]:
    """Yield the last request, or the project that the user had continued after it."""
    asked = [prompt for prompt in state.prompts if prompt.project or not prompt.is_for_leftoff]
    last = next((prompt for prompt in reversed(asked) if not GO_AHEAD.match(prompt.text)), None)
    if last is None:
        return
    if last.project:
        yield f"The next task of project {shorten(last.project, 80)} is in its _resume.md", [last.ref]
    else:
        yield f"{UNFINISHED} {_quote_prompt(last, _LAST_REQUEST_CHARS)}", [last.ref]


def _said_since(state: State) -> Iterator[Step]:
    """Yield the agent's last texts on the request that is not finished, oldest first."""
    said = [each for each in state.passages if each.kind == "reply" and each.turn == state.turns][
        -_LAST_TEXTS:
    ]
    if only_saves(state.prompts[-1].text):
        return
    if not said:
        if (before := state.last_reply) is not None:
            yield f"{SAID_BEFORE} {_fit_reply(before.text)}", [before.ref]
        return
    kept: list[Passage] = []
    room = _LAST_REPLY_CHARS
    for each in reversed(said):
        text = _fit_reply(each.text, min(room, _LAST_REPLY_CHARS * 2 // 3))
        if kept and len(text) > room:
            break
        kept.insert(0, each._replace(text=text))
        room -= len(text)
    yield f"{WAS_AT} " + "\n\n".join(each.text for each in kept), [each.ref for each in kept]


def _done_since(state: State) -> Iterator[Step]:
    """Yield the last calls for the request that is not finished: files changed and read, commands run."""
    before = state.prompts[-1].call
    ran = sorted((each for each in state.commands.values() if each.call > before), key=lambda each: each.call)
    files = sorted((each for each in state.files.values() if each.call > before), key=lambda each: each.call)
    changed = [each for each in files if each.edited_at > before]
    read = [each for each in files if each.edited_at <= before]
    parts = [
        f"{verb} {', '.join(names)}"
        for verb, names in (
            ("changed", [f"`{wording.relative_path(each.path, state.project)}`" for each in changed[-6:]]),
            ("read", [f"`{wording.relative_path(each.path, state.project)}`" for each in read[-4:]]),
            ("ran", [f"`{shorten(each.text, 120)}`" for each in ran[-3:]]),
        )
        if names
    ]
    asked = [each.about for each in state.passages if each.kind == "report" and each.call > before]
    parts += [f"asked a subagent about {quote(about, 100)}" for about in asked[-3:]]
    if not parts and state.calls == before and not state.pending:
        yield f"{DONE_SINCE} made no call yet", [state.prompts[-1].ref]
    if parts:
        named = [(each.ref, each.path) for each in (*changed[-6:], *read[-4:])]
        named += [(each.ref, each.text) for each in ran[-3:]]
        yield f"{DONE_SINCE} {'; '.join(parts)}", [ref.with_excerpt(name) for ref, name in named]


def _fit_reply(text: str, max_chars: int = _LAST_REPLY_CHARS) -> str:
    """Return a reply, or where it is too long its paragraphs about what is left, then those that say most."""

    def weight(_: int, part: str) -> float:
        return 4.0 if any(map(_says_what_is_left, wording.sentences(part))) else 1.0

    with_bold_headings = passages.join(enumerate(passages.split(text)))
    return _fit(with_bold_headings, max_chars, weight, max_chars)


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


def _reply_with_next_step(state: State) -> Passage | None:
    """Return the agent's last reply if it says what is left; after mere thanks, the reply before."""
    last = state.last_reply
    if last is None or last.turn != state.turns:
        return None
    for said in (last, *_replies_before_thanks(state)):
        about = [sentence for sentence in wording.sentences(said.text) if _says_what_is_left(sentence)]
        if said is not last:  # a question was answered by the prompt after it
            about = [sentence for sentence in about if not sentence.endswith("?")]
        if about:
            return said
    return None


def _says_what_is_left(sentence: str) -> bool:
    return bool(_NEXT.search(sentence) or (_COMPLETE.search(sentence) and _FRACTION.search(sentence)))


def _replies_before_thanks(state: State) -> Iterator[Passage]:
    """Yield the outcomes of earlier turns, newest first, as far back as nothing was asked or done since."""
    for prompt in reversed(state.prompts):
        if not GO_AHEAD.match(prompt.text) or prompt.call != state.calls:
            return
        before = prompt.previous_turn
        yield from (
            each for each in reversed(state.passages) if each.kind == "outcome" and each.turn == before
        )


def _nothing_open(state: State) -> Iterator[Step]:
    """Yield a step that says so explicitly, so that the next session does not look for open work; in doubt, only what was said."""
    reply = state.last_reply
    if not state.prompts or reply is None:
        return
    asked = requests(state)
    opening = NOTHING_OPEN if is_finished(state) else NO_STEP_NAMED
    answer = _fit_reply(reply.text)
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
    return any(map(_COMPLETE.search, sentences)) and not any(map(_PARTLY.search, sentences))


def is_settled(step: str, state: State) -> bool:
    """Return whether this session settled an open step that it took over from another one. When in doubt, it did not.

    A failing check is settled when a check like it passes, a to-do when it is ticked off or cancelled, a reply that names
    files to change when all of them were changed. Any other step is settled by work: the user said "continue", and the
    agent made calls and answered. What was under way in the other session is not under way here.
    """
    if step.startswith((UNDER_WAY, SAID_BEFORE, DONE_SINCE, RUNNING)):
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
        left = [sentence for sentence in wording.sentences(step) if _says_what_is_left(sentence)]
        if not left:
            return True  # it was quoted beside other steps
        if named := _FILE.findall(" ".join(left)):
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
        GO_AHEAD.match(prompt.text) and end > prompt.call and is_answered(state, prompt)
        for prompt, end in zip(state.prompts, ends, strict=True)
    )
