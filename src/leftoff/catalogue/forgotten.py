"""What the user had leftoff forget: sessions that are never indexed again, and texts that are masked wherever they occur.

It is stored in a file beside the library, because the library may be deleted and rebuilt. The file contains no plain text:
of a session the salted digest of its id; of a text the salted digest and number of its letters, and eight bits of the digest
of its first letters, by which most positions of another text are ruled out quickly.

Texts are compared by their letters and digits alone, in one case and without accents: spacing, punctuation and line ends
make no difference. A text that was copied from raw JSON is also looked for with its escapes decoded.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from leftoff.catalogue.database import FORGOTTEN_FILE
from leftoff.core.wire import SCHEMAS, upgrade_document
from leftoff.errors import DocumentError, StorageError, describe_os_error
from leftoff.platform import clock, files

MASK = "[forgotten]"
_MAX_BYTES = 64 * 1024 * 1024  # of the file
_GRAM = 4  # number of letters that are looked up first
_MAX_RULED_OUT = 500_000
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_SHORT = 4  # letters; a shorter text counts only as a whole word
_MIN_DECODED = (
    8  # letters of a text with decoded escapes: ``D:\\notes`` would become ``dotes``, a part of other words
)
_SPACED = re.compile(r"[0-9A-Za-z\u00c0-\u024f\u0370-\u052f]")


class _Text(NamedTuple):
    digest: bytes
    letters: int
    first: int  # eight bits of the digest of its first letters
    is_id: bool


class Forgotten:
    """The sessions and texts that must not get into the library in ``folder``."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder, FORGOTTEN_FILE)
        self._stamp = self._stamp_now()
        self._sessions: set[bytes] = set()
        self._texts: set[_Text] = set()
        self._salt = os.urandom(16)
        self._ruled_out: set[str] = set()
        self._read()

    def has_changed(self) -> bool:
        """Whether the file has changed since it was read."""
        return self._stamp_now() != self._stamp

    def includes_session(self, session_id: str | None) -> bool:
        """Whether the session was forgotten."""
        return bool(self._sessions) and session_id is not None and self._digest(session_id) in self._sessions

    @property
    def is_empty(self) -> bool:
        """Whether no text and no session id is to be masked."""
        return not self._texts

    def occurs_in(self, text: str) -> bool:
        """Whether ``text`` contains a forgotten text or session id."""
        return bool(self._find(text))

    def mask(self, text: str) -> str:
        """Return ``text`` with every forgotten text and session id masked."""
        return replace_spans(text, self._find(text), MASK)

    def mask_truncated(self, text: str) -> str:
        """Mask a text that was cut off at its end, and remove as much of that end as may be the beginning of a forgotten text."""
        most = max((known.letters for known in self._texts), default=1) - 1
        masked = self.mask(text)
        return masked[: letter_positions(masked)[-most:][0]] if most and letters_only(masked) else masked

    def text_occurs_in(self, texts: Iterable[str]) -> bool:
        """Whether any of ``texts`` contains a forgotten text; ids of forgotten sessions do not count."""
        if all(known.is_id for known in self._texts):
            return False
        return any(not known.is_id for text in texts for *_, known in self._matches(text))

    def any_occurs_in(self, texts: Iterable[str | None]) -> bool:
        """Whether any of ``texts`` contains a forgotten text or session id."""
        return bool(self._texts) and any(self._find(text) for text in texts if text)

    def mentions_session_in(self, texts: Iterable[str]) -> bool:
        """Whether any of ``texts`` contains the id of a forgotten session."""
        if not any(known.is_id for known in self._texts):
            return False
        return any(known.is_id for text in texts for *_, known in self._matches(text))

    @property
    def has_texts(self) -> bool:
        """Whether any text was forgotten, apart from session ids."""
        return any(not known.is_id for known in self._texts)

    def add_sessions(self, session_ids: Collection[str]) -> None:
        """Remember these sessions, so that they are not indexed again and their ids are masked in other texts."""
        for session_id in session_ids:
            self._sessions.add(self._digest(session_id))
            if clock.is_uuid(session_id):
                self._add(letters_only(session_id), is_id=True)
        if session_ids:
            self._write()

    def add_text(self, text: str) -> None:
        """Remember a text, so that it is masked from now on; a text without letters and digits is not remembered."""
        known = [letters for _, letters in spellings(text) if letters]
        for letters in known:
            self._add(letters, is_id=False)
        if known:
            self._write()

    def _add(self, letters: str, *, is_id: bool) -> None:
        first = self._digest(letters[:_GRAM])[0]
        self._texts.add(_Text(self._digest(letters), len(letters), first, is_id))
        self._ruled_out.clear()

    def _find(self, text: str) -> list[tuple[int, int]]:
        return [(start, end) for start, end, _ in self._matches(text)] if self._texts else []

    def _matches(self, text: str) -> Iterator[tuple[int, int, _Text]]:
        """Yield start, end and text of each match, in order. Only positions that begin like a forgotten text are digested."""
        letters = letters_only(text)
        found = sorted(
            (at, -known.letters, known)
            for at in {at for size in self._sizes() for at in self._candidates(letters, size)}
            for known in self._texts
            if self._digest(letters[at : at + known.letters]) == known.digest
        )
        origins, past = letter_positions(text) if found else [], 0
        for at, _, known in found:
            start, end = origins[at], origins[at + known.letters - 1] + 1
            if at >= past and is_whole_match(text, start, end, known.letters):
                past = at + known.letters
                yield start, end, known

    def _sizes(self) -> set[int]:
        return {min(_GRAM, known.letters) for known in self._texts}

    def _candidates(self, letters: str, size: int) -> Iterator[int]:
        """Yield the positions at which a forgotten text may begin."""
        grams = {letters[at : at + size] for at in range(len(letters) - size + 1)}
        for gram in grams - self._ruled_out:
            if self._may_begin(gram):
                at = letters.find(gram)
                while at >= 0:
                    yield at
                    at = letters.find(gram, at + 1)

    def _may_begin(self, gram: str) -> bool:
        """Whether a forgotten text may begin with ``gram``; those ruled out are cached, because they recur."""
        bits = self._digest(gram)[0]
        if any(known.first == bits and min(_GRAM, known.letters) == len(gram) for known in self._texts):
            return True
        if len(self._ruled_out) >= _MAX_RULED_OUT:
            self._ruled_out.clear()
        self._ruled_out.add(gram)
        return False

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16, salt=self._salt).digest()

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(describe_os_error(error)) from error
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> None:
        try:
            content = files.read_regular_file(self._path, _MAX_BYTES)
        except FileNotFoundError:
            return
        except StorageError as error:
            raise self._unreadable(error.message.removeprefix(f"{self._path}: ").removesuffix(".")) from error
        try:
            said: dict[str, Any] = upgrade_document("forgotten", json.loads(content), where=str(self._path))
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
            f"{self._path}: {reason}. It says what must not be read again, so nothing is read until you repair or"
            " delete it.",
            path=self._path,
        )


class _Letters(dict[int, str]):
    """The normalised form of each character, computed when it is first needed."""

    def __missing__(self, code: int) -> str:
        whole = unicodedata.normalize("NFKD", chr(code).casefold())
        self[code] = "".join(letter for letter in whole if letter.isalnum())
        return self[code]


_LETTERS = _Letters()


def letters_only(text: str) -> str:
    """Return the letters and digits of ``text`` in lower case and without accents."""
    if text.isascii():
        return text.lower().encode().translate(None, _SIGNS).decode()
    return text.translate(_LETTERS)


def spellings(text: str) -> tuple[tuple[str, str], ...]:
    """Return the text as typed, as in a URL, and, if it may come from JSON, with its escapes decoded; each with its letters.

    The letters are empty where the decoded text has too few of them to be compared by letters alone.
    """
    typed = [(text, letters_only(text))]
    if " " in text:
        encoded = text.replace(" ", "%20")
        typed.append((encoded, letters_only(encoded)))
    try:
        read = str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text
    except ValueError:
        return tuple(typed)
    letters = letters_only(read)
    if letters not in {"", typed[0][1]}:
        typed.append((read, letters if len(letters) >= _MIN_DECODED else ""))
    return tuple(typed)


def letter_positions(text: str) -> list[int]:
    """Return the position in ``text`` of each letter of ``letters_only(text)``."""
    return [at for at, letter in enumerate(text) for _ in _LETTERS[ord(letter)]]


def find_letters(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of the letters ``wanted`` in ``text``, in order."""
    reduced = letters_only(text)
    at = reduced.find(wanted) if wanted else -1
    if at < 0:
        return
    origins = letter_positions(text)
    while at >= 0:
        start, end = origins[at], origins[at + len(wanted) - 1] + 1
        counts = is_whole_match(text, start, end, len(wanted))
        if counts:
            yield start, end
        at = reduced.find(wanted, at + (len(wanted) if counts else 1))


def is_whole_match(text: str, start: int, end: int, letters: int) -> bool:
    """Whether a match counts: a text of few letters only as a whole word, a longer one anywhere."""
    if letters >= _SHORT or not _SPACED.match(text[start]):
        return True
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return not any(letter.isalnum() for letter in around)


def replace_spans(text: str, found: list[tuple[int, int]], mask: str) -> str:
    """Return ``text`` with the mask in place of each of these spans, which are in order."""
    for start, end in reversed(found):
        text = text[:start] + mask + text[end:]
    return text
