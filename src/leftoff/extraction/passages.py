"""Choose the paragraphs that tell the most in the space there is, whatever language they are written in.

A text is split into paragraphs, never into sentences: a table, a list or a block of code stays with the line that introduces it, and
short paragraphs stay together. They are chosen one by one, each time the one that adds most for its length: the words that nothing
chosen so far has, each counted by how rare it is in the session, times the weight of the place where the paragraph is. What was said
twice is therefore quoted once, and no list of important words is needed.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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
_INTRODUCES = re.compile(r".*[:\uff1a]\s*\**\Z|\s*#{1,6}\s.*\Z|\s*\*\*[^*]+\*\*:?\s*\Z", re.DOTALL)
_REPEATED_VALUE = 0.15  # of a word that is known already: more of the same is better than unused space
_CODE_WORTH = 0.4
_FIRST_WEIGHT = 3.0  # of the first paragraph of a text that is made to fit
_PROSE_BYTES = bytes(
    byte for byte in range(256) if byte >= 0x80 or chr(byte).isalpha() or chr(byte).isspace()
)
_MAX_OTHER_SHARE = 0.2  # digits and punctuation
_TOGETHER_CHARS = 550  # shorter paragraphs that follow each other are one
_SHORT_CHARS = 100  # what is so short, such as a courtesy, says nothing without what follows
_LONG_CHARS = 700  # a longer list is split between its entries
_MAX_PARAGRAPH_CHARS = 1_500
_NO_LABELS: Mapping[int, str] = {}


class Paragraph(NamedTuple):
    """A paragraph that may be chosen. ``group`` and ``number`` say where it belongs; ``weight`` what its place is worth."""

    group: int
    number: int
    text: str
    weight: float
    novelty: float = 0.0  # the share of its words that must be new


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
        if line.strip() or fence:
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


def tell(
    entries: Sequence[Entry],
    room: int,
    *,
    known: str,
    cost: Callable[[str], int] = len,
    overhead: int = GAP_CHARS,
) -> list[tuple[int, str]]:
    """Return the numbers of the entries that tell most within ``room``, measured by ``cost``, each with what is told of it.

    ``known`` is what the reader has already; paragraphs that are in it word for word are left out.
    """
    flat = " ".join(known.split())
    units = [
        Paragraph(
            group,
            number,
            shorten_paragraph(part, _MAX_PARAGRAPH_CHARS),
            entry.weight * worth(part),
            entry.novelty,
        )
        for group, entry in enumerate(entries)
        for number, part in enumerate(entry.parts)
        if " ".join(part.split()) not in flat
    ]
    labels = {group: entry.label for group, entry in enumerate(entries)}
    chosen = choose(units, room, known=words(known), cost=cost, overhead=overhead, labels=labels)
    told: dict[int, list[tuple[int, str]]] = {}
    for unit in units:
        if (unit.group, unit.number) in chosen:
            told.setdefault(unit.group, []).append((unit.number, unit.text))
    return [(group, join(parts, len(entries[group].parts))) for group, parts in told.items()]


def choose(
    paragraphs: Sequence[Paragraph],
    room: int,
    *,
    known: Iterable[str] = (),
    cost: Callable[[str], int] = len,
    overhead: int = GAP_CHARS,
    labels: Mapping[int, str] = _NO_LABELS,
) -> set[tuple[int, int]]:
    """Return the group and number of the paragraphs that tell most within ``room``, measured by ``cost``.

    ``known`` are words that the reader has already. The same text is chosen once. ``labels`` are the words before the first paragraph
    that is chosen of a group.
    """
    word_sets = [words(each.text) for each in paragraphs]
    values = _word_values(word_sets)
    # fsum: the order of a set differs from process to process, and the same log must be told alike in all of them.
    totals = [math.fsum([values[word] for word in found]) for found in word_sets]
    costs = [cost(each.text) + overhead for each in paragraphs]
    covered, told = {*known}, set[str]()
    chosen: set[tuple[int, int]] = set()
    begun = set[int]()

    def gain(number: int) -> float:
        paragraph, total = paragraphs[number], totals[number]
        new = math.fsum([values[word] for word in word_sets[number] - covered])
        if new < paragraph.novelty * total or paragraph.text in told:
            return 0.0
        return paragraph.weight * (new + _REPEATED_VALUE * total) / costs[number]

    queue = [(-gain(number), number) for number in range(len(paragraphs))]
    heapq.heapify(queue)
    while queue:
        _, number = heapq.heappop(queue)
        now = gain(number)  # less than before, if something chosen since has its words
        group, place, text, _, _ = paragraphs[number]
        label = labels.get(group, "") if group not in begun else ""
        needed = costs[number] + (cost(label) if label else 0)
        if now <= 0.0 or needed > room:
            continue
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, number))
            continue
        chosen.add((group, place))
        told.add(text)
        begun.add(group)
        covered |= word_sets[number] | words(label)
        room -= needed
    return chosen


def _word_values(word_sets: Sequence[set[str]]) -> Mapping[str, float]:
    """Value each word by how rare it is: what nearly every paragraph has says nothing."""
    counts = Counter[str]()
    for found in word_sets:
        counts.update(found)
    total = len(word_sets) + 1
    value_of = {count: math.sqrt(math.log(total / count)) for count in {*counts.values()}}
    return {word: value_of[count] for word, count in counts.items()}
