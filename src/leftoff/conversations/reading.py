"""A saved chat read back: lenient with what other programs and people wrote, deaf to what only looks like structure.

The header is what stands above the first rule; entries begin with their headings at the margin; of each the last line of
numbers counts. A count in the header or the footer is for people: the entries are the truth.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from leftoff.conversations import page, summary
from leftoff.conversations.values import NO_TOKENS, Header, Tokens, Totals
from leftoff.errors import DocumentError
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS

_RULE = "\n---\n"
_FIELD = re.compile(r"^\*\*([A-Z][A-Za-z ]{0,30}):\*\* (.+)$", re.MULTILINE)
_SCHEMA = re.compile(r"^<!-- leftoff: chat, schema (\d+) -->$", re.MULTILINE)
_HEADING = re.compile(r"^## (?:Query \d+|(Session Restored)) \(\d\d:\d\d:\d\d\)$", re.MULTILINE)
_METRICS = re.compile(
    r"^\*Time: [\d.]+s \| Tokens: (~?)[\d,]+ \(in: ~?([\d,]+), out: ~?([\d,]+)\)\*$", re.MULTILINE
)
_FOOTER = re.compile(
    r"^Total Queries: \d+ \(user queries only\)\n(?:Restoration: [^\n]*\n)?Session Tokens: [^\n]*\n"
    r"Combined Total: [^\n]*\n*\Z",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a file says of the chat in it."""

    header: Header
    totals: Totals
    summary: summary.Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The words of one query and its answer."""

    query: str
    answer: str


def read(text: str, session_id: str, *, where: str) -> Saved:
    """The chat in ``text``; its id is that of its file, whatever the text claims. DocumentError when it is none."""
    top = text.partition(_RULE)[0]
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(top):
        fields.setdefault(name, value.strip())
    if "Session ID" not in fields or "Agent" not in fields:
        raise DocumentError(
            f"{where}: not a saved chat: its header names no session or no agent.", path=where
        )
    schema = _SCHEMA.search(top)
    if schema and int(schema[1]) > SCHEMAS["chat"]:
        raise DocumentError(
            f"{where}: written by a newer leftoff (schema {schema[1]}, this one reads up to {SCHEMAS['chat']}). "
            "Upgrade leftoff to read it.",
            path=where,
        )
    head = Header(
        session_id=session_id,
        date=_moment(fields.get("Date", "")),
        agent=fields["Agent"],
        agent_path=fields.get("Agent Path", ""),
        resumed_from=fields.get("Resumed From"),
        previous_session=fields.get("Previous Session"),
    )
    return Saved(header=head, totals=_totals(body(text)), summary=summary.find(text))


def body(text: str) -> str:
    """The entries alone, without header, totals and summary."""
    return text[len(text.partition(_RULE)[0]) + len(_RULE) : tail_at(text)]


def tail_at(text: str) -> int:
    """Where totals and summary begin; the end, when there are none."""
    lines = text.rstrip().split("\n")
    begin = summary.start_line(lines)
    rest = len(text) if begin is None else sum(len(line) + 1 for line in lines[:begin])
    footer = _FOOTER.search(text, 0, rest)
    return footer.start() if footer else rest


def exchanges(text: str, agent: str) -> list[Exchange]:
    """What was asked and answered, oldest first; the restoration is no exchange."""
    found = []
    for is_restoration, block in _entries(body(text)):
        asked, _, answered = block.partition(f"\n**{agent}:**")
        if is_restoration or not asked.startswith(f"**{page.YOU}:**"):
            continue
        numbers = _last_metrics(answered)
        answer = answered[: numbers.start()] if numbers else answered
        found.append(Exchange(query=asked.removeprefix(f"**{page.YOU}:**").strip(), answer=answer.strip()))
    return found


def _totals(entries: str) -> Totals:
    queries, session = 0, NO_TOKENS
    restoration: Tokens | None = None
    for is_restoration, block in _entries(entries):
        numbers = _last_metrics(block)
        tokens = NO_TOKENS if numbers is None else _tokens(numbers)
        if is_restoration:
            restoration = (restoration or NO_TOKENS) + tokens
        else:
            queries += 1
            session += tokens
    return Totals(queries=queries, session=session, restoration=restoration)


def _entries(entries: str) -> list[tuple[bool, str]]:
    """Whether it is a restoration, and the text below its heading."""
    heads = [*_HEADING.finditer(entries)]
    nexts = [*heads[1:], None]
    return [
        (head[1] is not None, entries[head.end() + 1 : after.start() if after else None])
        for head, after in zip(heads, nexts, strict=False)  # a page may have no heading at all
    ]


def _last_metrics(block: str) -> re.Match[str] | None:
    return next(iter([*_METRICS.finditer(block)][-1:]), None)


def _tokens(numbers: re.Match[str]) -> Tokens:
    given, taken = (int(number.replace(",", "") or 0) for number in numbers.groups()[1:])
    return Tokens(input_tokens=given, output_tokens=taken, estimated=bool(numbers[1]))


def _moment(text: str) -> datetime:
    """When it began; a time without a zone is this machine's own, and what is no time the beginning of all."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)
