"""Mask matches in leftoff's own files, each according to its format, so that every document stays valid.

In JSON and YAML values are masked and the keys of our formats stay; in Markdown the headings and labels stay by which leftoff
reads a document again. A file that cannot be parsed is treated as plain text. SQLite files are only read here.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import stat
import zlib
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from leftoff.archive.file_texts import distinct_keys
from leftoff.catalogue.database import FILE_NAME as LIBRARY
from leftoff.catalogue.database import FORGOTTEN_FILE
from leftoff.chat.page import END, START
from leftoff.errors import StorageError
from leftoff.forget.matcher import Matcher
from leftoff.forget.places import document_of
from leftoff.pause.folders import PAUSES
from leftoff.platform import clock, files, paths
from leftoff.platform.register import Register
from leftoff.projects.body import CRITICAL, FILES, LISTS, NOTES
from leftoff.projects.progress import TO_DO
from leftoff.resume_logs.pins import FOLDER as PINS
from leftoff.search.documents import is_pause

_GZIP = ".gz"
_MAX_BYTES = 256 * 1024 * 1024  # of a file, also unpacked; one of ours is never as large
_LISTS = {".jsonl", ".log", ".1"}
# The first bytes of a SQLite database, of its rollback journal, and of its write-ahead log in either byte order.
_SQLITE = (
    b"SQLite format 3\0",
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
    b"\x37\x7f\x06\x82",
    b"\x37\x7f\x06\x83",
)
_SQLITE_LOG = re.compile(r"-(?:wal|shm|journal)\Z")
_KEY = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")  # a key of our formats; any other key is content
_FREE_KEYS = {"critical_context", "args", "hashes"}  # all keys below these are content
_FIXED_VALUES = {"standing", "type", "derivation", "basis", "window_basis", "threshold_reached"}
_CHAT_LABELS = (
    *("Session ID", "Date", "Agent", "Agent Path", "Total Queries", "Resumed From", "Previous Session"),
    *("Context", "You", "Background Context", "Current Session Summary", "Topics Discussed"),
    *("Decisions Made", "Pending"),
)
_LABELS = "|".join(map(re.escape, {*_CHAT_LABELS, *(label for _, label in LISTS.values())}))
_HEADINGS = "|".join(map(re.escape, (CRITICAL, FILES, *NOTES)))
_COMMENTS = "|".join(map(re.escape, (START, END, TO_DO)))
_MARKDOWN = re.compile(
    rf"^(?:\*\*(?:{_LABELS}):?\*\*:?|## +(?:{_HEADINGS})[ \t#]*$|# Session Resume Log: |{_COMMENTS}"
    r"|<!-- leftoff: chat, schema \d{1,3} -->)",
    re.MULTILINE,
)
_FRONT_MATTER = re.compile(r"\A---\r?\n(?P<yaml>.*?)^---\r?$", re.MULTILINE | re.DOTALL)
_YAML_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)


def holds(path: Path, matcher: Matcher) -> bool:
    """Whether a file holds a match; the library and the archive have their own ways of looking."""
    if is_text(path):
        content = read(path)
        return mask_content(content, _suffix(path), matcher) != content
    is_database = is_regular(path) and (path.suffix == ".sqlite" or _is_sqlite(path))
    return (
        is_database and path == database_of(path) and path.name != LIBRARY and _database_holds(path, matcher)
    )


def mask(path: Path, matcher: Matcher, *, in_register: bool = True) -> None:
    """Mask all matches in a file. A document that this machine wrote, or that the user trusts, stays one in the register."""
    content = mask_content(read(path), _suffix(path), matcher)
    register = Register(folder=paths.data_folder())
    # The register must not get a path with a match again.
    has_entry = in_register and path.suffix in {".md", ".json", ".yaml"} and not matcher.is_in(str(path))
    standing = register.standing(path) if has_entry else "foreign"
    files.write_file(path, gzip.compress(content, mtime=0) if path.suffix == _GZIP else content)
    if standing in {"written", "edited"}:
        register.note_written(path, path.stem.removeprefix("session-"), clock.now())
    elif standing == "trusted":
        register.trust(path, clock.now())


def drop_lines(path: Path, matcher: Matcher) -> None:
    """Delete the lines of a list that hold a match."""
    lines = read(path).splitlines(keepends=True)
    files.write_file(
        path, b"".join(line for line in lines if mask_content(line, path.suffix, matcher) == line)
    )


def is_list(path: Path) -> bool:
    """Whether a line that names a session or project is of no use without it.

    The lines of a pause belong together, and a pin is what the user said, perhaps about another project.
    """
    whole = paths.state_folder() / PAUSES, paths.data_folder() / PINS
    return path.suffix in _LISTS and not is_pause(path) and path.parent not in whole


def read(path: Path) -> bytes:
    """Return the content of a file, decompressed; empty for what has none: a link, a pipe, a file that is gone."""
    try:
        data = files.read_regular_file(path, _MAX_BYTES) if is_regular(path) else b""
    except FileNotFoundError:
        return b""
    if path.suffix != _GZIP:
        return data
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            plain = packed.read(_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return data
    if len(plain) > _MAX_BYTES:
        raise StorageError(f"{path}: unpacked, it is larger than any file of leftoff.", path=path)
    return plain


def is_regular(path: Path) -> bool:
    """Whether a path is a file with content: reading from a pipe or device might never end, and links lead elsewhere."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_text(path: Path) -> bool:
    """Whether a file can be masked here: it is neither a database nor an archived copy nor the list of what was forgotten."""
    database = database_of(path)
    if path.name == FORGOTTEN_FILE or path.suffix == ".zst" or database.suffix == ".sqlite":
        return False
    return not path.name.startswith(LIBRARY) and not any(_is_sqlite(each) for each in (path, database))


def database_of(path: Path) -> Path:
    """Return the database that a log or journal of SQLite belongs to; any other path unchanged."""
    return path.with_name(_SQLITE_LOG.sub("", path.name))


def _is_sqlite(path: Path) -> bool:
    try:
        if not is_regular(path):
            return False
        with path.open("rb") as file:
            return file.read(16).startswith(_SQLITE)
    except OSError:
        return False


def _database_holds(path: Path, matcher: Matcher) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            rows = (row for (table,) in tables for row in connection.execute(f'SELECT * FROM "{table}"'))
            texts = (
                value.encode("utf-8", "surrogatepass")
                for row in rows
                for value in row
                if isinstance(value, str)
            )
            return any(mask_content(text, ".json", matcher) != text for text in texts)
    except sqlite3.Error:  # not a database after all: every byte counts
        return matcher.is_in(read(path).decode("utf-8", "replace"))


def _suffix(path: Path) -> str:
    return Path(document_of(path).name.removesuffix(_GZIP)).suffix


def mask_content(content: bytes, suffix: str, matcher: Matcher) -> bytes:
    """Return the content of a document with all matches masked, or the same bytes if nothing matches."""
    match suffix:
        case ".json":
            return _mask_json(content, matcher)
        case ".jsonl":
            return b"".join(_mask_json(line, matcher) for line in content.splitlines(keepends=True))
        case ".yaml" | ".yml":
            return _encode(_mask_yaml(_decode(content), matcher))
        case ".md":
            return _encode(_mask_markdown(_decode(content), matcher))
        case _:
            return _encode(matcher.mask(_decode(content)))


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _mask_json(content: bytes, matcher: Matcher) -> bytes:
    try:
        value = json.loads(content, object_pairs_hook=distinct_keys)
        masked = mask_value(value, matcher)
    except (ValueError, RecursionError):
        return _encode(matcher.mask(_decode(content)))
    if masked == value:
        return content
    body = content.rstrip()
    text = json.dumps(masked, ensure_ascii=False, indent=2 if b"\n" in body else None)
    return text.encode("utf-8", "surrogatepass") + content[len(body) :]


def mask_value(value: Any, matcher: Matcher, *, free: bool = False) -> Any:
    """Return a JSON value with masked strings. ``free``: its keys and numbers are a user's text too."""
    match value:
        case str():
            return matcher.mask(value)
        case list():
            return [mask_value(each, matcher, free=free) for each in value]
        case dict():
            return _mask_entries(value, matcher, free=free)
        case int() | float() if free and not isinstance(value, bool) and matcher.is_in(str(value)):
            return matcher.mask(str(value))
        case _:
            return value


def _mask_entries(entries: dict[Any, Any], matcher: Matcher, *, free: bool) -> dict[Any, Any]:
    masked: dict[Any, Any] = {}
    for key, value in entries.items():
        is_fixed = not free and key in _FIXED_VALUES and isinstance(value, str)
        is_text = isinstance(key, str) and (free or not _KEY.fullmatch(key))
        name = base = matcher.mask(key) if is_text else key
        numbers = count(2)
        while name in masked:  # two keys became the same mask, and each keeps its value
            name = f"{base} ({next(numbers)})"
        masked[name] = value if is_fixed else mask_value(value, matcher, free=free or key in _FREE_KEYS)
    return masked


def _mask_yaml(text: str, matcher: Matcher) -> str:
    """Mask values and comments; order, layout and the other comments stay."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to load, and few documents are YAML
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    if not matcher.is_in(text) and "\\" not in text:
        return text
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 4096
    try:
        value = yaml.load(text)
        plain = YAML(typ="safe").load(text)
        if mask_value(plain, matcher) != plain:
            written = io.StringIO()
            yaml.dump(_mask_in_place(value, matcher), written)
            text = written.getvalue().removesuffix("...\n")
    except (YAMLError, ValueError, RecursionError, TypeError):
        return matcher.mask(text)
    return _YAML_COMMENT.sub(lambda comment: matcher.mask(comment[0]), text)


def _mask_in_place(node: Any, matcher: Matcher, *, free: bool = False) -> Any:
    """Mask the values of a loaded YAML document in its own containers, which carry comments and layout."""
    if isinstance(node, list):
        node[:] = [_mask_in_place(each, matcher, free=free) for each in node]
        return node
    if not isinstance(node, dict):
        masked = mask_value(node, matcher, free=free)
        return node if masked == node else masked
    names = _mask_entries(dict.fromkeys(node), matcher, free=free)
    for position, (key, name) in enumerate(zip([*node], names, strict=True)):
        value: Any = node[key]
        if free or key not in _FIXED_VALUES or not isinstance(value, str):
            value = _mask_in_place(value, matcher, free=free or key in _FREE_KEYS)
        if name == key:
            node[key] = value
        else:
            del node[key]
            node.insert(position, name, value)  # type: ignore[attr-defined] # ruamel's mapping keeps an order
    return node


def _mask_markdown(text: str, matcher: Matcher) -> str:
    front = _FRONT_MATTER.match(text)
    if front is None:
        return matcher.mask(text, _MARKDOWN)
    body = matcher.mask(text[front.end("yaml") :], _MARKDOWN)
    return text[: front.start("yaml")] + _mask_yaml(front["yaml"], matcher) + body
