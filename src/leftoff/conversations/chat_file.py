"""The file of one chat while it is being talked: it grows by a turn at the price of a turn, however long it has become.

Promises: the file is the page of ``page`` at every moment; a kill leaves the page before the turn or after it; nothing is
overwritten that another chat wrote; a summary that stands in it stays until a newer one takes its place. A file that somebody
edits meanwhile is read again, and grows from what it has become. An entry that is saved again, because it could not be known
whether the first time went well, stands there once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from leftoff.conversations import names, page, reading
from leftoff.conversations import summary as summaries
from leftoff.conversations.values import Header, Restoration, Totals, Turn
from leftoff.errors import StorageError
from leftoff.system import files, locks, patches, paths, reasons
from leftoff.system.patches import Patch

SUFFIX = ".md"
Entry = Turn | Restoration
_COUNT = re.compile(rf"^({re.escape(page.QUERIES)})\d+", re.MULTILINE)


@dataclass(slots=True, kw_only=True)
class ChatFile:
    """A file with at least one entry. ``size`` and ``tail_at`` are where it was left by us."""

    path: Path
    header: Header
    totals: Totals
    summary: str | None
    size: int
    tail_at: int

    @property
    def session_id(self) -> str:
        """That of the chat, which is the file's name."""
        return self.header.session_id

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries behind the last one; the summary stays."""
        self._change(entries, self.summary)

    def finish(self, entries: Sequence[Entry], summary: str) -> None:
        """Add entries, and put a new summary in the place of any there was."""
        self._change(entries, summary)

    def text(self) -> str:
        """All of it, as it stands."""
        return read_text(self.path)

    def _change(self, entries: Sequence[Entry], summary: str | None) -> None:
        after, bodies = _grown(self.header.agent, self.totals, entries)
        tail = page.tail(after, summary).encode("utf-8", "replace")
        files.make_folder(self.path.parent)
        with locks.held(self.path.parent / files.LOCK_NAME):
            if not self._patched(b"".join(bodies), tail, after.queries):
                self._rewrite(bodies, tail, after.queries)
        self.totals, self.summary = after, summary

    def _patched(self, body: bytes, tail: bytes, queries: int) -> bool:
        """The usual way; False when the count has one more digit, or the file is not as we left it."""
        if len(str(queries)) != len(str(self.totals.queries)):
            return False
        above = page.header(self.header, queries).partition(page.QUERIES)[0].encode("utf-8", "replace")
        changes = [
            Patch(at=len(above) + len(page.QUERIES), data=str(queries).encode()),
            Patch(at=self.tail_at, data=body + tail),
        ]
        if not patches.apply(self.path, self.size, changes):
            return False
        self.tail_at += len(body)
        self.size = self.tail_at + len(tail)
        return True

    def _rewrite(self, bodies: Sequence[bytes], tail: bytes, queries: int) -> None:
        """All of it anew: from what stands there, or from the header alone where nothing does any more."""
        patches.settle(self.path)
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            text = page.header(self.header, queries)
        except OSError as error:
            raise _unreadable(self.path, error) from error
        top, rule, rest = text[: reading.tail_at(text)].partition("\n---\n")
        kept = (_COUNT.sub(rf"\g<1>{queries}", top, count=1) + rule + rest).encode("utf-8", "replace")
        kept += b"".join(_missing(kept, bodies))
        files.write_file(self.path, kept + tail)
        self.tail_at, self.size = len(kept), len(kept) + len(tail)


def create(folder: Path, header: Header, entries: Sequence[Entry], summary: str | None) -> ChatFile:
    """A new file under the first id that is free; ``header``'s own id is replaced by it."""
    totals, bodies = _grown(header.agent, Totals(), entries)
    tail = page.tail(totals, summary).encode("utf-8", "replace")
    files.make_folder(folder)
    files.sweep_killed(folder)
    for session_id in names.candidates(header.agent, header.date):
        path = paths.inside(folder, session_id + SUFFIX)
        head = replace(header, session_id=session_id)
        kept = page.header(head, totals.queries).encode("utf-8", "replace") + b"".join(bodies)
        if files.create_file(path, kept + tail):
            size = len(kept) + len(tail)
            return ChatFile(
                path=path, header=head, totals=totals, summary=summary, size=size, tail_at=len(kept)
            )
    raise AssertionError("there is always another name")  # pragma: no cover


def read_text(path: Path) -> str:
    """A saved chat, whole: a change that was begun is finished first."""
    settle(path)
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise _unreadable(path, error) from error


def settle(path: Path) -> None:
    """Finish a change of a saved chat that was begun."""
    if patches.is_unsettled(path):
        with locks.held(path.parent / files.LOCK_NAME):
            patches.settle(path)


def write_text(path: Path, text: str, summary: str | None) -> None:
    """A page that somebody else made; the summary that stands at ``path`` already stays where no other is given."""
    files.make_folder(path.parent)
    with locks.held(path.parent / files.LOCK_NAME):
        patches.settle(path)
        kept = summaries.bare(summary) if summary else summaries.find(text).text
        if kept is None and path.exists():
            kept = summaries.find(path.read_text(encoding="utf-8", errors="replace")).text
        lines = text.rstrip().split("\n")
        begin = summaries.start_line(lines)
        page_text = "\n".join(lines[:begin]).rstrip() + "\n"
        block = f"\n{summaries.block(kept)}" if kept else ""
        files.write_file(path, (page_text + block).encode("utf-8", "replace"))


def delete(path: Path) -> None:
    """Take a saved chat away."""
    with locks.held(path.parent / files.LOCK_NAME):
        patches.forget(path)
        try:
            path.unlink()
        except OSError as error:
            raise StorageError(f"{path}: not deleted: {reasons.words(error)}.", path=path) from error


def _grown(agent: str, totals: Totals, entries: Sequence[Entry]) -> tuple[Totals, list[bytes]]:
    """The totals with the entries, and each of them as it stands on the page."""
    texts = []
    for each in entries:
        totals = totals.after(each)
        texts.append(page.entry(agent, each, totals.queries).encode("utf-8", "replace"))
    return totals, texts


def _missing(kept: bytes, bodies: Sequence[bytes]) -> Sequence[bytes]:
    """The entries that the page does not end with already. Their numbers and times tell them apart from any other."""
    for there in range(len(bodies), 0, -1):
        if kept.endswith(b"".join(bodies[:there])):
            return bodies[there:]
    return bodies


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path)
