"""The labels are made by hand: each names its transcript by hash, and quotes it word for word."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.codex.adapter import Codex
from leftoff.core.records import Record, Text, ToolResult, ToolUse

_FOLDER = Path(__file__).parent / "labels"
_FILES = sorted(_FOLDER.glob("*.json"))
_SECTIONS = ("rules", "not_rules", "decisions", "abandoned", "mission", "next", "finished")
_KINDS = {"constraint", "correction", "refusal", "answer", "plan_approved", "plan_rejected"}


@pytest.fixture(params=_FILES, ids=[file.stem for file in _FILES])
def labels(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the labels of one transcript."""
    found: dict[str, Any] = json.loads(request.param.read_text(encoding="utf-8"))
    return found


def test_six_transcripts_of_both_agents_are_labelled() -> None:
    """With fewer, precision and recall would depend on chance."""
    stems = [file.stem for file in _FILES]
    assert len(stems) >= 6
    assert sum(stem.startswith("codex") for stem in stems) >= 2
    assert sum(stem.startswith("claude") for stem in stems) >= 2


def test_labels_are_well_formed(labels: dict[str, Any]) -> None:
    """Every section is present, quotes are short, kinds are known, and only a later line supersedes a rule."""
    assert labels["schema"] == 1
    assert labels["source"]
    for section in _SECTIONS:
        assert labels[section], section
    for line, quote in _quotes(labels):
        assert line >= 1
        assert 0 < len(quote) <= 300, quote
    for rule in labels["rules"]:
        assert rule["kind"] in _KINDS
        assert rule["superseded_by"] is None or rule["superseded_by"] > rule["line"]
    assert {decision["who"] for decision in labels["decisions"]} <= {"user", "agent"}


def test_no_sentence_is_a_rule_and_not_a_rule(labels: dict[str, Any]) -> None:
    """The two lists do not contradict each other."""
    rules = {(item["line"], item["quote"]) for item in labels["rules"]}
    assert not rules & {(item["line"], item["quote"]) for item in labels["not_rules"]}


def test_labels_are_quotes(labels: dict[str, Any], real_transcripts: Path) -> None:
    """The transcript is the labelled file, and each quote is in the record at its line."""
    path = real_transcripts / labels["transcript"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == labels["sha256"]
    wanted = list(_quotes(labels))
    texts = _texts(path, {line for line, _ in wanted})
    wrong = [
        (line, quote) for line, quote in wanted if not any(quote in text for text in texts.get(line, ()))
    ]
    assert wrong == []


def _quotes(labels: dict[str, Any]) -> Iterator[tuple[int, str]]:
    for section in _SECTIONS:
        for item in labels[section]:
            yield item["line"], item["quote"]
            if section == "decisions" and item["reason"] is not None:
                yield item["reason_line"], item["reason"]
            if section == "rules" and item["refused"] is not None:
                yield item["refused"]["line"], item["refused"]["quote"]


def _texts(path: Path, lines: set[int]) -> dict[int, list[str]]:
    """Return all texts of the records at these lines (1-based)."""
    agent = Claude(home=path.parent) if path.name.startswith("claude") else Codex(path.parent)
    texts: dict[int, list[str]] = {}
    for record in agent.read(path):
        line = record.place.line_idx + 1
        if line in lines:
            texts.setdefault(line, []).extend(_strings_of(record))
    return texts


def _strings_of(record: Record) -> Iterator[str]:
    for block in record.blocks:
        if isinstance(block, (Text, ToolResult)):
            yield block.text
        elif isinstance(block, ToolUse):
            yield from _strings(block.input)
    if record.compaction and record.compaction.summary:
        yield record.compaction.summary


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
