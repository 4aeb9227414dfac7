"""Whether the work of a session came to its end: nothing is open, and somebody said so.

Promises: silence is no end. A session whose last request was answered and that says no more is one to go on from: people close
windows in the middle of their work.
"""

from __future__ import annotations

from leftoff.extract import needed, words
from leftoff.extract.caseless import Caseless
from leftoff.extract.state import State
from leftoff.extract.view import without_taken_back

_LONGEST_THANKS = 120  # characters; whoever writes more has something else to say
_CONTENT = Caseless(
    r"\b(?:that(?:'s| is| was) (?:it|all|everything)|(?:we(?:'re| are)|i(?:'m| am)|all) (?:done|finished)|looks (?:good|great)"
    r"|lgtm|perfect|ship it|well done|(?:great|good|nice) (?:job|work)|thanks?|thank you)\b|^\W*(?:done|finished)\W*$",
)
_GOES_ON = Caseless(
    r"\b(?:for (?:today|now|tonight|the moment)|but|however|next|also|later|tomorrow|continue|please|can you|could you|still|then)\b|\?",
)
_COMPLETE = Caseless(
    r"\b(?:all|everything|both|it|this|that|work|task|job|feature|implementation|migration|refactoring)\b[^.!?\n]{0,60}"
    r"\b(?:done|finished|complete|completed|in place)\b|^\W*(?:all )?(?:done|finished|completed?)\b",
)
_PARTLY = Caseless(
    r"\b(?:half|part|parts|partly|almost|nearly|mostly|most|some|not|no|once|when|until|before|after|if|except|but|still|yet"
    r"|n't|remain\w*|rest|first|next|needs?)\b|n't\b|\?|\d\s?%",
)


def is_finished(state: State) -> bool:
    """Whether nothing is open and the user, the agent's own list or its last words say that the work is done."""
    living = without_taken_back(state)
    if not living.prompts or needed.open_steps(living):
        return False
    return _user_is_content(living) or _list_is_done(living) or _agent_says_so(living)


def _user_is_content(state: State) -> bool:
    said = " ".join(state.prompts[-1].text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
    return len(said) <= _LONGEST_THANKS and bool(_CONTENT.search(said)) and not _GOES_ON.search(said)


def _list_is_done(state: State) -> bool:
    """Whether its last entries were ticked off since the last prompt; open ones would have been found before."""
    begun = state.prompts[-1].call
    return any(todo.status == "completed" and todo.call > begun for todo in state.todos)


def _agent_says_so(state: State) -> bool:
    """Its last sentence that speaks of an end, if none of them speaks of a part."""
    said = state.last_words
    assert said is not None, "a request without an answer is open"
    told = [*words.sentences(said.text)]
    return any(map(_COMPLETE.search, told)) and not any(map(_PARTLY.search, told))
