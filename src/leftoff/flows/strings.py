"""The strings of a document, and the same document with other strings: what is JSON or YAML stays so."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

_LINES = {".jsonl"}


def strings_in(line: bytes) -> Iterator[str]:
    """Every string of a line of JSON, keys too; the line itself where it is no JSON."""
    text = line.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield text
        return
    yield from _strings(value)


def rewritten(content: bytes, suffix: str, change: Callable[[str], str]) -> bytes:
    """The document with each of its strings changed: the very same bytes where that changes nothing."""
    if suffix == ".json":
        return _json(content, change)
    if suffix in _LINES:
        return b"".join(_json(line, change) for line in content.splitlines(keepends=True))
    if suffix in {".yaml", ".yml"}:
        return _yaml(content, change)
    return _plain(content, change)


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """A value of JSON with each string in it changed."""
    match value:
        case str():
            return change(value)
        case list():
            return [changed(each, change) for each in value]
        case dict():
            return {changed(key, change): changed(each, change) for key, each in value.items()}
        case _:
            return value


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
        value = json.loads(content)
        after = changed(value, change)
    except (ValueError, RecursionError):
        return _plain(content, change)
    if after == value:
        return content
    body, end = content.rstrip(), content[len(content.rstrip()) :]
    indent = 2 if b"\n" in body else None
    return json.dumps(after, ensure_ascii=False, indent=indent).encode("utf-8", "surrogatepass") + end


def _yaml(content: bytes, change: Callable[[str], str]) -> bytes:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where there is a document of that kind
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    yaml = YAML(typ="safe")
    yaml.default_flow_style, yaml.allow_unicode = False, True
    try:
        value = yaml.load(content.decode())
        after = changed(value, change)
    except (YAMLError, UnicodeDecodeError, RecursionError, TypeError):
        return _plain(content, change)
    if after == value:
        return _plain(content, change) if value is None else content
    written = io.BytesIO()
    yaml.dump(after, written)
    return written.getvalue()
