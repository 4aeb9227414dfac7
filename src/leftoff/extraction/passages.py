"""Choose the paragraphs that tell the most in the space there is, whatever language they are written in.

A text is split into paragraphs, never into sentences: a table, a list or a block of code stays with the line that introduces it.
Paragraphs are chosen one by one, each time the one that adds most for its length: the words that nothing chosen so far has, each
counted by how rare it is in the session, times the weight of the place where the paragraph is. What was said twice is therefore
quoted once, and no list of important words is needed.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

GAP = "[…]"  # stands for paragraphs that were left out
GAP_CHARS = len(f"\n{GAP}\n\n")  # the most that stands between two paragraphs
_WORD = re.compile(r"[^\W_]+(?:[._/@:-][^\W_]+)*|_\w+", re.UNICODE)
_PARTS = re.compile(r"[._/@:-]")
# Scripts without blanks between words: pairs of characters take the place of words.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_LIST_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s|\|")
_HEADING = re.compile(r"#{1,6}\s+(\S.*?)\s*#*\Z")
_NUMBERED = re.compile(r"^\d{1,3}[.)]\s", re.MULTILINE)
_INTRODUCES = re.compile(r".*[::]\s*\**\Z|\s*#{1,6}\s.*\Z|\s*\*\*[^*]+\*\*:?\s*\Z", re.DOTALL)
# Before a list also a short line that does not end like a sentence, which is a heading without a mark.
_INTRODUCES_LIST = re.compile(rf"{_INTRODUCES.pattern}|(?=[^\W\d])[^\n|]{{2,59}}[\w)]\Z", re.DOTALL)
_REPEATED_VALUE = 0.15  # of a word that is known already: more of the same is better than unused space
_CODE_WORTH = 0.4
_FIRST_WEIGHT = 3.0  # of the first paragraph of a text that is made to fit
_LEAD_CHARS = 300
_PROSE_BYTES = bytes(
    byte for byte in range(256) if byte >= 0x80 or chr(byte).isalpha() or chr(byte).isspace()
)
_MAX_OTHER_SHARE = 0.2  # digits and punctuation
_LONG_CHARS = 700  # a longer list is split between its entries
_PIECE_CHARS = 350
_NO_LABELS: Mapping[int, str] = {}


class Paragraph(NamedTuple):
    """A paragraph that may be chosen. ``group`` and ``number`` say where it belongs; ``weight`` what its place is worth."""

    group: int
    number: int
    text: str
    weight: float
    novelty: float = 0.0  # the share of its words that must be new


def split(text: str) -> list[str]:
    """Split a text into paragraphs; headings become bold lines, because a passage has no headings of its own in a log."""
    blocks: list[list[str]] = [[]]
    fence = ""
    has_code = "```" in text or "~~~" in text
    for line in text.strip().split("\n"):
        mark = _FENCE.match(line) if has_code else None
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        if line.strip() or fence:
            heading = _HEADING.match(line) if line[:1] == "#" and not fence else None
            blocks[-1].append(f"**{heading[1].strip('* ')}**" if heading else line)
        elif blocks[-1]:
            blocks.append([])
    joined: list[str] = []
    for block in ("\n".join(lines) for lines in blocks if lines):
        is_list = _LIST_ITEM.match(block.lstrip())
        introduces = _INTRODUCES if not is_list else _INTRODUCES_LIST
        if joined and introduces.match(joined[-1].rpartition("\n")[2]) and len(joined[-1]) < _LONG_CHARS:
            joined[-1] += f"\n{block}" if is_list else f"\n\n{block}"
        else:
            joined.append(block)
    return [piece for block in joined for piece in _split_long_list(block)]


def _split_long_list(block: str) -> Iterable[str]:
    """Split a long list between entries of its outer level; tables and code stay whole."""
    if len(block) <= _LONG_CHARS or "```" in block or "~~~" in block or "\n|" in block:
        return [block]
    if len(block) <= 2 * _LONG_CHARS and _NUMBERED.search(block):
        return [block]
    pieces: list[str] = [""]
    for line in block.split("\n"):
        if len(pieces[-1]) > _PIECE_CHARS and _LIST_ITEM.match(line):
            pieces.append(line)
        else:
            pieces[-1] += ("\n" if pieces[-1] else "") + line
    return pieces


def join(chosen: Iterable[tuple[int, str]], total: int = 0) -> str:
    """Put chosen paragraphs of one text together again, in their order; gaps are marked, also one before the end of ``total``."""
    parts: list[str] = []
    expected = 0
    for number, text in sorted(chosen):
        if number > expected and not (parts and parts[-1].endswith(GAP)):
            parts.append(GAP)
        parts.append(text)
        expected = number + 1
    if parts and expected < total and not parts[-1].endswith(GAP):
        parts.append(GAP)
    out = ""
    for part in parts:
        is_list = _LIST_ITEM.match(part) and _LIST_ITEM.match(out.rpartition("\n")[2] or "x")
        out += ("" if not out else "\n" if is_list or part == GAP else "\n\n") + part
    return out


def fit_paragraphs(text: str, max_chars: int) -> str:
    """Return the text, or where it is too long its first paragraph and those that say most."""
    return fit(text, max_chars, lambda number, _: _FIRST_WEIGHT if number == 0 else 1.0, max_chars // 2)


def fit(text: str, max_chars: int, weight: Callable[[int, str], float], longest: int) -> str:
    """Return the text, or where it is too long the paragraphs that say most; of several, none longer than ``longest``."""
    if len(text) <= max_chars:
        return text
    parts = split(text)
    most = max_chars - 2 * GAP_CHARS
    longest = most if len(parts) == 1 else min(longest, most)
    units = [
        Paragraph(0, number, shorten_paragraph(part, longest), weight(number, part))
        for number, part in enumerate(parts)
    ]
    chosen = choose(units, max_chars - GAP_CHARS)  # a gap more than there are paragraphs
    kept = [(unit.number, unit.text) for unit in units if (0, unit.number) in chosen]
    return join(kept, len(units))


def shorten_paragraph(text: str, max_chars: int) -> str:
    """Return a paragraph, or its beginning up to the end of a line or word with a mark where the rest is missing."""
    if len(text) <= max_chars:
        return text
    head = text[: max_chars - 6]
    cut = max(head.rfind("\n"), head.rfind(" "))
    return f"{head[: cut if cut > max_chars // 2 else len(head)].rstrip()} {GAP}"


def worth(paragraph: str) -> float:
    """Return what a paragraph is worth as prose: code, JSON and logs have many rare words and say little by themselves."""
    others = len(paragraph.encode("utf-8", "replace").translate(None, _PROSE_BYTES))
    is_prose = "```" not in paragraph and others <= _MAX_OTHER_SHARE * len(paragraph)
    return 1.0 if is_prose else _CODE_WORTH


def words(text: str) -> set[str]:
    """Return the words of a text in lower case; names made of several words count as a whole and by their parts."""
    lowered = text.lower()
    found: set[str] = set()
    for word in _WORD.findall(lowered):
        if word.isascii() or not _UNSPACED.search(word):
            found.add(word)
            if not word.isalnum():
                found.update([part for part in _PARTS.split(word) if len(part) > 1])
    if not lowered.isascii():
        for run in _UNSPACED.findall(lowered):
            found.update(run[at : at + 2] for at in range(len(run) - 1))
    return found


def choose(
    paragraphs: Sequence[Paragraph],
    room: int,
    *,
    known: Iterable[str] = (),
    cost: Callable[[str], int] = len,
    overhead: int = GAP_CHARS,
    labels: Mapping[int, str] = _NO_LABELS,
    group_share: float = 1.0,
    with_leads: bool = False,
) -> set[tuple[int, int]]:
    """Return the group and number of the paragraphs that tell most within ``room``, measured by ``cost``.

    ``known`` are words that the reader has already. The same text is chosen once. A group takes at most ``group_share`` of the room.
    ``with_leads``: a paragraph comes with the first one of its group, if that is short, because that says what it is about.
    ``labels`` are the words that come before the paragraphs of a group.
    """
    choice = _Choice(
        paragraphs=paragraphs,
        costs=[cost(each.text) + overhead for each in paragraphs],
        label_costs={group: cost(label) for group, label in labels.items()},
        label_words={group: words(label) for group, label in labels.items()},
        leads=_short_leads(paragraphs) if with_leads else {},
        covered=set(known),
        room=room,
        group_room=int(room * group_share),
    )
    queue = [(-choice.gain(number), number) for number in range(len(paragraphs))]
    heapq.heapify(queue)
    while queue:
        _, number = heapq.heappop(queue)
        now = choice.gain(number)  # less than before, if something chosen since has its words
        if now <= 0.0 or not choice.fits(number):
            continue
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, number))
        else:
            choice.take(number)
    return choice.chosen


@dataclass(slots=True, kw_only=True)
class _Choice:
    """What is chosen so far, and what another paragraph would add and cost."""

    paragraphs: Sequence[Paragraph]
    costs: list[int]
    label_costs: dict[int, int]
    label_words: dict[int, set[str]]
    leads: dict[int, int]  # the first paragraph of a group, by the group
    covered: set[str]
    room: int
    group_room: int
    chosen: set[tuple[int, int]] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    taken: Counter[int] = field(default_factory=Counter)  # the room that each group takes
    word_sets: list[set[str]] = field(init=False)
    values: Mapping[str, float] = field(init=False)
    totals: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.word_sets = [words(each.text) for each in self.paragraphs]
        self.values = _word_values(self.word_sets)
        # fsum: the order of a set differs from process to process, and the same log must be told alike in all of them.
        self.totals = [math.fsum([self.values[word] for word in found]) for found in self.word_sets]

    def gain(self, number: int) -> float:
        """Return what a paragraph would add for its length."""
        paragraph, total = self.paragraphs[number], self.totals[number]
        if paragraph.text in self.told:
            return 0.0
        values = self.values
        new = math.fsum([values[word] for word in self.word_sets[number] - self.covered])
        if new < paragraph.novelty * total:
            return 0.0
        return paragraph.weight * (new + _REPEATED_VALUE * total) / self.costs[number]

    def fits(self, number: int) -> bool:
        """Return whether there is room for a paragraph and what must come with it."""
        needed = self._needed(number)
        return needed <= self.room and self.taken[self.paragraphs[number].group] + needed <= self.group_room

    def take(self, number: int) -> None:
        """Choose a paragraph with what must come with it."""
        group, needed, lead = self.paragraphs[number].group, self._needed(number), self._lead(number)
        if not self.taken[group]:
            self.covered |= self.label_words.get(group, set())
        for each in (number,) if lead is None else (lead, number):
            self.chosen.add((group, self.paragraphs[each].number))
            self.told.add(self.paragraphs[each].text)
            self.covered |= self.word_sets[each]
        self.room -= needed
        self.taken[group] += needed

    def _needed(self, number: int) -> int:
        group, lead = self.paragraphs[number].group, self._lead(number)
        label = 0 if self.taken[group] else self.label_costs.get(group, 0)
        return self.costs[number] + label + (0 if lead is None else self.costs[lead])

    def _lead(self, number: int) -> int | None:
        """Return the first paragraph of the group, if it must come with this one."""
        paragraph = self.paragraphs[number]
        return (
            self.leads.get(paragraph.group)
            if paragraph.number > 0 and not self.taken[paragraph.group]
            else None
        )


def _short_leads(paragraphs: Sequence[Paragraph]) -> dict[int, int]:
    """Return the first paragraph of each group that is short."""
    return {
        each.group: number
        for number, each in enumerate(paragraphs)
        if each.number == 0 and len(each.text) <= _LEAD_CHARS
    }


def _word_values(word_sets: Sequence[set[str]]) -> Mapping[str, float]:
    """Value each word by how rare it is: what nearly every paragraph has says nothing."""
    counts = Counter[str]()
    for found in word_sets:
        counts.update(found)
    total = len(word_sets) + 1
    value_of = {count: math.sqrt(math.log(total / count)) for count in {*counts.values()}}
    return {word: value_of[count] for word, count in counts.items()}
