"""What was forgotten stays forgotten: sessions that are never taken in again, and texts that are masked wherever they stand.

It is kept in a file of its own beside the library, which may be thrown away and made again. Nothing of it is kept in words: of a
session the salted digest of its id, of a text the salted digest of its letters, their number, and eight bits by which most
places of another text are passed over quickly. Whoever reads it learns whether a text he already has is among them, and how
long it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from leftoff.errors import DocumentError, StorageError
from leftoff.library.normal import normal, places, stands_alone, without, writings
from leftoff.library.pieces import Piece
from leftoff.library.shelf import REMEMBERED
from leftoff.model.wire import SCHEMAS, upgraded
from leftoff.system import files, ids, reasons

MASK = "[forgotten]"
_GRAM = 4  # letters that are looked up first
_MOST_REMEMBERED = 500_000


class _Text(NamedTuple):
    digest: bytes
    letters: int
    first: int  # eight bits of the digest of its first letters
    is_id: bool


class Forgotten:
    """What the library in ``folder`` must not take in."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder, REMEMBERED)
        self._stamp = self._stamp_now()
        self._sessions: set[bytes] = set()
        self._texts: set[_Text] = set()
        self._salt = os.urandom(16)
        self._cold: set[str] = set()
        self._read()

    def has_changed(self) -> bool:
        """Whether more was forgotten since this was read."""
        return self._stamp_now() != self._stamp

    def is_session(self, session_id: str | None) -> bool:
        """Whether the session is one of them."""
        return bool(self._sessions) and session_id is not None and self._digest(session_id) in self._sessions

    def masked(self, pieces: Iterable[Piece]) -> list[Piece]:
        """The pieces without the texts; a file whose name holds one is not known to be touched."""
        if not self._texts:
            return [*pieces]
        return [
            piece._replace(
                text=self.masked_text(piece.text),
                tool=piece.tool and (None if self._found(piece.tool) else piece.tool),
                touches=tuple(each for each in piece.touches if not self._found(each.path)),
            )
            for piece in pieces
        ]

    def masked_text(self, text: str) -> str:
        """The text with each forgotten one in it replaced."""
        return without(text, self._found(text), MASK)

    def masked_cut(self, text: str) -> str:
        """The same of a text that was cut at its end: as much of that goes as may be the beginning of a forgotten one."""
        most = max((known.letters for known in self._texts), default=1) - 1
        masked = self.masked_text(text)
        return masked[: places(masked)[-most:][0]] if most and normal(masked) else masked

    def holds(self, texts: Iterable[str]) -> bool:
        """Whether a text that was forgotten by itself stands in any of these; mentions of a session's id do not count."""
        if all(known.is_id for known in self._texts):
            return False
        return any(not known.is_id for text in texts for *_, known in self._matches(text))

    def is_in(self, texts: Iterable[str | None]) -> bool:
        """Whether anything that was forgotten, a text or a session's id, stands in any of these."""
        return bool(self._texts) and any(self._found(text) for text in texts if text)

    def is_named_in(self, texts: Iterable[str]) -> bool:
        """Whether any of these mentions a session that was forgotten."""
        if not any(known.is_id for known in self._texts):
            return False
        return any(known.is_id for text in texts for *_, known in self._matches(text))

    @property
    def has_texts(self) -> bool:
        """Whether any text was forgotten by itself."""
        return any(not known.is_id for known in self._texts)

    def add_sessions(self, session_ids: Collection[str]) -> None:
        """Never take them in again, nor their ids where another text mentions them."""
        for session_id in session_ids:
            self._sessions.add(self._digest(session_id))
            if ids.is_uuid(session_id):
                self._add(normal(session_id), is_id=True)
        if session_ids:
            self._write()

    def add_text(self, text: str) -> None:
        """Never take it in again; a text without any letter cannot be remembered so."""
        known = [letters for _, letters in writings(text) if letters]
        for letters in known:
            self._add(letters, is_id=False)
        if known:
            self._write()

    def _add(self, letters: str, *, is_id: bool) -> None:
        first = self._digest(letters[:_GRAM])[0]
        self._texts.add(_Text(self._digest(letters), len(letters), first, is_id))
        self._cold.clear()

    def _found(self, text: str) -> list[tuple[int, int]]:
        return [(start, end) for start, end, _ in self._matches(text)] if self._texts else []

    def _matches(self, text: str) -> Iterator[tuple[int, int, _Text]]:
        """Where forgotten texts stand, one behind the other. Few places begin like one; only those are digested."""
        letters = normal(text)
        found = sorted(
            (at, -known.letters, known)
            for at in {at for size in self._sizes() for at in self._beginnings(letters, size)}
            for known in self._texts
            if self._digest(letters[at : at + known.letters]) == known.digest
        )
        origins, past = places(text) if found else [], 0
        for at, _, known in found:
            start, end = origins[at], origins[at + known.letters - 1] + 1
            if at >= past and stands_alone(text, start, end, known.letters):
                past = at + known.letters
                yield start, end, known

    def _sizes(self) -> set[int]:
        return {min(_GRAM, known.letters) for known in self._texts}

    def _beginnings(self, letters: str, size: int) -> Iterator[int]:
        """Where the letters begin as a forgotten text may."""
        grams = {letters[at : at + size] for at in range(len(letters) - size + 1)}
        for gram in grams - self._cold:
            if self._is_hot(gram):
                at = letters.find(gram)
                while at >= 0:
                    yield at
                    at = letters.find(gram, at + 1)

    def _is_hot(self, gram: str) -> bool:
        """Whether a forgotten text may begin so; what may not is remembered, because it comes again and again."""
        bits = self._digest(gram)[0]
        if any(known.first == bits and min(_GRAM, known.letters) == len(gram) for known in self._texts):
            return True
        if len(self._cold) >= _MOST_REMEMBERED:
            self._cold.clear()
        self._cold.add(gram)
        return False

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16, salt=self._salt).digest()

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(reasons.words(error)) from error
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unreadable(reasons.words(error)) from error
        try:
            said: dict[str, Any] = upgraded("forgotten", json.loads(content), where=str(self._path))
            self._salt = bytes.fromhex(said["salt"])
            self._sessions = {bytes.fromhex(each) for each in said["sessions"]}
            self._texts = {
                _Text(bytes.fromhex(each["digest"]), each["letters"], each["first"], each["is_id"])
                for each in said["texts"]
            }
        except DocumentError:
            raise
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise self._unreadable("it is broken") from error

    def _write(self) -> None:
        texts = [
            {"digest": each.digest.hex(), "letters": each.letters, "first": each.first, "is_id": each.is_id}
            for each in sorted(self._texts)
        ]
        content = {
            "schema": SCHEMAS["forgotten"],
            "salt": self._salt.hex(),
            "sessions": sorted(each.hex() for each in self._sessions),
            "texts": texts,
        }
        files.make_folder(self._path.parent)
        files.write_file(self._path, json.dumps(content, indent=1).encode())
        self._stamp = self._stamp_now()

    def _unreadable(self, reason: str) -> StorageError:
        return DocumentError(
            f"{self._path}: {reason}. It says what must not be read in again, so nothing is read in until it is mended or"
            " deleted.",
            path=self._path,
        )
