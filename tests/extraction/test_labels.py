"""How well the user's rules and verdicts are found, against labels made by hand before the rules were written.

The floors lie a little below what was measured last; the table says what is measured now. A label counts as found where an item
has its words, and an item as right where some label has its words; borderline labels count neither way. The labels also count
demands for one step, which a log tells as requests: recall is low for that reason, precision must not be.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leftoff.agents.registry import agent_of
from leftoff.extraction import State, step

LABELS = sorted((Path(__file__).parent / "labels").glob("*.json"))
FLOORS = {"rules": (0.40, 0.95)}  # recall, precision
_LONG_ENOUGH_CHARS = 25  # to be the same words on another line


class Item(NamedTuple):
    """Something that was extracted."""

    line: int
    text: str
    kind: str


class Score(NamedTuple):
    found: int = 0
    labels: int = 0
    right: int = 0
    items: int = 0

    def plus(self, other: "Score") -> "Score":
        return Score(*map(sum, zip(self, other, strict=True)))

    @property
    def recall(self) -> float:
        return self.found / max(1, self.labels)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.items)


@pytest.fixture(scope="module")
def scores(real_transcripts: Path) -> dict[str, dict[str, Score]]:
    """Return the scores of each section in each labelled transcript."""
    table: dict[str, dict[str, Score]] = {section: {} for section in FLOORS}
    for file in LABELS:
        labels = json.loads(file.read_text(encoding="utf-8"))
        found = _extracted(real_transcripts / labels["transcript"])
        for section in FLOORS:
            table[section][file.stem] = _score(labels[section], found[section])
    return table


@pytest.mark.slow
@pytest.mark.parametrize("section", FLOORS)
def test_recall_and_precision_hold(
    scores: dict[str, dict[str, Score]], section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over all six transcripts together; a change that loses more must say why."""
    total = Score()
    lines = [f"\n{section:34} recall          precision"]
    for name, score in scores[section].items():
        total = total.plus(score)
        lines.append(_line(name, score))
    lines.append(_line("all", total))
    with capsys.disabled():
        print("\n".join(lines))  # noqa: T201 - the table is the point
    recall, precision = FLOORS[section]
    assert total.recall >= recall
    assert total.precision >= precision


@pytest.mark.slow
def test_few_sentences_labelled_as_no_rule_become_rules(real_transcripts: Path) -> None:
    """Few sentences that only look like rules may be extracted."""
    taken = judged = 0
    for file in LABELS:
        labels = json.loads(file.read_text(encoding="utf-8"))
        rules = {_bare(item.text) for item in _extracted(real_transcripts / labels["transcript"])["rules"]}
        for label in labels["not_rules"]:
            judged += 1
            taken += _bare(label["quote"]) in rules
    assert judged >= 70
    assert taken / judged <= 0.03


@cache
def _extracted(path: Path) -> dict[str, list[Item]]:
    """Return the rules and verdicts as they were found, also those that the bounded state no longer has at the end."""
    agent = agent_of(path)
    records = [*agent.open(path).records]
    found: dict[tuple[int, str], Item] = {}
    state = State()
    for begin in range(0, len(records), 100):
        state = step(state, records[begin : begin + 100], agent)
        # Choices and answers to a question in a reply are told as decisions; nobody labelled them.
        for rule in (each for each in state.rules if each.kind != "choice"):
            found[rule.ref.line_idx, rule.text] = Item(rule.ref.line_idx + 1, rule.text, rule.kind)
    return {"rules": [*found.values()]}


def _score(labels: list[dict[str, Any]], items: list[Item]) -> Score:
    firm = [label for label in labels if not label.get("borderline")]
    right = {number for label in labels for number in _matches(label, items)}
    return Score(
        found=sum(any(True for _ in _matches(label, items)) for label in firm),
        labels=len(firm),
        right=len(right),
        items=len(items),
    )


def _matches(label: dict[str, Any], items: list[Item]) -> Iterator[int]:
    """Yield the items near the label's line that have its words, or a part of them; long texts count anywhere."""
    quote = _bare(label["quote"])
    for number, item in enumerate(items):
        text = _bare(item.text)
        is_part = quote in text or text in quote
        is_refusal = bool(label.get("refused")) and item.kind == "refusal"
        if is_refusal or (is_part and (item.line == label["line"] or len(text) > _LONG_ENOUGH_CHARS)):
            yield number


def _bare(text: str) -> str:
    return re.sub(r"[\s*_`]+", " ", text).strip().lower()


def _line(name: str, score: Score) -> str:
    recall = f"{score.recall:4.0%} ({score.found}/{score.labels})"
    return f"{name:34} {recall:15} {score.precision:4.0%} ({score.right}/{score.items})"
