"""Say how far the last request got: what was said before it, and what the agent said, did and saw since."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leftoff.core.own_phrases import only_saves
from leftoff.extraction import passages, wording
from leftoff.extraction.phrases import any_of
from leftoff.extraction.state import Passage, Prompt, Ref, State
from leftoff.extraction.wording import quote, shorten

Step = tuple[str, list[Ref]]

# How the steps begin that a later session may find in the log.
UNFINISHED = "Unfinished request:"
SAID_BEFORE = "Before the last prompt the agent said:"  # the request may be an earlier one
WAS_AT = "Since that request the agent said:"
DONE_SINCE = "Since that request the agent"
CONTEXT = (SAID_BEFORE, WAS_AT, DONE_SINCE)  # of a request; none of them is something to do by itself

# Not between word boundaries: some entries end with a colon or a comma.
_NEXT = re.compile(rf"(?<!\w)(?:{any_of('next step')})(?!\w)", re.IGNORECASE)
_COMPLETE = re.compile(
    r"\b(?:all|everything|both|it|this|that|work|task|job|feature|implementation|migration|refactoring)\b[^.!?\n]{0,60}"
    r"\b(?:done|finished|complete|completed|in place)\b|^\W*(?:all )?(?:done|finished|completed?)\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"\b(?:half|partly|almost|nearly|mostly)\b|\d\s?%", re.IGNORECASE)
LAST_REQUEST_CHARS = 1_500
_LAST_REPLY_CHARS = 2_000
_LAST_TEXTS = 6
_CLEAR_ALONE_CHARS = 120  # a shorter request may speak of "those changes", which the reply before it names
_BEFORE_CHARS = 2_000  # a short request may be to carry out what was said
_MIN_BEFORE_CHARS = 80  # less says nothing about what came before


def open_request(state: State, *, with_context: bool) -> Iterator[Step]:
    """Yield the last request, or the project that the user had continued after it; ``with_context`` also how far it got."""
    asked = [prompt for prompt in state.prompts if prompt.project or not prompt.is_for_leftoff]
    last = next((prompt for prompt in reversed(asked) if not wording.GO_AHEAD.match(prompt.text)), None)
    if last is not None and last.project:
        yield f"The next task of project {shorten(last.project, 80)} is in its _resume.md", [last.ref]
    elif last is not None:
        open_ones = [last]  # and those before it that nobody has replied to
        replied = {each.turn for each in state.passages if each.kind in ("reply", "outcome")}
        for prompt in reversed(asked[: asked.index(last)]):
            if prompt.turn in replied or prompt.call != last.call or prompt.project:
                break
            open_ones.insert(0, prompt)
        open_ones = [*{each.text: each for each in open_ones}.values()]
        quoted = " and then ".join(quote_prompt(each, LAST_REQUEST_CHARS) for each in open_ones[-3:])
        yield f"{UNFINISHED} {quoted}", [each.ref for each in open_ones[-3:]]
    if with_context:
        if not only_saves(state.prompts[-1].text):
            yield from _words_around(state)
        yield from _calls_since(state)


def quote_prompt(prompt: Prompt, max_chars: int) -> str:
    """Quote a prompt with its lines; of one that is too long, the paragraphs that say most."""
    text = prompt.text.strip()
    return f"“{passages.fit(text, max_chars).replace(chr(10) * 2, chr(10))}”"


def _words_around(state: State) -> Iterator[Step]:
    """Yield what the agent said before the last prompt, where that may need it to be understood, and its last texts since."""
    said = [each for each in state.passages if each.kind == "reply" and each.turn == state.turns][
        -_LAST_TEXTS:
    ]
    earlier = (
        each
        for each in reversed(state.passages)
        if each.kind in ("reply", "outcome")
        and each.turn < state.turns
        and len(_without_announcements(each.text)) >= (_MIN_BEFORE_CHARS if said else 1)
    )
    before = next(earlier, None)
    if before is not None and not (said and len(state.prompts[-1].text) > _CLEAR_ALONE_CHARS):
        text = fit_reply(before.text, _BEFORE_CHARS)
        if not said or len(text) >= _MIN_BEFORE_CHARS:
            yield f"{SAID_BEFORE} {text}", [before.ref]
    kept: list[Passage] = []
    room = _LAST_REPLY_CHARS
    for each in reversed(said):
        text = each.text if each is said[-1] else _without_announcements(each.text)
        text = fit_reply(text, min(room, _LAST_REPLY_CHARS * 2 // 3))
        if kept and len(text) > room:
            break
        if text:
            kept.insert(0, each._replace(text=text))
            room -= len(text)
    if kept:
        yield f"{WAS_AT} " + "\n\n".join(each.text for each in kept), [each.ref for each in kept]


def _without_announcements(text: str) -> str:
    return wording.without_last_announcement(wording.without_announcements(text))


def _calls_since(state: State) -> Iterator[Step]:
    """Yield the last calls for the request: files changed and read, commands run."""
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


def fit_reply(text: str, max_chars: int = _LAST_REPLY_CHARS) -> str:
    """Return a reply, its headings bold, or where it is too long its first paragraphs and the last one."""
    return passages.fit(passages.join(enumerate(passages.split(text))), max_chars)


def says_what_is_left(sentence: str) -> bool:
    """Return whether a sentence names a next step, or calls the work done in part."""
    return bool(_NEXT.search(sentence) or (is_complete(sentence) and _FRACTION.search(sentence)))


def is_complete(sentence: str) -> bool:
    """Return whether a sentence calls the work done."""
    return _COMPLETE.search(sentence) is not None
