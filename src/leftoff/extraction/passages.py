"""Choose the paragraphs that tell the most in the space there is, whatever language they are written in.

A text is split into paragraphs, never into sentences: a table, a list or a block of code stays with the line that introduces it, and
short paragraphs stay together. Of each text the first ones are told: each time those that add most for their length, which is the words
that nothing told so far has, each counted by how rare it is in the session, times the weight of the place where the text is. What was
said twice is therefore quoted once, and no list of important words is needed.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

GAP = "[…]"  # stands for paragraphs that were left out
GAP_CHARS = len(f"\n{GAP}\n\n")  # the most that stands between two paragraphs
_WORD = re.compile(r"[^\W_]+(?:[._/@:-][^\W_]+)*|_\w+", re.UNICODE)
_PARTS = re.compile(r"[._/@:-]")
# Scripts without blanks between words: pairs of characters take the place of words.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_LIST_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s|\|")
_RULES = ("---", "***", "___")  # horizontal ones
_HEADING = re.compile(r"#{1,6}\s+(\S.*?)\s*#*\Z")
_INTRODUCES = re.compile(r".*[:\uff1a]\s*\**\Z|\s*#{1,6}\s.*\Z|\s*\*\*[^*]+\*\*:?\s*\Z", re.DOTALL)
_REPEATED_VALUE = 0.15  # of a word that is known already: more of the same is better than unused space
_CODE_WORTH = 0.4
_PROSE_BYTES = bytes(
    byte for byte in range(256) if byte >= 0x80 or chr(byte).isalpha() or chr(byte).isspace()
)
_MAX_OTHER_SHARE = 0.2  # digits and punctuation
_TOGETHER_CHARS = 550  # shorter paragraphs that follow each other are one
_SHORT_CHARS = 100  # what is so short, such as a courtesy, says nothing without what follows
_LONG_CHARS = 700  # a longer list is split between its entries
_MAX_PARAGRAPH_CHARS = 1_500


class Entry(NamedTuple):
    """Something that may be told: our words before it, its paragraphs, what its place is worth, and how much of each must be new."""

    label: str
    parts: Sequence[str]
    weight: float
    novelty: float = 0.0  # the share of its words


def split(text: str) -> list[str]:
    """Split a text into paragraphs that make sense alone: short ones stay with the next, a list or code with what introduces it.

    Headings become bold lines, because a passage has no headings of its own in a log.
    """
    blocks: list[list[str]] = [[]]
    fence = ""
    for line in text.strip().split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        if (line.strip() and line.strip() not in _RULES) or fence:
            heading = _HEADING.match(line) if line[:1] == "#" and not fence else None
            blocks[-1].append(f"**{heading[1].strip('* ')}**" if heading else line)
        elif blocks[-1]:
            blocks.append([])
    joined: list[str] = []
    for block in (piece for lines in blocks if lines for piece in _split_long_list("\n".join(lines))):
        last = joined[-1] if joined else ""
        is_short = len(last) < _SHORT_CHARS or len(last) + len(block) < _TOGETHER_CHARS
        introduces = len(last) < _LONG_CHARS and _INTRODUCES.match(last.rpartition("\n")[2])
        if last and (is_short or introduces):
            joined[-1] += f"{_between(last, block)}{block}"
        else:
            joined.append(block)
    return joined


def _split_long_list(block: str) -> Iterable[str]:
    """Split a long list between entries of its outer level; tables and code stay whole."""
    if len(block) <= _LONG_CHARS or "```" in block or "~~~" in block or "\n|" in block:
        return [block]
    pieces: list[str] = [""]
    for line in block.split("\n"):
        if len(pieces[-1]) > _LONG_CHARS // 2 and _LIST_ITEM.match(line):
            pieces.append(line)
        else:
            pieces[-1] += ("\n" if pieces[-1] else "") + line
    return pieces


def _between(before: str, after: str) -> str:
    """Return what stands between two paragraphs: entries of one list have no empty line."""
    last = before.rpartition("\n")[2]
    is_list = _LIST_ITEM.match(after) and (_LIST_ITEM.match(last) or _INTRODUCES.match(last))
    return "\n" if is_list else "\n\n"


def join(chosen: Iterable[tuple[int, str]], total: int = 0) -> str:
    """Put chosen paragraphs of one text together again, in their order; gaps are marked, also one before the end of ``total``."""
    out = ""
    expected = 0
    for number, text in [*sorted(chosen), (total, "")]:
        if number > expected and not out.endswith(GAP):
            out += f"\n{GAP}" if out else GAP if text else ""
        if text:
            out += (_between(out, text) if out else "") + text
        expected = number + 1
    return out


def fit(text: str, max_chars: int) -> str:
    """Return the text, or where it is too long its first paragraphs and the last one, which says what is next."""
    if len(text) <= max_chars:
        return text
    parts = split(text)
    room = max_chars - GAP_CHARS
    if room < _SHORT_CHARS:
        return shorten_paragraph(text, max_chars) if max_chars >= 2 * GAP_CHARS else ""
    kept = [(0, shorten_paragraph(parts[0], room))]
    room -= len(kept[0][1])
    last = len(parts) - 1
    if last and len(parts[last]) + GAP_CHARS <= room:
        kept.append((last, parts[last]))
        room -= len(parts[last]) + GAP_CHARS
    for number in range(1, last):
        room -= len(parts[number]) + 2
        if room < 0:
            break
        kept.append((number, parts[number]))
    return join(kept, len(parts))


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
    is_prose = "```" not in paragraph and ("\n|" in paragraph or others <= _MAX_OTHER_SHARE * len(paragraph))
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


def tell(
    entries: Sequence[Entry],
    room: int,
    *,
    known: str,
    known_words: Set[str] | None = None,
    cost: Callable[[str], int] = len,
    overhead: int = GAP_CHARS,
) -> list[tuple[int, str]]:
    """Return the numbers of the entries that tell most within ``room``, measured by ``cost``, each with what is told of it.

    Of an entry the first paragraphs are told, as many as are worth their room: one from the middle would not be understood alone.
    ``known`` is what the reader has already, with its words; paragraphs that are in it word for word are left out.
    """
    flat = " ".join(known.split())
    has = words(known) if known_words is None else known_words

    def is_new(part: str, novelty: float) -> bool:
        found = words(part) if novelty else set[str]()
        is_told = part in seen or " ".join(part.split()) in flat
        seen.add(part)
        return not is_told and len(found - has) >= novelty * len(found)

    seen = set[str]()
    offered = [
        [
            (number, shorten_paragraph(part, _MAX_PARAGRAPH_CHARS))
            for number, part in enumerate(entry.parts)
            if part.strip() and is_new(part, entry.novelty)
        ]
        for entry in entries
    ]
    choice = _Choice(entries, offered, {*has}, cost, overhead)
    queue = [(-choice.next_run(number)[0], number) for number in range(len(entries))]
    heapq.heapify(queue)
    while queue:
        _, number = heapq.heappop(queue)
        now, length, needed = choice.next_run(
            number
        )  # less than before, if something told since has its words
        if now <= 0.0:
            continue
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, number))
        elif needed <= room:
            room -= needed
            choice.take(number, length)
            heapq.heappush(queue, (-choice.next_run(number)[0], number))
    return [
        (number, join(parts[: choice.told[number]], len(entries[number].parts)))
        for number, parts in enumerate(offered)
        if choice.told[number]
    ]


class _Choice:
    """What is told so far of each entry, and what the next of its paragraphs would add."""

    def __init__(
        self,
        entries: Sequence[Entry],
        offered: Sequence[Sequence[tuple[int, str]]],
        covered: set[str],
        cost: Callable[[str], int],
        overhead: int,
    ) -> None:
        self._entries = entries
        self._words = [[words(text) for _, text in parts] for parts in offered]
        self._costs = [[cost(text) + overhead for _, text in parts] for parts in offered]
        self._label_costs = [cost(entry.label) if entry.label else 0 for entry in entries]
        self._worth = [[worth(text) for _, text in parts] for parts in offered]
        self._values = _word_values([found for parts in self._words for found in parts])
        self._covered = covered
        self.told = [0] * len(entries)  # how many paragraphs

    def next_run(self, number: int) -> tuple[float, int, int]:
        """Return what the best run of the next paragraphs adds for its length, how many they are, and their cost."""
        entry, begin = self._entries[number], self.told[number]
        best, value = (0.0, 0, 0), 0.0
        needed = 0 if begin else self._label_costs[number]
        covered = self._covered
        for at in range(begin, len(self._words[number])):
            found = self._words[number][at]
            # fsum: the order of a set differs from process to process, and the same log must be told alike in all of them.
            total = math.fsum([self._values[word] for word in found])
            new = math.fsum([self._values[word] for word in found - covered])
            value += entry.weight * self._worth[number][at] * (new + _REPEATED_VALUE * total)
            needed += self._costs[number][at]
            if value / needed > best[0]:
                best = (value / needed, at + 1 - begin, needed)
        return best

    def take(self, number: int, length: int) -> None:
        """Tell the next paragraphs of an entry."""
        if not self.told[number]:
            self._covered |= words(self._entries[number].label)
        for found in self._words[number][self.told[number] :][:length]:
            self._covered |= found
        self.told[number] += length


def _word_values(word_sets: Sequence[set[str]]) -> Mapping[str, float]:
    """Value each word by how rare it is: what nearly every paragraph has says nothing."""
    counts = Counter[str]()
    for found in word_sets:
        counts.update(found)
    total = len(word_sets) + 1
    value_of = {count: math.sqrt(math.log(total / count)) for count in {*counts.values()}}
    return {word: value_of[count] for word, count in counts.items()}
