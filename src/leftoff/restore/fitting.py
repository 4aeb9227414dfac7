"""How the room of a restoration is shared out among parts, and how a part is cut to its share: whole items, by worth."""

from __future__ import annotations

from collections.abc import Sequence

from leftoff.model import markdown
from leftoff.model.values import dataclass
from leftoff.restore.fence import width
from leftoff.restore.parts import Part

_SHORTEST_CUT = 60  # characters; less of an item tells nothing
_CUT = " …"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A part within its room: the text (empty when nothing fits) and how many items were left out."""

    text: str
    left_out: int

    @property
    def chars(self) -> int:
        """What it takes, with its line end."""
        return width(self.text) + 1 if self.text else 0


def fitted(parts: Sequence[Part], room_chars: int) -> list[Fitted]:
    """All parts within the room: each by its weight, what one leaves is lent to the others, first to the first."""
    given = _shares([part.need_chars for part in parts], [part.weight for part in parts], room_chars)
    fits = [_fit(part, share) for part, share in zip(parts, given, strict=True)]
    for number, part in enumerate(parts):  # what whole items left of their shares
        spare = room_chars - sum(fit.chars for fit in fits)
        if fits[number].left_out and spare > 0:
            fits[number] = _fit(part, fits[number].chars + spare)
    return fits


def in_order(parts: Sequence[Part], room_chars: int) -> list[Fitted]:
    """The first as far as it fits, then the next: for what must not make room for others."""
    fits = []
    for part in parts:
        fits.append(_fit(part, room_chars))
        room_chars -= fits[-1].chars
    return fits


def _shares(needs: Sequence[int], weights: Sequence[int], room: int) -> list[int]:
    """By weight; who needs less than its share leaves the rest to those who need more."""
    given = [0] * len(needs)
    hungry = [number for number, need in enumerate(needs) if need > 0]
    while hungry and room > 0:
        total = sum(weights[number] for number in hungry)
        share = {number: room * weights[number] // total for number in hungry}
        sated = [number for number in hungry if needs[number] <= share[number]]
        for number in sated or hungry:
            given[number] = min(needs[number], share[number])
        if not sated:
            break
        room -= sum(given[number] for number in sated)
        hungry = [number for number in hungry if number not in sated]
    return given


def _fit(part: Part, room_chars: int) -> Fitted:
    """As many items as fit, the best first; of prose and lists, what is left of the room takes the beginning of one more."""
    room = room_chars - (width(part.label) + 6 if part.label else 0) - 1
    kept: list[int] = []
    for number in part.by_worth:
        size = width(part.items[number]) + bool(kept)
        if size <= room:
            kept.append(number)
            room -= size
    left = [number for number in part.by_worth if number not in kept]
    if left and part.can_be_cut and room - bool(kept) >= _SHORTEST_CUT:
        begun = _cut(part.items[left[0]], room - bool(kept))
        return Fitted(text=part.drawn([*kept, left[0]], begun={left[0]: begun}), left_out=len(left) - 1)
    return Fitted(text=part.drawn(kept) if kept else "", left_out=len(left))


def _cut(item: str, room: int) -> str:
    """The beginning of an item up to the end of a word, with its code closed."""
    end = room - len(_CUT) - 1
    while True:
        text = item[:end].rstrip()
        text = text[: max(text.rfind(" "), len(text) * 2 // 3)].rstrip(" ,")
        closed = markdown.mended(text + ("`" if text.count("`") % 2 else "")) + _CUT
        if width(closed) <= room:
            return closed
        end -= max(1, width(closed) - room)
