"""Take text apart and put it into words: sentences, what the user typed and did not paste, quotes, shortening."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from leftoff.extraction.passages import GAP
from leftoff.extraction.phrases import any_of

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
# Includes Chinese and Japanese full stops, and what a sentence may begin with in their scripts and in Cyrillic.
_SENTENCE_END = re.compile(
    r"(?<=[.!?\u3002\uff01\uff1f])[\s]+(?=[A-Z0-9`*\"'(\[\u0410-\u042f\u3040-\u30ff\u4e00-\u9fff])|(?<=[\u3002\uff01\uff1f])"
)
_MAY_END_SENTENCE = re.compile(r"[.!?]\s")  # in ASCII
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)]|\[[ x]\]|#+)\s+")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
# A line that a person did not type: logs, diffs, code, tables, shell prompts, stack traces.
_PASTED = re.compile(
    r"^(?:\s{4,}\S|\s*={2,}|\s*[\u2713\u2714\u2717\u2716\u2705\u274c]|[A-Z][\w ]{2,40}: /\S+$|\s*[>|+$#%\u276f│┌└├]|\s*[-+]{3}|\s*@@|\s*[{}\[\]<]|\s*\d+[:|→\t]|.*[{};]\s*$|\s*at .*\(.*:\d+|.*\d{2}:\d{2}:\d{2}"
    r"|\s*(?:import|from|const|let|var|func|def|class|return|if|for|package|type)\s.*[({:=])"
)
_ANNOUNCES = re.compile(
    r"\b(?:rules?|constraints?|conventions?|requirements?|guidelines?|principles?)\b[^.?!]*:\s*\Z",
    re.IGNORECASE,
)
_SHORT_TITLE_CHARS = 40
# Not the one in rules, which introduces a list: what only says that something follows.
_SAYS_WHAT_FOLLOWS = re.compile(rf"\W*(?:{any_of('announces')})", re.IGNORECASE)
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_SENTENCE_START = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")
GO_AHEAD = re.compile(rf"(?:{any_of('go ahead')}|[ ,.!:)])+\Z", re.IGNORECASE)
FILE_NAME = re.compile(r"(?<![\w@/])[\w.~/-]*\w\.[A-Za-z]\w{0,7}\b(?!\()")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without code blocks, bold markers and bullets."""
    for line in _without_code(text).split("\n"):  # line by line: many callers want the first few only
        if line:
            yield from _sentences(_BOLD.sub(r"\1", line) if "**" in line else line)


def title(prompt: str) -> str:
    """Return the first thing that the user typed in a prompt, without what was pasted; the whole prompt if that is nothing."""
    first, second = [*islice(typed_paragraphs(prompt), 2), "", ""][:2]
    if len(first) < _SHORT_TITLE_CHARS and (second or first.endswith(":")):
        rest = second or prompt[len(first) :].strip("#* \n")
        first = f"{first} {rest}"
    return first or prompt


def essence(prompt: str, max_chars: int) -> str:
    """Return what the user typed in a prompt and did not paste, on one line, from its beginning."""
    typed = " ".join(typed_paragraphs(prompt, GAP))
    return shorten(typed if len(typed) >= _SHORT_TITLE_CHARS else prompt.replace("#", ""), max_chars)


def _without_code(text: str) -> str:
    return _FENCE.sub("\n", text) if "```" in text or "~~~" in text else text


def straighten_quotes(text: str) -> str:
    """Return the text with the straight apostrophes that the word lists have; positions stay the same."""
    return text.replace("\u2019", "'")


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        bare = (line[bullet.end() :] if bullet else line).strip()
        if not bare or bare.startswith("|"):
            continue
        if bare.isascii() and not _MAY_END_SENTENCE.search(bare):
            yield bare  # one sentence, like most lines
        else:
            yield from filter(None, map(str.strip, _SENTENCE_END.split(bare)))


def announced_rules(prompt: str) -> set[str]:
    """Return the sentences of lists below a line such as "Ground rules:"."""
    found: set[str] = set()
    is_announced = False
    for line in prompt.splitlines():
        if _BULLET.match(line):
            found.update(_sentences(line) if is_announced else ())
        elif line.strip():
            is_announced = line.rstrip().endswith(":") and _ANNOUNCES.search(line) is not None
    return found


def typed_paragraphs(prompt: str, mark: str = "") -> Iterator[str]:
    """Yield the paragraphs of a prompt that were typed and not pasted; ``mark`` takes the place of what was pasted.

    Where much of a prompt is output, only what is before and after it was typed.
    """
    lines = _without_code(prompt).splitlines()
    pasted = [number for number, line in enumerate(lines) if _PASTED.match(line)]
    if len(pasted) * 3 > len(lines) or len(pasted) > 8:
        lines = [*lines[: pasted[0]], "", mark, "", *lines[pasted[-1] + 1 :]]
    elif pasted:
        # One mark for all lines that follow each other.
        kept = [(number, mark if number in pasted else line) for number, line in enumerate(lines)]
        lines = [line for number, line in kept if number not in pasted or (mark and number - 1 not in pasted)]
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield "\n".join(paragraph)
            paragraph = []


def without_announcements(text: str) -> str:
    """Return a text without the paragraphs that only say what follows."""
    return "\n\n".join(part for part in re.split(r"\n{2,}", text) if not only_announces(part))


def without_last_announcement(text: str) -> str:
    """Return a text said on the way without its last words, if they only announce the next call: that call was made."""
    body, _, last = text.rpartition("\n")
    sentences = _SENTENCE_START.split(last)
    while sentences and _SAYS_WHAT_FOLLOWS.match(straighten_quotes(sentences[-1])):
        sentences.pop()
    return f"{body}\n{' '.join(sentences)}".strip().rstrip(":")


def begins_by_announcing(text: str) -> bool:
    """Return whether a text begins with words on what the agent does now, or that all is well so far."""
    return _SAYS_WHAT_FOLLOWS.match(straighten_quotes(text)) is not None


def only_announces(paragraph: str) -> bool:
    """Return whether a paragraph says nothing but that something follows."""
    lines = straighten_quotes(paragraph).split("\n")
    is_list = len(lines) > 1 and any(map(_LIST_ITEM.match, lines))
    return not is_list and all(
        _SAYS_WHAT_FOLLOWS.match(sentence) for line in lines for sentence in _SENTENCE_START.split(line)
    )


def shorten(text: str, max_chars: int) -> str:
    """Return the text on one line of at most ``max_chars``, cut at a word."""
    line = " ".join(text.split(maxsplit=max_chars or -1))  # more words cannot fit
    if len(line) <= max_chars:
        return line
    cut = line[: max_chars - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > max_chars * 0.7 else cut}…"


def quote(text: str, max_chars: int) -> str:
    """Return the shortened text in quotation marks."""
    return f"“{shorten(text, max_chars)}”"


def first_sentences(text: str, max_chars: int) -> str:
    """Return as many whole sentences from the beginning as fit; the first is cut if it does not fit."""
    selected: list[str] = []
    chars_left = max_chars
    for sentence in sentences(text):
        if len(sentence) + 1 > chars_left:
            break
        selected.append(sentence)
        chars_left -= len(sentence) + 1
    return " ".join(selected) or shorten(text, max_chars)


def relative_path(path: str, project: str) -> str:
    """Return a path below the project relative to it, any other path unchanged."""
    base = project.rstrip("/") + "/"
    return path.removeprefix(base) if len(base) > 1 else path
