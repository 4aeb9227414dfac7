"""Take text apart and put it into words: sentences without code, telling lines of output, identifiers, quotes, shortening."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator

from leftoff.extraction.phrases import LISTS, any_of
from leftoff.extraction.state import truncate

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
    r"^(?:\s{4,}\S|\s*[>|+$#%\u276f│┌└├]|\s*[-+]{3}|\s*@@|\s*[{}\[\]<]|\s*\d+[:|→\t]|.*[{};]\s*$|\s*at .*\(.*:\d+|.*\d{2}:\d{2}:\d{2}"
    r"|\s*(?:import|from|const|let|var|func|def|class|return|if|for|package|type)\s.*[({:=])"
)
_SUCCESS = re.compile(
    r"(?:\b(?:\d+\s+(?:passed|failed|errors?|warnings?|tests?|skipped|problems?|issues)\b|tests?:\s+\d|ok\s+\S+\s+[\d.]+s"
    r"|build succeeded|compiled successfully|all checks passed|0 issues|success)\b)",
    re.IGNORECASE,
)
# Signs that a text in lower case may have such a line: searching for fixed strings first takes a tenth of the time.
_SUCCESS_SIGNS = ("success", "build succeeded", "all checks passed")
_COUNTED_WORDS = ("passed", "failed", "error", "warning", "test", "skipped", "problem", "issues")
_COUNTED = [(word, re.compile(rf"{word}(?<=[0-9\s]\s{word})")) for word in _COUNTED_WORDS]
_COUNTED_BEHIND = re.compile(r"tests?:\s+[0-9]")
_TIMED = re.compile(r"ok\s+\S+\s+[0-9.]+s")
_TROUBLE = re.compile(rf"(?:{any_of('trouble')})", re.MULTILINE)
_TROUBLE_SIGNS = LISTS["trouble signs"]
_WORD = re.compile(r"[\w$]{5,}")
_TO_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in "_$"}
_BEGINS_IDENTIFIER = frozenset(string.ascii_letters + "_$")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_+[A-Za-z0-9]")
_ESCAPE = re.compile(r"\\[ntr]")  # in a string of code or JSON; its letter does not begin a name
_TICKED = re.compile(r"`([A-Za-z_$][\w$]{2,60}(?:\.[A-Za-z_$][\w$]*)*)(?:\(\))?`")
_MIN_NAME_CHARS = 5
_MAX_NAME_CHARS = 80
_THEN_ASKS = re.compile(
    r",\s+(?=(?:can|could|would|how|what|should|do|does|is|are|right|ok|why)\b)", re.IGNORECASE
)
_ANNOUNCES = re.compile(
    r"\b(?:rules?|constraints?|conventions?|requirements?|guidelines?|principles?)\b[^.?!]*:\s*\Z",
    re.IGNORECASE,
)
_LONG_SENTENCE_CHARS = 250
_USER_INPUT = re.compile(r"^#+ user input\s+```\w*\n(.*?)\n?```", re.DOTALL | re.MULTILINE | re.IGNORECASE)


def typed_text(prompt: str) -> str:
    """Return what the user typed: of a command that expands to a form, the content of the field "User input"."""
    found = _USER_INPUT.search(prompt) if "#" in prompt and "```" in prompt else None
    return found[1] if found else prompt


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without code blocks, bold markers and bullets."""
    for line in _without_code(text).split("\n"):  # line by line: many callers want the first few only
        if line:
            yield from _sentences(_BOLD.sub(r"\1", line) if "**" in line else line)


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


def typed_sentences(prompt: str, *, is_casual: bool) -> Iterator[str]:
    """Yield the sentences that the user typed, unchanged, without code, logs and other pasted text.

    A user who writes without capitals (``is_casual``) has pasted the paragraphs of well-formed sentences.
    """
    for paragraph in _typed_paragraphs(typed_text(prompt)):
        found = [*_sentences(paragraph)]
        if is_casual and len(found) > 1 and all(said[:1].isupper() and said.endswith(".") for said in found):
            continue
        for said in found:
            yield from _clauses(said)


def announced_rules(prompt: str) -> set[str]:
    """Return the sentences of lists below a line such as "Ground rules:"."""
    found: set[str] = set()
    is_announced = False
    for line in typed_text(prompt).splitlines():
        if _BULLET.match(line):
            found.update(_sentences(line) if is_announced else ())
        elif line.strip():
            is_announced = line.rstrip().endswith(":") and _ANNOUNCES.search(line) is not None
    return found


def _typed_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs that were not pasted. Where much of a prompt is output, only what is before and after it."""
    lines = _without_code(text).splitlines()
    pasted = [number for number, line in enumerate(lines) if _PASTED.match(line)]
    if len(pasted) * 3 > len(lines) or len(pasted) > 8:
        lines = [*lines[: pasted[0]], "", *lines[pasted[-1] + 1 :]]
    else:
        lines = [line for number, line in enumerate(lines) if number not in pasted]
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield "\n".join(paragraph)
            paragraph = []


def _clauses(sentence: str) -> Iterator[str]:
    """Split a statement from the question after it, and a very long sentence at its semicolons."""
    head, tail = sentence, ""
    if sentence.endswith("?") and (turn := _THEN_ASKS.search(sentence)):
        head, tail = sentence[: turn.start()], sentence[turn.end() :]
    yield from re.split(r"\s*;\s+", head) if len(head) > _LONG_SENTENCE_CHARS else [head]
    if tail:
        yield tail


def success_line(output: str) -> str:
    """Return the line of an output that reports success, such as "12 passed"; empty when none does."""
    end = _last_lines(output, 2_000)
    if end.isascii() and not _may_have_success_line(end.lower()):
        return ""
    for line in reversed(end.splitlines()):
        if _SUCCESS.search(line):
            return truncate(line.strip(" =\t"), 160)
    return ""


def _may_have_success_line(lowered: str) -> bool:
    return (
        any(map(lowered.__contains__, _SUCCESS_SIGNS))
        or any(counted.search(lowered) for word, counted in _COUNTED if word in lowered)
        or _COUNTED_BEHIND.search(lowered) is not None
        or _TIMED.search(lowered) is not None
    )


def _last_lines(output: str, max_chars: int) -> str:
    """Return the last lines, each whole."""
    return output if len(output) <= max_chars else output[-max_chars:].partition("\n")[2]


def failure_line(output: str) -> str:
    """Return the line that says what went wrong: the first that names an error, else the last one."""
    text = output if len(output) <= 8_000 else truncate(output, 4_000) + "\n" + _last_lines(output, 4_000)
    places = [place for sign in _TROUBLE_SIGNS if (place := text.find(sign)) >= 0]
    if places:  # no line before the first sign can name an error
        for line in text[text.rfind("\n", 0, min(places)) + 1 :].splitlines():
            if _TROUBLE.search(line.strip()):
                return truncate(line.strip(), 200)
    return truncate((text.rstrip().splitlines() or [""])[-1].strip(), 200)


def find_identifiers(text: str) -> list[str]:
    """Return the identifiers made of several words (``parseLine``, ``max_size``), in their order, each once."""
    plain = _ESCAPE.sub(" ", text) if "\\" in text else text
    # In ASCII, replacing everything else with blanks takes a third of the time that the pattern takes.
    found = plain.translate(_TO_BLANKS).split() if plain.isascii() else _WORD.findall(plain)
    # Most words are lower case without an underscore and need no closer look.
    return [
        word for word in dict.fromkeys(found) if ("_" in word or not word.islower()) and _is_identifier(word)
    ]


def find_code_spans(text: str) -> list[str]:
    """Return the names in back-ticks, also dotted ones and plain words, each once."""
    return [*dict.fromkeys(_TICKED.findall(text))]


def _is_identifier(word: str) -> bool:
    return (
        _MIN_NAME_CHARS <= len(word) <= _MAX_NAME_CHARS
        and word[0] in _BEGINS_IDENTIFIER
        and _COMPOUND.search(word) is not None
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


def code_list(names: Iterable[str]) -> str:
    """Return names in back-ticks, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def code_span(names: Iterable[str]) -> str:
    """Return many names in one code span: back-ticks around each would take as much space as the names."""
    return f"`{', '.join(names)}`"


def relative_path(path: str, project: str) -> str:
    """Return a path below the project relative to it, any other path unchanged."""
    base = project.rstrip("/") + "/"
    return path.removeprefix(base) if len(base) > 1 else path
