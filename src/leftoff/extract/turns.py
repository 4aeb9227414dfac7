"""Which turns the conversation still goes through: what a rewind took back stands in the transcript, and counts no more.

A turn remembers the one that it went on from, and the ids of its last records: a later prompt that hangs on one of those went
back there. A turn that was left can be gone on from again, and is then alive once more.
"""

from __future__ import annotations

from collections.abc import Iterator

from leftoff.extract.state import Ref, State
from leftoff.model.records import Place

_TAIL = 12  # ids; a client goes back to just before a prompt, give or take its own notes
_REST_OF_FILE = 10**12


def pass_by(state: State, record_id: str) -> None:
    """One more record of the turn that is under way."""
    state.tail.append(record_id)
    if len(state.tail) > 2 * _TAIL:
        del state.tail[:-_TAIL]


def turn_before(state: State, parent_id: str | None) -> int:
    """The turn that a prompt behind that record goes on from: the current one, as a rule and where nobody knows."""
    found = None if parent_id is None else _turn_with(state, parent_id)
    return state.tip if found is None else found


def leave(state: State) -> None:
    """The turn under way has ended: its last ids are kept with it."""
    for number in range(len(state.prompts) - 1, -1, -1):
        prompt = state.prompts[number]
        if prompt.turn == state.tip:
            state.prompts[number] = prompt._replace(tail=tuple([*prompt.tail, *state.tail][-_TAIL:]))
            break
    state.tail = []


def go_back(state: State, how_far: int | str | None, place: Place) -> None:
    """Leave so many turns, or go on behind the record of that id: with the newest of what was written below it."""
    if isinstance(how_far, int):
        living = [prompt for prompt in state.prompts if prompt.turn in _path(state, state.tip)]
        if not living or how_far < 1:
            return
        leave(state)
        state.tip = living[-min(how_far, len(living))].after
    else:
        turn = None if how_far is None else _turn_with(state, how_far)
        if turn is None or turn == state.tip or turn in _path(state, state.tip):
            return
        leave(state)
        state.tip = max(prompt.turn for prompt in state.prompts if turn in _path(state, prompt.turn))
    settle(state, place)


def settle(state: State, place: Place) -> None:
    """Work out anew which stretches, up to this place, the conversation goes through no more."""
    living = _path(state, state.tip)
    here = Ref(place.line_idx, place.start, place.end, "", "", place.transcript)
    ends = [*(prompt.ref for prompt in state.prompts[1:]), here]
    state.rewinds = [
        stretch
        for prompt, end in zip(state.prompts, ends, strict=True)
        if prompt.turn not in living
        for stretch in _stretches(prompt.ref, end)
    ]


def _stretches(first: Ref, end: Ref) -> Iterator[tuple[str, int, int]]:
    """The lines from one record up to another, which may stand in the file that goes on from the first one's."""
    if first.transcript == end.transcript:
        yield first.transcript, first.line_idx, end.line_idx
    else:
        yield first.transcript, first.line_idx, _REST_OF_FILE
        yield end.transcript, 0, end.line_idx


def _turn_with(state: State, record_id: str) -> int | None:
    if record_id in state.tail:
        return state.tip
    return next((prompt.turn for prompt in reversed(state.prompts) if record_id in prompt.tail), None)


def _path(state: State, turn: int) -> set[int]:
    """The turn and those that it goes on from; where one is forgotten, what came just before it stands in."""
    after = {prompt.turn: prompt.after for prompt in state.prompts}
    path: set[int] = set()
    while turn > 0:
        if turn in after:
            path.add(turn)
            turn = after[turn]
        else:
            turn = max((known for known in after if known < turn), default=0)
    return path
