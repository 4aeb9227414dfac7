"""A YAML mapping edited as text: only the characters of the values that change are replaced (L22).

Promises: comments, order, quoting, odd spellings and unknown keys stay as they were, because nobody rewrites them; values are
written by a real emitter; after every edit the text is read again, and an edit that would have changed anything else is
refused. The text can come from anywhere: nothing is constructed from it but text, numbers, true, false and null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from leftoff.errors import DocumentError
from leftoff.projects import yaml_values
from leftoff.projects.values import Plain
from leftoff.projects.yaml_values import Quote, emitted, scalar_text

LARGEST_CHARS = 64 * 1024
_DEEPEST = 24
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARK = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")  # an anchor or a tag before a value
_BLOCK_HEAD = re.compile(
    r"[|>][-+0-9]*[ \t]+(#[^\r\n]*)"
)  # of a text over several lines, with a comment beside it


_ALIAS = re.compile(r"[ \t]*(\*[^\s,\[\]{}]+)")


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


@dataclass(frozen=True, kw_only=True)
class YamlText:
    """The text of a mapping at the left margin; ``first_line`` is where it stands in its file."""

    text: str
    where: str
    first_line: int = 1

    @cached_property
    def _nodes(self) -> dict[str, tuple[Any, Any]]:
        """Key → the nodes of key and value, in the order of the text."""
        root = self._tree()
        if root is None or (root.id == "scalar" and root.tag == f"{yaml_values.TAG}null"):
            return {}
        if root.id != "mapping":
            raise self._trouble("is not made of keys and values", 1)
        try:
            yaml_values.require_finite(root)
        except ValueError as error:
            raise self._trouble(str(error), 1) from error
        found: dict[str, tuple[Any, Any]] = {}
        for key, value in root.value:
            if key.id == "scalar" and key.value in found:
                raise self._trouble(f"says {key.value[:40]} twice", key.start_mark.line + 1)
            found[key.value if key.id == "scalar" else f"(a {key.id})"] = key, value
        return found

    @property
    def values(self) -> dict[str, Plain]:
        """What it says."""
        return {key: yaml_values.plain(value) for key, (_, value) in self._nodes.items()}

    @property
    def lines(self) -> dict[str, int]:
        """Where each key stands in its file, 1-based."""
        return {key: node.start_mark.line + self.first_line for key, (node, _) in self._nodes.items()}

    def raw(self, key: str) -> str:
        """All lines of a key with its value and comments, as they stand; "" where it is not there."""
        span = self._extent(key) if key in self._nodes else (0, 0)
        return self.text[slice(*span)]

    def with_lines(self, key: str, lines: str, order: Sequence[str]) -> YamlText:
        """The key with all its lines replaced, or added where ``order`` wants it."""
        if key in self._nodes:
            return self._spliced([_Edit(*self._extent(key), lines)])
        return self._spliced([_Edit(*2 * (self._place(key, order),), self._on_its_own(key, lines, order))])

    def with_values(self, changes: Mapping[str, Plain], order: Sequence[str]) -> YamlText:
        """The same text with these keys set; new ones stand where ``order`` wants them."""
        made = self
        for key, value in changes.items():
            made = made._with_value(key, value, order)
        self._check(made, changes)
        return made

    def _with_value(self, key: str, value: Plain, order: Sequence[str]) -> YamlText:
        if key not in self._nodes:
            return self.with_lines(key, emitted(key, value, self._newline), order)
        _, node = self._nodes[key]
        if isinstance(value, dict):
            return self._with_flags(key, node, value)
        if isinstance(value, list):
            return self._with_list(key, value)
        return self._replaced(key, self._scalar(node, value, key))

    def _replaced(self, key: str, text: str) -> YamlText:
        """With this in the place of the value; comments that stood inside of it stand below."""
        start, end = self._span(key)
        _, node = self._nodes[key]
        lost = yaml_values.comments(self.text, start, end, node) if self._holds(key, node) else []
        if node.id == "scalar" and (head := _BLOCK_HEAD.match(self.text, start)) and node.style in {"|", ">"}:
            text, lost = f"{text}  {head[1].rstrip()}", []
        below = "".join(f"{self._newline}  {each}" for each in lost)
        line_end = self._line_end(end) - len(self._newline)
        if below and self.text[end:line_end].strip():  # the comment beside the value comes first
            return self._spliced([_Edit(start, end, text), _Edit(line_end, line_end, below)])
        return self._spliced([_Edit(start, end, text + below)])

    def _holds(self, key: str, node: Any) -> bool:
        """Whether the node of a key stands with it; that of an alias stands elsewhere."""
        start, end = self._extent(key)
        return bool(start <= node.start_mark.index <= end)

    def _with_flags(self, key: str, node: Any, flags: Mapping[str, Plain]) -> YamlText:
        """Single flags are set where they stand; a new one is added behind the last."""
        known = {name: value for name, value in flags.items() if value is not None}
        if node.id == "scalar":
            return self._first_flags(key, known)
        found = {name.value: value for name, value in yaml_values.pairs(node) if value.id == "scalar"}
        edits = [
            _Edit(node.start_mark.index, node.end_mark.index, scalar_text(known[name]))
            for name, node in found.items()
            if name in known and yaml_values.plain(node) != known[name]
        ]
        if new := {name: value for name, value in known.items() if name not in found}:
            edits.append(
                self._flags_on_the_line(node, new) if node.flow_style else self._flags_below(key, node, new)
            )
        return self._spliced(edits)

    def _first_flags(self, key: str, flags: Mapping[str, Plain]) -> YamlText:
        """Below a key without a value; what else stood there goes, and the comment beside it stays."""
        emptied = self._replaced(key, "") if self._span(key)[0] != self._span(key)[1] else self
        end = emptied._extent(key)[1]
        gap = "" if emptied.text[:end].endswith("\n") else self._newline
        lines = gap + yaml_values.flag_lines(flags, "  - ", self._newline)
        return emptied._spliced([_Edit(end, end, lines)])

    def _flags_on_the_line(self, node: Any, new: Mapping[str, Plain]) -> _Edit:
        """Before the closing bracket."""
        told = [f"{name}: {scalar_text(value)}" for name, value in new.items()]
        if node.id == "sequence":
            told = [f"{{{each}}}" for each in told]
        end = node.end_mark.index - 1
        inside = self.text[node.start_mark.index + 1 : end].rstrip()
        gap = "" if not node.value else " " if inside.endswith(",") else ", "
        at = end - (len(self.text[:end]) - len(self.text[:end].rstrip())) if "#" not in inside else end
        return _Edit(at, at, gap + ", ".join(told))

    def _flags_below(self, key: str, node: Any, new: Mapping[str, Plain]) -> _Edit:
        end = self._extent(key)[1]
        dash = "- " if node.id == "sequence" else ""
        lines = yaml_values.flag_lines(new, " " * node.start_mark.column + dash, self._newline)
        gap = "" if self.text[:end].endswith("\n") else self._newline
        return _Edit(end, end, gap + lines)

    def _with_list(self, key: str, value: list[Plain]) -> YamlText:
        """The items in their new order; one that stays keeps its line, with the comments before and beside it."""
        _, node = self._nodes[key]
        if node.id != "sequence" or node.flow_style or not node.value:
            items = ", ".join(scalar_text(each, '"') for each in value)
            start, _ = self._span(key)
            gap = "" if self.text[start - 1 : start] in {" ", "\t"} else " "
            return self._replaced(key, f"{gap}[{items}]")
        chunks = self._chunks(key, node)
        kept = {
            _key(yaml_values.plain(item)): (item, *chunk)
            for item, chunk in zip(node.value, chunks, strict=True)
        }
        margin = " " * (node.value[0].start_mark.column - 2)
        made = []
        for each in value:
            stays = kept.pop(_key(each), None)
            made.append(
                self._whole_line(*stays[1:]) if stays else f"{margin}- {scalar_text(each)}{self._newline}"
            )
        lost = [
            line
            for item, one, other in kept.values()
            for line in yaml_values.comments(self.text, one, other, item)
        ]
        orphans = [f"{margin}{line}{self._newline}" for line in lost]
        start, end = self._extent(key)
        # Comments below the key belong to the first item.
        head = self.text[start : self.text.index("\n", start) + 1]
        if not value:
            colon = self.text.index(":", self._nodes[key][0].end_mark.index) - start + 1
            head = f"{head[:colon]} []{head[colon:]}"
        return self._spliced([_Edit(start, end, head + "".join([*orphans, *made]))])

    def _whole_line(self, start: int, end: int) -> str:
        text = self.text[start:end]
        return text if text.endswith("\n") else text + self._newline

    def _chunks(self, key: str, node: Any) -> list[tuple[int, int]]:
        """The lines of each item, with the comment lines before it."""
        start, end = self._extent(key)
        head = self.text.find("\n", start) + 1
        ends = (self._line_end(yaml_values.last_index(item)) for item in node.value[:-1])
        return [*pairwise([head, *ends, end])]

    def _scalar(self, node: Any, value: Plain, key: str) -> str:
        style = node.style if node.id == "scalar" else None
        quote: Quote = style if style in {"'", '"'} else None
        text = scalar_text(value, quote)
        start = self._span(key)[0]
        return text if self.text[start - 1 : start] in {" ", "\t"} or not text else f" {text}"

    def _span(self, key: str) -> tuple[int, int]:
        """Where the value stands, without the comment beside it; an anchor before it stays."""
        name, node = self._nodes[key]
        colon = self.text.index(":", name.end_mark.index) + 1
        if alias := _ALIAS.match(self.text, colon):  # the node stands elsewhere
            return alias.span(1)
        limit = self._extent(key)[1]
        start, end = node.start_mark.index, node.end_mark.index
        if node.id == "scalar" and start == end:  # an empty one is said to stand before whatever comes next
            return colon, colon
        if not colon <= start <= limit:
            raise self._trouble(f"says {key} in a way that cannot be changed", self.lines[key])
        if node.id != "scalar" and node.flow_style:
            return start, end
        if node.id != "scalar" or node.style in {"|", ">"}:
            value = self.text[start:limit].rstrip()
            return start, start + len(value)
        if mark := _MARK.match(self.text, start, end):
            start = mark.end()
        return start, end

    def _extent(self, key: str) -> tuple[int, int]:
        """All lines of a key: its own, and those below it that are indented or items; blank ones and comments after it not."""
        start = self._line_start(self._nodes[key][0].start_mark.index)
        followers = [node.start_mark.index for node, _ in self._nodes.values()]
        limit = min(
            (at for at in followers if at > start + 1 and self._line_start(at) > start),
            default=len(self.text),
        )
        end = at = self._line_end(start)
        while at < limit:
            after = self._line_end(at)
            line = self.text[at:after]
            if line.strip() and (line[0] in " \t" or line.startswith("-")):
                end = after
            at = after
        return start, min(end, self._line_start(limit) if limit < len(self.text) else limit)

    def _place(self, key: str, order: Sequence[str]) -> int:
        """Behind the nearest key that comes before it, else before the nearest that comes after it, else at the end."""
        if self._nodes and next(iter(self._nodes.values()))[0].start_mark.column != 0:
            raise self._trouble("is not written one key to a line, so none can be added", 1)
        at = order.index(key)
        for before in reversed(order[:at]):
            if before in self._nodes:
                return self._extent(before)[1]
        for after in order[at + 1 :]:
            if after in self._nodes:
                return self._extent(after)[0]
        return len(self.text)

    def _on_its_own(self, key: str, lines: str, order: Sequence[str]) -> str:
        at = self._place(key, order)
        return lines if at == 0 or self.text[:at].endswith("\n") else self._newline + lines

    def _spliced(self, edits: Sequence[_Edit]) -> YamlText:
        text = self.text
        for edit in sorted(edits, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return YamlText(text=text, where=self.where, first_line=self.first_line)

    def _check(self, made: YamlText, changes: Mapping[str, Plain]) -> None:
        """Whether everything else says what it said: an anchor, a tag or a spelling that nobody thought of."""
        try:
            after, before = made.values, self.values
        except DocumentError as error:
            raise self._trouble(f"would be broken by setting {', '.join(changes)}", 1) from error
        for key in {*before, *after} - {*changes}:
            if before.get(key) != after.get(key) or key not in after:
                raise self._trouble(f"would lose {key} by setting {', '.join(changes)}", 1)

    @property
    def _newline(self) -> str:
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1

    def _tree(self) -> Any:
        if len(self.text) > LARGEST_CHARS:
            raise self._trouble(f"is longer than {LARGEST_CHARS:,} characters", 1)
        if not self.text.strip():
            return None
        try:
            return _composed(self.text)
        except Exception as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
            raise self._trouble(f"is not YAML: {problem}", 1 if mark is None else mark.line + 1) from error

    def _trouble(self, words: str, line: int) -> DocumentError:
        at = line + self.first_line - 1
        return DocumentError(
            f"{self.where}: line {at}: the front matter {words}. Nothing was changed.",
            path=self.where,
            line=at,
        )


@lru_cache(maxsize=16)
def _composed(text: str) -> Any:
    """Its nodes, which nobody changes. Kept: a command looks at the same few texts again and again, and this takes the longest."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - loaded only where there is something to read

    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = _DEEPEST
    yaml.composer.warn_double_anchors = False
    return yaml.compose(text)


def _key(value: Plain) -> str:
    return repr(value)
