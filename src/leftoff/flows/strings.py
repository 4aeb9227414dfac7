"""The strings of a document, and the same document with other strings: what is JSON or YAML stays so, and what is form stays."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from leftoff.flows.own_words import Masking, changed, changed_line, changed_markdown

_LINES = {".jsonl"}
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*\n?", re.MULTILINE)
# Lines of YAML: comments that stand below each other are one text.
_RUN = re.compile(r"(?P<comments>(?:^[ \t]*#.*(?:\n(?:[ \t\r]*\n)*|\Z))+)|^.*(?:\n|\Z)", re.MULTILINE)


def strings_in(line: bytes) -> Iterator[str]:
    """Every string of a line of JSON, keys and numbers too; the line itself where it is no JSON, or names a key twice."""
    text = line.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        yield text
        return
    yield from _strings(value)


def rewritten(content: bytes, suffix: str, change: Masking) -> bytes:
    """The document with each of its strings changed, but for what is form: the very same bytes where that changes nothing."""
    if suffix == ".json":
        return _json(content, change)
    if suffix in _LINES:
        return b"".join(_json(line, change) for line in content.splitlines(keepends=True))
    if suffix in {".yaml", ".yml"}:
        return _yaml(content, change)
    if suffix == ".md":
        front = partial(_front, change=change)
        return _plain(content, partial(changed_markdown, change=change, changed_front=front))
    return _plain(content, change)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """ValueError for a key that stands twice: one value would hide the other."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a key stands twice")
    return entries


def _front(text: str, change: Masking) -> str:
    return _yaml(text.encode("utf-8", "surrogateescape"), change).decode("utf-8", "surrogateescape")


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _strings(each)
        case dict():
            yield from (str(key) for key in value)
            yield from _strings([*value.values()])
        case _:
            return


def _plain(content: bytes, change: Callable[[str], str]) -> bytes:
    text = content.decode("utf-8", "surrogateescape")
    after = change(text)
    return content if after == text else after.encode("utf-8", "surrogateescape")


def _json(content: bytes, change: Callable[[str], str]) -> bytes:
    try:
        value = json.loads(content, object_pairs_hook=_distinct)
        after = changed(value, change)
    except (ValueError, RecursionError):
        return _plain(content, change)
    if after == value:
        return content
    body, end = content.rstrip(), content[len(content.rstrip()) :]
    indent = 2 if b"\n" in body else None
    return json.dumps(after, ensure_ascii=False, indent=indent).encode("utf-8", "surrogatepass") + end


def _yaml(content: bytes, change: Masking) -> bytes:
    """Only what has to change, wherever that leaves the values as they must be: comments, order and layout are somebody's."""
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - only where there is a document of that kind

    try:
        text = content.decode()
        value = _loaded(text)
        after = changed(value, change)
    except (YAMLError, ValueError, RecursionError, TypeError):
        return _plain(content, change)
    if after == value and not _in_comments(text, change):
        return content
    for change_line in (partial(changed_line, change=change), change):  # in a block of text nothing is quoted
        runs = ((change if run["comments"] else change_line)(run[0]) for run in _RUN.finditer(text))
        clean = "".join(runs)
        with suppress(YAMLError, ValueError, TypeError):
            if _loaded(clean) == after and not _in_comments(clean, change):
                return clean.encode()
    return _dumped(after)


def _in_comments(text: str, change: Callable[[str], str]) -> bool:
    """Whether the comments, read one behind the other, hold it."""
    comments = "".join(_COMMENT.findall(text))
    return change(comments) != comments


def _loaded(text: str) -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415

    return YAML(typ="safe").load(text)


def _dumped(value: Any) -> bytes:
    from ruamel.yaml import YAML  # noqa: PLC0415

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style, yaml.allow_unicode = False, True
    yaml.representer.sort_base_mapping_type_on_output = False
    written = io.BytesIO()
    yaml.dump(value, written)
    # It ends a text that stands alone, as between two rules of Markdown: there it would be a text too.
    return written.getvalue().removesuffix(b"...\n")
