"""Find out what a rewind took back: each turn keeps the turn it continues and the ids of its last records.

A rewind leaves records in the transcript that are no longer part of the conversation. A prompt whose parent is one of the ids of an
earlier turn went back to that turn. A turn that was left can be continued later and is then part of the conversation again.
"""

from __future__ import annotations

from collections.abc import Iterator

from leftoff.core.records import Place
from leftoff.extraction.state import Ref, State

_TAIL_LENGTH = 12  # ids; a client rewinds to just before a prompt, give or take a few records of its own
_END_OF_FILE = 10**12


def remember_id(state: State, record_id: str) -> None:
    """Remember the id of one more record of the current turn."""
    state.tail.append(record_id)
    if len(state.tail) > 2 * _TAIL_LENGTH:
        del state.tail[:-_TAIL_LENGTH]


def find_previous_turn(state: State, parent_id: str | None) -> int:
    """Return the turn that a prompt after that record continues: the current one unless its tail says otherwise."""
    turn = None if parent_id is None else _find_turn(state, parent_id)
    return state.tip if turn is None else turn


def close_turn(state: State) -> None:
    """End the current turn and keep its last ids with its prompt."""
    for number in range(len(state.prompts) - 1, -1, -1):
        prompt = state.prompts[number]
        if prompt.turn == state.tip:
            state.prompts[number] = prompt._replace(tail=tuple([*prompt.tail, *state.tail][-_TAIL_LENGTH:]))
            break
    state.tail = []


def rewind(state: State, how_far: int | str | None, place: Place) -> None:
    """Go back by a number of turns, or to the newest turn below the record with that id."""
    if isinstance(how_far, int):
        active = [prompt for prompt in state.prompts if prompt.turn in _active_turns(state, state.tip)]
        if not active or how_far < 1:
            return
        close_turn(state)
        state.tip = active[-min(how_far, len(active))].previous_turn
    else:
        turn = None if how_far is None else _find_turn(state, how_far)
        if turn is None or turn == state.tip or turn in _active_turns(state, state.tip):
            return
        close_turn(state)
        state.tip = max(prompt.turn for prompt in state.prompts if turn in _active_turns(state, prompt.turn))
    update_rewinds(state, place)


def update_rewinds(state: State, place: Place) -> None:
    """Work out which line ranges up to this place are no longer part of the conversation."""
    active = _active_turns(state, state.tip)
    here = Ref(place.line_idx, place.start, place.end, "", "", place.transcript)
    ends = [*(prompt.ref for prompt in state.prompts[1:]), here]
    state.rewinds = [
        line_range
        for prompt, end in zip(state.prompts, ends, strict=True)
        if prompt.turn not in active
        for line_range in _line_ranges(prompt.ref, end)
    ]


def _line_ranges(first: Ref, end: Ref) -> Iterator[tuple[str, int, int]]:
    """Return the lines from one record up to another, which may be in the file that continues the first one."""
    if first.transcript == end.transcript:
        yield first.transcript, first.line_idx, end.line_idx
    else:
        yield first.transcript, first.line_idx, _END_OF_FILE
        yield end.transcript, 0, end.line_idx


def _find_turn(state: State, record_id: str) -> int | None:
    if record_id in state.tail:
        return state.tip
    return next((prompt.turn for prompt in reversed(state.prompts) if record_id in prompt.tail), None)


def _active_turns(state: State, turn: int) -> set[int]:
    """Return the turn and those before it on its branch; for a turn no longer known, the nearest earlier one."""
    previous = {prompt.turn: prompt.previous_turn for prompt in state.prompts}
    active: set[int] = set()
    while turn > 0:
        if turn in previous:
            active.add(turn)
            turn = previous[turn]
        else:
            turn = max((known for known in previous if known < turn), default=0)
    return active
