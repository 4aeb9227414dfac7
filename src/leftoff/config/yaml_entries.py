"""Reads a settings file as a flat list of entries: dotted key, plain value, line.

The file can come from anywhere, so YAML is only parsed into nodes and never constructed: aliases that multiply, tags that name
classes and endless nesting become ``Unusable`` values and cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any, NamedTuple, TypeAlias

Scalar: TypeAlias = "bool | int | float | str | Unusable | None"
Value: TypeAlias = "Scalar | list[Scalar] | dict[str, Scalar]"
_DEEPEST = 16
LONGEST_NUMBER = 40  # characters; a longer one is not parsed
TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = {TAG + "str", TAG + "timestamp", "!"}


class NotYamlError(ValueError):
    """The text cannot be parsed. ``line`` is 1-based; None means not known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


class Unusable(NamedTuple):
    """A value that no setting accepts, with a text that describes it."""

    description: str

    def __repr__(self) -> str:
        return self.description


class Entry(NamedTuple):
    """A dotted key, its value and its 1-based line."""

    dotted: str
    value: Value
    line: int


def entries(text: str, *, section: str, groups: Set[str]) -> Iterator[Entry]:
    """Iterate over the entries of the mapping ``section``; mappings whose dotted key is in ``groups`` are flattened."""
    root = _compose(text)
    if root is None or _is_empty(root):
        return
    for key, node in root.value if root.id == "mapping" else ():
        if key.value == section and (node.id == "mapping" or _is_empty(node)):
            yield from _flatten_nodes(node, "", groups)
            return
    raise NotYamlError(f"has no settings below {section}:. Put them there, indented, or empty the file")


def _compose(text: str) -> Any:
    """Return the root node; None for an empty text. ruamel is imported only if there is something to read."""
    if not text.strip():
        return None
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.error import MarkedYAMLError  # noqa: PLC0415

    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = _DEEPEST
    yaml.composer.warn_double_anchors = False
    try:
        return yaml.compose(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise NotYamlError(f"not YAML: {error.problem}", line) from error
    except Exception as error:  # the parser can raise anything, and no file may stop leftoff
        raise NotYamlError(f"not YAML: {str(error).partition(chr(10))[0]}") from error


def _flatten_nodes(mapping: Any, prefix: str, groups: Set[str]) -> Iterator[Entry]:
    for key, node in () if _is_empty(mapping) else mapping.value:
        dotted = prefix + (key.value if key.id == "scalar" else f"(a {key.id})")
        if dotted in groups and (node.id == "mapping" or _is_empty(node)):
            yield from _flatten_nodes(node, f"{dotted}.", groups)
        else:
            yield Entry(dotted=dotted, value=_value(node), line=key.start_mark.line + 1)


def _is_empty(node: Any) -> bool:
    """Return whether a node is null, as below a heading where everything is commented out."""
    return bool(node.id == "scalar" and node.tag == TAG + "null")


def _value(node: Any) -> Value:
    if node.id == "sequence" and node.tag == TAG + "seq":
        return [_scalar(each) for each in node.value]
    if node.id == "mapping" and node.tag == TAG + "map":
        return {key.value: _scalar(each) for key, each in node.value if key.id == "scalar"}
    return _scalar(node)


def _scalar(node: Any) -> Scalar:
    if node.id != "scalar":
        return Unusable(f"a {node.id}")
    kind, text = node.tag, node.value
    if _is_empty(node):
        return None
    if kind in {TAG + "bool", TAG + "int", TAG + "float"}:
        return _number_or_bool(kind, text)
    return text if kind in _TEXT_TAGS else Unusable("a tagged value")


def _number_or_bool(kind: str, text: str) -> Scalar:
    if kind == TAG + "bool":
        return {"true": True, "false": False}.get(text.lower(), Unusable(repr(text[:LONGEST_NUMBER])))
    bare = text.replace("_", "")
    for read in (int, _int_of_any_base, float) if kind == TAG + "int" else (float,):
        try:
            return read(bare) if len(bare) <= LONGEST_NUMBER else Unusable("a very long number")
        except ValueError:
            continue
    return Unusable(repr(text[:LONGEST_NUMBER]))


def _int_of_any_base(text: str) -> int:
    return int(text, 0)
