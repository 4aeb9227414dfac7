"""The YAML front matter of a resume state: read safely, changed one key at a time.

A changed key goes through ruamel's round trip with its own lines; all other lines keep their bytes. (A round trip of the whole
text would reformat it, and would lose comments between two keys, which ruamel attaches to the value before them.) After every
change the text is read again, and a change that would touch another key is refused.

The text can come from anywhere: reading creates nothing but text, numbers, true, false and null, and refuses aliases that
multiply. The module is imported on first use, because ruamel.yaml is slow to import and most commands have no project.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from leftoff.config.yaml_entries import LONGEST_NUMBER, TAG
from leftoff.errors import DocumentError
from leftoff.projects.project_state import Plain

LARGEST_CHARS = 64 * 1024
_DEEPEST = 24
_DEEPEST_VALUE = 64
_MOST_NODES = 50_000
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class FrontMatter:
    """The text of a block mapping. ``where`` names its file in errors, ``first_line`` is its first line in that file."""

    text: str
    where: str
    first_line: int = 1

    @property
    def values(self) -> dict[str, Plain]:
        """All keys with their values."""
        return {key: _plain(value) for key, (_, value) in self._nodes.items()}

    @property
    def lines(self) -> dict[str, int]:
        """The line of each key in its file, counted from 1."""
        return {key: node.start_mark.line + self.first_line for key, (node, _) in self._nodes.items()}

    def entry(self, key: str) -> str:
        """Return the lines of a key with its value and comments; "" for a missing key."""
        return self.text[slice(*self._span(key))] if key in self._nodes else ""

    def with_entry(self, key: str, lines: str, order: Sequence[str]) -> FrontMatter:
        """Replace the lines of a key, or add them where ``order`` puts that key."""
        if self._nodes and self._root().flow_style:
            verb = "changed" if key in self._nodes else "added"
            raise self._error(f"is not written one key to a line, so none can be {verb}", 1)
        start, end = self._span(key) if key in self._nodes else 2 * (self._place(key, order),)
        before = self.text[:start]
        gap = self._newline if before and not before.endswith("\n") else ""
        return replace(self, text=before + gap + lines + self.text[end:])

    def with_values(self, changes: Mapping[str, Plain], order: Sequence[str]) -> FrontMatter:
        """Set these keys; ``order`` says where a new key goes."""
        changed = self
        for key, value in changes.items():
            changed = changed._with_value(key, value, order)
        return changed

    def _with_value(self, key: str, value: Plain, order: Sequence[str]) -> FrontMatter:
        """Set one key by a round trip of its lines; rewrite them if ruamel cannot load or place them."""
        if not _differs(self.values.get(key), value) and key in self._nodes:
            return self
        attempts = [self._round_trip(key, value)] if key in self._nodes else []
        if not isinstance(value, dict) or self.values.get(key) is None:
            attempts.append(_dump({key: _writable(value)}))
        problem = f"says {key} in a way that cannot be changed"
        for lines in attempts:
            if lines is None:
                continue
            changed = self.with_entry(key, lines.replace("\n", self._newline), order)
            changed = changed._with_comments(key, self._comments(key))
            lost = self._first_loss(changed, key)
            if lost is None and not _differs(changed.values[key], value):
                return changed
            problem = lost or problem
        raise self._error(problem, self.lines.get(key, self.first_line) - self.first_line + 1)

    def _round_trip(self, key: str, value: Plain) -> str | None:
        """Return the changed lines as ruamel writes them; None if they do not load alone (an alias, an impossible date)."""
        _, node = self._nodes[key]
        yaml = _yaml()
        if node.id == "sequence" and not node.flow_style:
            column = node.start_mark.column
            yaml.indent(sequence=column + 2, offset=column)
        elif node.id == "mapping" and not node.flow_style:
            yaml.indent(mapping=node.start_mark.column or 2, sequence=4, offset=2)
        try:
            entry = yaml.load(self.entry(key).replace("\r\n", "\n"))
            (name,) = entry
        except Exception:  # noqa: BLE001 - ruamel raises many kinds of errors for odd texts
            return None
        entry[name] = _merged(entry[name], value)
        beside = entry.ca.items.get(name, [None] * 3)[2]
        if beside is not None and not isinstance(entry[name], list | dict):
            beside.start_mark.column, beside.value = 0, f" {beside.value}"  # ruamel adds one more space
        return _dump(entry, yaml)

    def _with_comments(self, key: str, wanted: Counter[str]) -> FrontMatter:
        """Put back, below the entry, the comments that the change dropped."""
        try:
            dropped = wanted - self._comments(key)
        except DocumentError:
            return self
        lines = "".join(f"  {comment}{self._newline}" for comment in dropped.elements())
        return self.with_entry(key, self.entry(key) + lines, ()) if lines else self

    def _first_loss(self, changed: FrontMatter, key: str) -> str | None:
        """Return what the change would do to other keys, as part of a sentence; None if it does no harm."""
        try:
            after = changed.values
        except DocumentError:
            return f"would be broken by setting {key}"
        before = self.values
        lost = next((name for name in before if name != key and before[name] != after.get(name, ...)), None)
        return None if lost is None else f"would lose {lost} by setting {key}"

    def _comments(self, key: str) -> Counter[str]:
        """Return the comments in the lines of a key; a # inside a text is not one."""
        if key not in self._nodes:
            return Counter()
        start, end = self._span(key)
        text = self.text
        for node in _scalars(self._nodes[key][1]):
            first, last = node.start_mark.index, node.end_mark.index
            if node.style in {"|", ">"}:  # a comment may follow the indicator of a block text
                first = text.index("\n", first)
            text = text[:first] + re.sub(r"[^\n]", "x", text[first:last]) + text[last:]
        return Counter(comment.rstrip() for comment in _COMMENT.findall(text[start:end]))

    def _span(self, key: str) -> tuple[int, int]:
        """Return where the lines of a key begin and end; blank lines and comments at the margin after it are not its own."""
        start = self._line_start(self._nodes[key][0].start_mark.index)
        starts = (self._line_start(node.start_mark.index) for node, _ in self._nodes.values())
        limit = min((other for other in starts if other > start), default=len(self.text))
        lines = self.text[start:limit].splitlines(keepends=True)
        while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
            lines.pop()
        return start, start + sum(map(len, lines))

    def _place(self, key: str, order: Sequence[str]) -> int:
        """Return the place of a new key: after the nearest key before it in ``order``, else before the nearest after it."""
        at = order.index(key)
        before = next((name for name in reversed(order[:at]) if name in self._nodes), None)
        if before is not None:
            return self._span(before)[1]
        after = next((name for name in order[at + 1 :] if name in self._nodes), None)
        return len(self.text) if after is None else self._span(after)[0]

    @cached_property
    def _nodes(self) -> dict[str, tuple[Any, Any]]:
        """The nodes of each key and its value, in the order of the text."""
        root = self._root()
        if root is None or (root.id == "scalar" and root.tag == f"{TAG}null"):
            return {}
        if root.id != "mapping":
            raise self._error("is not made of keys and values", 1)
        try:
            _require_finite(root)
        except ValueError as error:
            raise self._error(str(error), 1) from error
        nodes: dict[str, tuple[Any, Any]] = {}
        for key, value in root.value:
            name = _name(key)
            if key.id == "scalar" and name in nodes:
                raise self._error(f"says {name[:40]} twice", key.start_mark.line + 1)
            nodes[name] = key, value
        return nodes

    def _root(self) -> Any:
        if len(self.text) > LARGEST_CHARS:
            raise self._error(f"is longer than {LARGEST_CHARS:,} characters", 1)
        if not self.text.strip():
            return None
        try:
            return _compose(self.text)
        except Exception as error:  # ruamel raises many kinds of errors for odd texts
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
            raise self._error(f"is not YAML: {problem}", 1 if mark is None else mark.line + 1) from error

    def _error(self, problem: str, line: int) -> DocumentError:
        at = line + self.first_line - 1
        return DocumentError(
            f"{self.where}: line {at}: the front matter {problem}. Nothing was changed.",
            path=self.where,
            line=at,
        )

    @property
    def _newline(self) -> str:
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1


def scalar_text(value: Plain) -> str:
    """Return a value as YAML on one line."""
    return _dump([_writable(value)]).strip().removeprefix("- ")


@lru_cache(maxsize=16)
def _compose(text: str) -> Any:
    """Return the nodes of a text; cached, because a command reads the same few texts several times."""
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = _DEEPEST
    yaml.composer.warn_double_anchors = False
    return yaml.compose(text)


def _require_finite(root: Any) -> None:
    """Raise ValueError if following the aliases would take too long or never end."""
    left, rest = _MOST_NODES, [(root, 0)]
    while rest:
        node, depth = rest.pop()
        left -= 1
        if depth > _DEEPEST_VALUE:
            raise ValueError("holds itself, or is nested too deep")
        if left < 0:
            raise ValueError("repeats its aliases without end")
        rest += [(child, depth + 1) for child in _children(node)]


def _children(node: Any) -> list[Any]:
    if node.id == "scalar":
        return []
    return [*node.value] if node.id == "sequence" else [child for pair in node.value for child in pair]


def _scalars(node: Any) -> Iterator[Any]:
    if node.id == "scalar":
        yield node
    for child in _children(node):
        yield from _scalars(child)


def _plain(node: Any) -> Plain:
    """Return a node as a plain value."""
    if node.id == "scalar":
        return _plain_scalar(node.tag.removeprefix(TAG), node.value)
    if node.id == "sequence":
        return [_plain(child) for child in node.value]
    return {_name(key): _plain(value) for key, value in node.value}


def _plain_scalar(kind: str, text: str) -> Plain:
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind in {"int", "float"} and len(text) <= LONGEST_NUMBER:
        for read in (int, float) if kind == "int" else (float,):
            try:
                return read(text.replace("_", ""))
            except ValueError:
                continue
    return str(text)


def _name(key: Any) -> str:
    return str(key.value) if key.id == "scalar" else f"(a {key.id})"


def _differs(current: Plain, wanted: Plain) -> bool:
    """Return whether a value has to be changed; of flags, only those with a known value count."""
    if not isinstance(wanted, dict):
        return type(current) is not type(wanted) or current != wanted
    flags: dict[str, Plain] = {}
    for part in current if isinstance(current, list) else [current]:
        flags |= part if isinstance(part, dict) else {}
    return any(flags.get(name) != value for name, value in wanted.items() if value is not None)


def _merged(current: Any, value: Plain) -> Any:
    """Return the new value with the style and comments of the current one."""
    if isinstance(value, dict) and isinstance(current, list | dict):
        return _with_flags(current, value)
    if isinstance(value, list) and isinstance(current, CommentedSeq):
        items = CommentedSeq(map(_writable, value))
        if current.fa.flow_style():
            items.fa.set_flow_style()
        items.ca.comment = current.ca.comment
        places = {str(item): place for place, item in enumerate(current)}
        for place, item in enumerate(value):
            if str(item) in places:
                items[place] = current[places[str(item)]]
                items.ca.items[place] = current.ca.items.get(places[str(item)])
        return items
    return _writable(value)  # ruamel itself keeps the quotes of a text


def _with_flags(current: Any, flags: Mapping[str, Plain]) -> Any:
    """Set flags in a mapping or a list of mappings; a new flag goes to its end."""
    parts = [part for part in (current if isinstance(current, list) else [current]) if isinstance(part, dict)]
    for name, value in flags.items():
        holders = [part for part in parts if name in part]
        if value is None:
            continue
        if not holders and isinstance(current, list):
            current.append(CommentedMap({name: value}))
        for holder in holders or ([current] if isinstance(current, dict) else []):
            holder[name] = value
    return current


def _writable(value: Plain) -> Any:
    """Return a value as ruamel should write it: on one line, timestamps without quotes, flags as a list."""
    if isinstance(value, dict):
        return [{name: flag} for name, flag in value.items() if flag is not None]
    if isinstance(value, list):
        return [item if isinstance(item, dict) else _writable(item) for item in value]
    if isinstance(value, str) and _TIMESTAMP.fullmatch(value):
        return _Timestamp(value)
    if isinstance(value, str) and not value.isprintable():
        return DoubleQuotedScalarString(value)
    return value


def _dump(value: Any, yaml: YAML | None = None) -> str:
    out = io.StringIO()
    (yaml or _yaml()).dump(value, out)
    text = out.getvalue()
    return text if text.endswith("\n") else f"{text}\n"


def _yaml() -> YAML:
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.allow_duplicate_keys = True
    yaml.allow_unicode = True
    yaml.width = 2**30
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


class _Timestamp(str):
    """A text that YAML takes for a timestamp, written without quotes; it is read as text either way."""

    __slots__ = ()


class _Representer(RoundTripRepresenter):
    """ruamel's representer, with ``null`` spelled out."""


_Representer.add_representer(type(None), lambda self, _: self.represent_scalar(f"{TAG}null", "null"))
_Representer.add_representer(
    _Timestamp, lambda self, value: self.represent_scalar(f"{TAG}timestamp", str(value))
)
