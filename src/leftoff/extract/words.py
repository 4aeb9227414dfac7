"""Takes text apart: sentences without code, telling lines of output, identifiers. The word lists of extraction stand here."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from leftoff.extract.caseless import Caseless
from leftoff.extract.state import begun

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
# Full stops of Chinese and Japanese too, and what a sentence may begin with in their scripts and in Cyrillic.
_SENTENCE_END = re.compile(
    r"(?<=[.!?\u3002\uff01\uff1f])[\s]+(?=[A-Z0-9`*\"'(\[\u0410-\u042f\u3040-\u30ff\u4e00-\u9fff])|(?<=[\u3002\uff01\uff1f])"
)
_MAY_END = re.compile(r"[.!?]\s")  # in ASCII
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)]|\[[ x]\]|#+)\s+")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
# A line that a person did not type: logs, diffs, code, tables, shell prompts, stack traces.
_PASTED = re.compile(
    r"^(?:\s{4,}\S|\s*[>|+$#%\u276f│┌└├]|\s*[-+]{3}|\s*@@|\s*[{}\[\]<]|\s*\d+[:|→\t]|.*[{};]\s*$|\s*at .*\(.*:\d+|.*\d{2}:\d{2}:\d{2}"
    r"|\s*(?:import|from|const|let|var|func|def|class|return|if|for|package|type)\s.*[({:=])"
)
_TELLING = Caseless(
    r"(?:\b(?:\d+\s+(?:passed|failed|errors?|warnings?|tests?|skipped|problems?|issues)\b|tests?:\s+\d|ok\s+\S+\s+[\d.]+s"
    r"|build succeeded|compiled successfully|all checks passed|0 issues|success)\b)",
)
# Signs that a text, in lower case, may have such a line: what is fixed in it is looked for first, which takes a tenth of the time.
_TELLING_WORDS = ("success", "build succeeded", "all checks passed")
_COUNTED_WORDS = ("passed", "failed", "error", "warning", "test", "skipped", "problem", "issues")
_COUNTED = [(word, re.compile(rf"{word}(?<=[0-9\s]\s{word})")) for word in _COUNTED_WORDS]
_COUNTED_BEHIND = re.compile(r"tests?:\s+[0-9]")
_TIMED = re.compile(r"ok\s+\S+\s+[0-9.]+s")
_TROUBLE = re.compile(
    r"(?:--- FAIL|^FAIL|\bFAILED\b|Error\b|\berror\b[:\[]|\bERROR\b|panic:|fatal:|Traceback|Exception\b|assert|undefined"
    r"|cannot |not found|No such|denied|expected\b|mismatch|✗|✖)",
    re.MULTILINE,
)
# One of these stands in every such line.
_IN_TROUBLE = (
    *("FAIL", "rror", "ERROR", "panic:", "fatal:", "Traceback", "Exception", "assert", "undefined"),
    *("cannot ", "not found", "No such", "denied", "expected", "mismatch", "✗", "✖"),
)
_WORD = re.compile(r"[\w$]{5,}")
_TO_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in "_$"}
_BEGINS_IDENTIFIER = frozenset(string.ascii_letters + "_$")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_+[A-Za-z0-9]")
_ESCAPE = re.compile(r"\\[ntr]")  # of a string in code or JSON: no beginning of a name
_TICKED = re.compile(r"`([A-Za-z_$][\w$]{2,60}(?:\.[A-Za-z_$][\w$]*)*)(?:\(\))?`")
_SHORTEST_NAME = 5
_LONGEST_NAME = 80
_THEN_ASKS = Caseless(
    r",\s+(?=(?:can|could|would|how|what|should|do|does|is|are|right|ok|why)\b)",
)
_ANNOUNCES = Caseless(
    r"\b(?:rules?|constraints?|conventions?|requirements?|guidelines?|principles?)\b[^.?!]*:\s*\Z",
)
_LONG_SENTENCE_CHARS = 250
_USER_INPUT = re.compile(r"^#+ user input\s+```\w*\n(.*?)\n?```", re.DOTALL | re.MULTILINE | re.IGNORECASE)


def own_words(prompt: str) -> str:
    """A prompt that was typed as a short command and sent as a long form: what stands in the form's field."""
    found = _USER_INPUT.search(prompt) if "#" in prompt and "```" in prompt else None
    return found[1] if found else prompt


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without code blocks, bold print and bullets."""
    for line in _without_code(text).split("\n"):  # line by line: many a reader wants the first few alone
        if line:
            yield from _sentences(_BOLD.sub(r"\1", line) if "**" in line else line)


def _without_code(text: str) -> str:
    return _FENCE.sub("\n", text) if "```" in text or "~~~" in text else text


def straight(text: str) -> str:
    """The text with the apostrophe that the word lists have; nothing moves its place."""
    return text.replace("\u2019", "'")


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        bare = (line[bullet.end() :] if bullet else line).strip()
        if not bare or bare.startswith("|"):
            continue
        if bare.isascii() and not _MAY_END.search(bare):
            yield bare  # one sentence, as most lines are
        else:
            yield from filter(None, map(str.strip, _SENTENCE_END.split(bare)))


def typed_sentences(prompt: str, *, is_casual: bool) -> Iterator[str]:
    """The sentences that the user typed, to the letter, in pieces that stand for themselves: without code, logs and pasted reviews.

    Somebody who writes without capitals (``is_casual``) pasted the paragraphs of well-set sentences.
    """
    for paragraph in _typed_paragraphs(own_words(prompt)):
        found = [*_sentences(paragraph)]
        if is_casual and len(found) > 1 and all(said[:1].isupper() and said.endswith(".") for said in found):
            continue
        for said in found:
            yield from _clauses(said)


def announced_rules(prompt: str) -> set[str]:
    """The sentences of lists that stand under a line such as "Ground rules:"."""
    found: set[str] = set()
    is_announced = False
    for line in own_words(prompt).splitlines():
        if _BULLET.match(line):
            found.update(_sentences(line) if is_announced else ())
        elif line.strip():
            is_announced = line.rstrip().endswith(":") and _ANNOUNCES.search(line) is not None
    return found


def _typed_paragraphs(text: str) -> Iterator[str]:
    """The paragraphs outside what was pasted: where much of a prompt is output, what stands before and behind it."""
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
    """A statement with a question behind it is two; of a very long sentence, what stands between semicolons."""
    head, tail = sentence, ""
    if sentence.endswith("?") and (turn := _THEN_ASKS.search(sentence)):
        head, tail = sentence[: turn.start()], sentence[turn.end() :]
    yield from re.split(r"\s*;\s+", head) if len(head) > _LONG_SENTENCE_CHARS else [head]
    if tail:
        yield tail


def telling_line(output: str) -> str:
    """The line of a good end that says how good: "12 passed"; empty when none does."""
    looked_at = _end(output, 2_000)
    if looked_at.isascii() and not _may_tell(looked_at.lower()):
        return ""
    for line in reversed(looked_at.splitlines()):
        if _TELLING.search(line):
            return begun(line.strip(" =\t"), 160)
    return ""


def _may_tell(lowered: str) -> bool:
    return (
        any(map(lowered.__contains__, _TELLING_WORDS))
        or any(counted.search(lowered) for word, counted in _COUNTED if word in lowered)
        or _COUNTED_BEHIND.search(lowered) is not None
        or _TIMED.search(lowered) is not None
    )


def _end(output: str, most: int) -> str:
    """The last lines, whole ones."""
    return output if len(output) <= most else output[-most:].partition("\n")[2]


def trouble(output: str) -> str:
    """The line that says what went wrong: the first that names an error, else the last one."""
    looked_at = output if len(output) <= 8_000 else begun(output, 4_000) + "\n" + _end(output, 4_000)
    places = [place for sign in _IN_TROUBLE if (place := looked_at.find(sign)) >= 0]
    if places:  # nothing before the first of them can be such a line
        for line in looked_at[looked_at.rfind("\n", 0, min(places)) + 1 :].splitlines():
            if _TROUBLE.search(line.strip()):
                return begun(line.strip(), 200)
    return begun((looked_at.rstrip().splitlines() or [""])[-1].strip(), 200)


def names_in(text: str) -> list[str]:
    """The identifiers that somebody made up (of several words: ``parseLine``, ``max_size``), in their order, each once."""
    plain = _ESCAPE.sub(" ", text) if "\\" in text else text
    # In ASCII, as most texts are, blanks in place of all else take a third of the time that the pattern takes.
    found = plain.translate(_TO_BLANKS).split() if plain.isascii() else _WORD.findall(plain)
    # Most words are in small letters and of one part, and need no closer look.
    return [word for word in dict.fromkeys(found) if ("_" in word or not word.islower()) and _is_name(word)]


def ticked_in(text: str) -> list[str]:
    """The names that somebody set apart in back-ticks, dotted ones and plain words too, each once."""
    return [*dict.fromkeys(_TICKED.findall(text))]


def _is_name(word: str) -> bool:
    return (
        _SHORTEST_NAME <= len(word) <= _LONGEST_NAME
        and word[0] in _BEGINS_IDENTIFIER
        and _COMPOUND.search(word) is not None
    )
