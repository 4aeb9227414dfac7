"""Nodes of YAML as plain values, and plain values as YAML on one line. Nothing is constructed but text, numbers, true, false, null.

A text can come from anywhere: aliases that multiply and nodes that hold themselves are refused before anybody follows them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from leftoff.projects.values import Plain

TAG = "tag:yaml.org,2002:"
_LONGEST_NUMBER = 40
_MOST_NODES = 50_000
_DEEPEST = 64
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#(?=([^\r\n]*))", re.MULTILINE)
Quote = Literal["'", '"'] | None


def require_finite(root: Any) -> None:
    """ValueError, with words, where following the aliases would take too long or never end."""
    left, rest = _MOST_NODES, [(root, 0)]
    while rest:
        node, depth = rest.pop()
        left -= 1
        if depth > _DEEPEST:
            raise ValueError("holds itself, or is nested too deep")
        if left < 0:
            raise ValueError("repeats its aliases without end")
        rest += [(each, depth + 1) for each in _inside(node)]


def plain(node: Any) -> Plain:
    """A node as a plain value."""
    if node.id == "scalar":
        return _number(node.tag.removeprefix(TAG), node.value)
    if node.id == "sequence":
        return [plain(each) for each in node.value]
    return {
        str(key.value) if key.id == "scalar" else f"(a {key.id})": plain(value) for key, value in node.value
    }


def pairs(node: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs of a mapping, or of a list of mappings."""
    for part in [node] if node.id == "mapping" else node.value:
        if part.id == "mapping":
            yield from part.value


def last_index(node: Any) -> int:
    """Where the last character of a node stands: the end of a block counts what comes after it."""
    while node.id != "scalar" and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(max(node.start_mark.index, node.end_mark.index - 1))


def comments(text: str, start: int, end: int, node: Any) -> list[str]:
    """The comments in a stretch of the text, which holds the node; what stands in its words is none."""
    spans = [(each.start_mark.index, each.end_mark.index) for each in _scalars(node)]
    told: list[str] = []
    line_end = start
    for found in _COMMENT.finditer(text, start, end):
        at = found.start()
        if at >= line_end and not any(one <= at < other for one, other in spans):
            told.append(f"#{found[1]}".rstrip())
            line_end = found.end(1)
    return told


def emitted(key: str, value: Plain, newline: str) -> str:
    """The key with its value, as new lines; a mapping of flags as the list of 001."""
    if isinstance(value, dict):
        return f"{key}:{newline}{flag_lines(value, '  - ', newline)}"
    if isinstance(value, list):
        items = "".join(f"  - {scalar_text(each)}{newline}" for each in value)
        return f"{key}:{newline}{items}" if items else f"{key}: []{newline}"
    text = scalar_text(value)
    return f"{key}: {text}{newline}" if text else f"{key}:{newline}"


def flag_lines(flags: Mapping[str, Plain], before: str, newline: str) -> str:
    """One line for each flag that is known."""
    known = {name: value for name, value in flags.items() if value is not None}
    return "".join(f"{before}{name}: {scalar_text(value)}{newline}" for name, value in known.items())


def scalar_text(value: Plain, quote: Quote = None) -> str:
    """The value on one line, as ruamel writes it."""
    if value is None:
        return "null"
    if isinstance(value, str) and quote is None and _MOMENT.fullmatch(value):
        return value  # as 001 writes it; it is read as text either way
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString  # noqa: PLC0415

    given: Any = value
    if isinstance(value, str):
        is_odd = not value.isprintable() or "\ufeff" in value
        if is_odd or quote == '"':
            given = DoubleQuotedScalarString(value)
        elif quote == "'":
            given = SingleQuotedScalarString(value)
    yaml = YAML()
    yaml.width = 2**30
    yaml.allow_unicode = True
    out = io.StringIO()
    yaml.dump([given], out)
    return out.getvalue().removeprefix("- ").rstrip("\n")


def _inside(node: Any) -> list[Any]:
    if node.id == "scalar":
        return []
    return [*node.value] if node.id == "sequence" else [each for pair in node.value for each in pair]


def _scalars(node: Any) -> Iterator[Any]:
    if node.id == "scalar":
        yield node
    for each in _inside(node):
        yield from _scalars(each)


def _number(kind: str, text: str) -> Plain:
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind in {"int", "float"} and len(text) <= _LONGEST_NUMBER:
        for read in (int, float) if kind == "int" else (float,):
            try:
                return read(text.replace("_", ""))
            except ValueError:
                continue
    return str(text)
