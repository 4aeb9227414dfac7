"""The Markdown file of one chat: create it, add turns to it, and read it back.

Promises: the file is a complete page at every moment, and a killed process leaves the page before or after the turn. Adding a
turn costs the same however long the chat is. No file of another chat is overwritten, and a summary stays until a newer one
replaces it. If another program edits the file, the next turn is added to the edited text. A turn whose saving may have
failed can be saved again and still appears once. Reading is lenient: the entries count, not the totals in header and footer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from leftoff.chat import page
from leftoff.chat.page import NO_TOKENS, Header, Restoration, Tokens, Totals, Turn
from leftoff.core.wire import SCHEMAS
from leftoff.errors import DocumentError, StorageError, describe_os_error
from leftoff.platform import files, large_files, locks, paths
from leftoff.platform.large_files import Patch

SUFFIX = ".md"
Entry = Turn | Restoration
_COUNT = re.compile(rf"^({re.escape(page.QUERIES)})\d+", re.MULTILINE)
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


@dataclass(slots=True, kw_only=True)
class ChatFile:
    """A saved chat with at least one entry. ``size`` and ``tail_offset`` are in bytes, as of our last write."""

    path: Path
    header: Header
    totals: Totals
    summary: str | None
    size: int
    tail_offset: int

    @property
    def session_id(self) -> str:
        """The id of the chat, which is also the file's name."""
        return self.header.session_id

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries after the last one and keep the summary."""
        self._change(entries, self.summary)

    def finish(self, entries: Sequence[Entry], summary: str) -> None:
        """Add entries and replace the summary."""
        self._change(entries, summary)

    def text(self) -> str:
        """Return the whole page."""
        return read_text(self.path)

    def _change(self, entries: Sequence[Entry], summary: str | None) -> None:
        after, bodies = _render_entries(self.header.agent, self.totals, entries)
        tail = page.render_tail(after, summary).encode("utf-8", "replace")
        files.make_folder(self.path.parent)
        with locks.hold(self.path.parent / files.LOCK_NAME):
            if not self._patch_in_place(b"".join(bodies), tail, after.queries):
                self._rewrite(bodies, tail, after.queries)
        self.totals, self.summary = after, summary

    def _patch_in_place(self, entries_text: bytes, tail: bytes, queries: int) -> bool:
        """Write only what changes; return False if the count got one more digit or the file was edited."""
        if len(str(queries)) != len(str(self.totals.queries)):
            return False
        above = page.render_header(self.header, queries).partition(page.QUERIES)[0].encode("utf-8", "replace")
        changes = [
            Patch(at=len(above) + len(page.QUERIES), data=str(queries).encode()),
            Patch(at=self.tail_offset, data=entries_text + tail),
        ]
        if not large_files.apply_patches(self.path, self.size, changes):
            return False
        self.tail_offset += len(entries_text)
        self.size = self.tail_offset + len(tail)
        return True

    def _rewrite(self, bodies: Sequence[bytes], tail: bytes, queries: int) -> None:
        """Write the whole file from its present text, or from the header alone if the file is gone."""
        large_files.finish_patch(self.path)
        try:
            text = _read_page(self.path)
        except FileNotFoundError:
            text = page.render_header(self.header, queries)
        top, rule, rest = text[: find_tail(text)].partition("\n---\n")
        kept = (_COUNT.sub(rf"\g<1>{queries}", top, count=1) + rule + rest).encode("utf-8", "replace")
        kept += b"".join(_not_yet_written(kept, bodies))
        files.write_file(self.path, kept + tail)
        self.tail_offset, self.size = len(kept), len(kept) + len(tail)


def create(folder: Path, header: Header, entries: Sequence[Entry], summary: str | None) -> ChatFile:
    """Create a file under the first free id, which replaces the id in ``header``."""
    totals, bodies = _render_entries(header.agent, Totals(), entries)
    tail = page.render_tail(totals, summary).encode("utf-8", "replace")
    files.make_folder(folder)
    files.remove_stale_drafts(folder)
    for session_id in page.session_ids(header.agent, header.date):
        path = paths.safe_join(folder, session_id + SUFFIX)
        head = replace(header, session_id=session_id)
        kept = page.render_header(head, totals.queries).encode("utf-8", "replace") + b"".join(bodies)
        if files.create_file(path, kept + tail):
            size = len(kept) + len(tail)
            return ChatFile(
                path=path, header=head, totals=totals, summary=summary, size=size, tail_offset=len(kept)
            )
    raise AssertionError("there is always another name")  # pragma: no cover


def read_text(path: Path) -> str:
    """Return the page of a saved chat, after finishing any interrupted change."""
    finish_interrupted_change(path)
    try:
        return _read_page(path)
    except FileNotFoundError as error:
        raise files.not_readable(path, error) from error


def _read_page(path: Path) -> str:
    return files.read_regular_file(path, files.MAX_DOCUMENT_BYTES).decode("utf-8", "replace")


def finish_interrupted_change(path: Path) -> None:
    """Finish a change that a killed process left half done."""
    if large_files.has_unfinished_patch(path):
        with locks.hold(path.parent / files.LOCK_NAME):
            large_files.finish_patch(path)


def write_page(path: Path, text: str, summary: str | None) -> None:
    """Write a page that another program rendered. Without ``summary``, one that is already in the file is kept."""
    files.make_folder(path.parent)
    with locks.hold(path.parent / files.LOCK_NAME):
        large_files.finish_patch(path)
        kept = page.strip_markers(summary) if summary else page.find_summary(text).text
        if kept is None and path.exists():
            kept = page.find_summary(_read_page(path)).text
        lines = text.rstrip().split("\n")
        begin = page.summary_start(lines)
        page_text = "\n".join(lines[:begin]).rstrip() + "\n"
        block = f"\n{page.summary_block(kept)}" if kept else ""
        files.write_file(path, (page_text + block).encode("utf-8", "replace"))


def delete(path: Path) -> None:
    """Delete a saved chat."""
    with locks.hold(path.parent / files.LOCK_NAME):
        large_files.discard_patch(path)
        try:
            path.unlink()
        except OSError as error:
            raise StorageError(f"{path}: not deleted: {describe_os_error(error)}.", path=path) from error


def _render_entries(agent: str, totals: Totals, entries: Sequence[Entry]) -> tuple[Totals, list[bytes]]:
    """Return the totals including ``entries``, and each entry as it is written on the page."""
    texts = []
    for each in entries:
        totals = totals.plus(each)
        texts.append(page.render_entry(agent, each, totals.queries).encode("utf-8", "replace"))
    return totals, texts


def _not_yet_written(kept: bytes, bodies: Sequence[bytes]) -> Sequence[bytes]:
    """Return the entries that ``kept`` does not already end with. Their numbers and times make them unique."""
    for there in range(len(bodies), 0, -1):
        if kept.endswith(b"".join(bodies[:there])):
            return bodies[there:]
    return bodies


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedChat:
    """What a file contains: header, totals and summary."""

    header: Header
    totals: Totals
    summary: page.SummaryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The text of one query and its answer."""

    query: str
    answer: str


def load(path: Path) -> SavedChat:
    """Read a saved chat from its file."""
    return parse(read_text(path), path.stem, where=str(path))


def parse(text: str, session_id: str, *, where: str) -> SavedChat:
    """Parse a page. The id is the file's, whatever the text says. Raise DocumentError if this is not a chat."""
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
        date=_parse_date(fields.get("Date", "")),
        agent=fields["Agent"],
        agent_path=fields.get("Agent Path", ""),
        resumed_from=fields.get("Resumed From"),
        previous_session=fields.get("Previous Session"),
    )
    return SavedChat(header=head, totals=_count_totals(entries_text(text)), summary=page.find_summary(text))


def entries_text(text: str) -> str:
    """Return the entries of a page without header, totals and summary."""
    return text[len(text.partition(_RULE)[0]) + len(_RULE) : find_tail(text)]


def find_tail(text: str) -> int:
    """Return the offset where totals and summary begin; the length of the text if there are none."""
    lines = text.rstrip().split("\n")
    begin = page.summary_start(lines)
    rest = len(text) if begin is None else sum(len(line) + 1 for line in lines[:begin])
    footer = _FOOTER.search(text, 0, rest)
    return footer.start() if footer else rest


def parse_exchanges(text: str, agent: str) -> list[Exchange]:
    """Return the queries and answers, oldest first, without the restoration."""
    found = []
    for is_restoration, block in _split_entries(entries_text(text)):
        asked, _, answered = block.partition(f"\n**{agent}:**")
        if is_restoration or not asked.startswith(f"**{page.YOU}:**"):
            continue
        numbers = _last_metrics(answered)
        answer = answered[: numbers.start()] if numbers else answered
        found.append(Exchange(query=asked.removeprefix(f"**{page.YOU}:**").strip(), answer=answer.strip()))
    return found


def _count_totals(entries: str) -> Totals:
    queries, session = 0, NO_TOKENS
    restoration: Tokens | None = None
    for is_restoration, block in _split_entries(entries):
        numbers = _last_metrics(block)
        tokens = NO_TOKENS if numbers is None else _parse_tokens(numbers)
        if is_restoration:
            restoration = (restoration or NO_TOKENS) + tokens
        else:
            queries += 1
            session += tokens
    return Totals(queries=queries, session=session, restoration=restoration)


def _split_entries(entries: str) -> list[tuple[bool, str]]:
    """Return for each entry whether it is a restoration, and the text below its heading."""
    heads = [*_HEADING.finditer(entries)]
    nexts = [*heads[1:], None]
    return [
        (head[1] is not None, entries[head.end() + 1 : after.start() if after else None])
        for head, after in zip(heads, nexts, strict=False)  # a page may have no heading at all
    ]


def _last_metrics(block: str) -> re.Match[str] | None:
    return next(iter([*_METRICS.finditer(block)][-1:]), None)


def _parse_tokens(numbers: re.Match[str]) -> Tokens:
    input_tokens, output_tokens = (int(number.replace(",", "") or 0) for number in numbers.groups()[1:])
    return Tokens(input_tokens=input_tokens, output_tokens=output_tokens, estimated=bool(numbers[1]))


def _parse_date(text: str) -> datetime:
    """Return the time of ``text``, local if it names no zone; the epoch if it is not a time."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)
