"""Plans of real sessions: what twice is, what a model's word is worth, and that what is planned can be written."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.codex.adapter import Codex
from leftoff.core.session import Session
from leftoff.core.trim_plan import TRIM_LEVELS, CopyOrder, TrimLevel
from leftoff.errors import InvalidValueError
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.shrink.planners import (
    plan_from_lines,
    plan_smart_trim,
    plan_trim,
    propose_lines,
)
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.screenplay import bundled_script
from tests.support.transcripts import write_transcript

PLANS = {"trim": plan_trim, "smart-trim": plan_smart_trim}
NAME = "rollout-2026-01-01T00-00-00-0199aaaa-0000-7000-8000-000000000000.jsonl"


class Answers:
    """A summariser that has one answer, and remembers what it was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.prompt = ""

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:
        assert timeout_seconds > 0
        self.prompt = prompt
        return self.answer


@pytest.fixture(params=["claude", "codex"])
def agent(request: pytest.FixtureRequest, isolated_home: Path) -> Claude | Codex:
    return (
        Claude(home=isolated_home / ".claude")
        if request.param == "claude"
        else Codex(isolated_home / ".codex")
    )


@pytest.fixture
def session(agent: Claude | Codex, tmp_path: Path) -> Session:
    transcript = tmp_path / NAME
    write_transcript(agent, bundled_script(), transcript)
    return agent.open(transcript)


def copied(agent: Claude | Codex, session: Session, strategy: str, parameters: TrimParameters) -> Session:
    plan = PLANS[strategy](agent, session, parameters)
    assert plan.cuts
    order = CopyOrder(at=datetime(2026, 1, 1, tzinfo=UTC), metadata={"trim_metadata": {}})
    return agent.open(agent.write_copy(session, plan.cuts, order).transcript)


@pytest.mark.parametrize(
    ("strategy", "threshold", "level"),
    [
        ("trim", 300, "normal"),
        ("trim", 1000, "normal"),
        *(("smart-trim", 1000, level) for level in TRIM_LEVELS),
    ],
)
def test_trimming_a_copy_again_changes_nothing(
    agent: Claude | Codex, session: Session, strategy: str, threshold: int, level: TrimLevel
) -> None:
    parameters = TrimParameters(threshold=threshold, trim_assistant=3, min_token_savings=0, level=level)
    copy = copied(agent, session, strategy, parameters)
    again = PLANS[strategy](agent, copy, parameters)
    assert [(cut.place.line_idx, cut.rationale) for cut in again.cuts] == []
    assert again.live_chars < agent.live_pieces(session, at_least_chars=1, head=0, tail=0).live_chars


SOME = ("claude-1.0.17-big-results", "claude-2.0.64-errors", "claude-2.1.29-orphan-result", "codex-0.63-exec")


KINDS = [("trim", "normal"), *(("smart-trim", level) for level in TRIM_LEVELS)]


@pytest.mark.parametrize(("strategy", "level"), KINDS)
@pytest.mark.parametrize("name", SOME)
def test_trimming_a_copy_of_a_real_session_again_changes_nothing(
    strategy: str, level: TrimLevel, name: str, real_transcripts: Path, isolated_home: Path, tmp_path: Path
) -> None:
    assert_twice_is_once(strategy, level, real_transcripts / f"{name}.jsonl", isolated_home, tmp_path)


@pytest.mark.stress
@pytest.mark.parametrize(("strategy", "level"), KINDS)
def test_trimming_copies_of_all_real_sessions_again_changes_nothing(
    strategy: str, level: TrimLevel, real_transcripts: Path, isolated_home: Path, tmp_path: Path
) -> None:
    for source in sorted(real_transcripts.rglob("c*.jsonl")):
        if not source.name.startswith("copilot"):
            assert_twice_is_once(strategy, level, source, isolated_home, tmp_path)


def assert_twice_is_once(strategy: str, level: TrimLevel, source: Path, home: Path, folder: Path) -> None:
    """A plan on the written copy is empty, and the copy is smaller."""
    agents = (Claude(home=home / ".claude"), Codex(home / ".codex"))
    parameters = TrimParameters(min_token_savings=0, level=level)
    agent = next(each for each in agents if each.recognises(source.read_bytes()[:4096]))
    transcript = folder / (NAME if agent.id == "codex" else source.name)
    transcript.write_bytes(source.read_bytes())
    session = agent.open(transcript)
    plan = PLANS[strategy](agent, session, parameters)
    if plan.cuts:
        again = PLANS[strategy](agent, copied(agent, session, strategy, parameters), parameters)
        assert [(cut.place.line_idx, cut.rationale) for cut in again.cuts] == [], source.name
        assert again.live_chars < plan.live_chars


def test_every_cut_names_its_original(agent: Claude | Codex, session: Session) -> None:
    """A cut names the line, part, call and digest that ``expand`` needs."""
    for cut in plan_smart_trim(agent, session, TrimParameters()).cuts:
        if cut.part == "thinking":
            continue
        found = parse_placeholder(cut.replacement)
        assert found is not None
        assert (found.key, found.line) == (cut.key, cut.place.line_idx + 1)
        (record,) = (each for each in session.records if each.place == cut.place)
        assert agent.original(record, cut.part, cut.call_id) is not None
        assert cut.rationale
        assert cut.saved_chars > 0


def test_a_model_s_proposal_is_planned(agent: Claude | Codex, session: Session) -> None:
    """The model counts lines from 1, the plan from 0."""
    line = plan_trim(agent, session, TrimParameters()).cuts[0].place.line_idx
    model = Answers(f'[[{line + 1}, "no longer used", "an old result"]]')
    proposed = propose_lines(model, agent, session, clean=Workspace.open().redact)
    assert proposed == [(line, "no longer used", "an old result")]
    assert f"\n{line + 1}\t" in model.prompt
    plan = plan_from_lines(agent, session, proposed)
    assert {cut.place.line_idx for cut in plan.cuts} == {line}
    assert "an old result: no longer used." in plan.cuts[0].replacement


def test_an_invalid_answer_of_a_model_is_an_error(agent: Claude | Codex, session: Session) -> None:
    """An invalid answer never means "nothing to trim"."""
    with pytest.raises(InvalidValueError):
        propose_lines(Answers("I would keep everything."), agent, session, clean=Workspace.open().redact)


def test_a_session_without_content_has_no_plan(agent: Claude | Codex, tmp_path: Path) -> None:
    transcript = tmp_path / NAME
    transcript.write_bytes(b'{"type":"session_meta","payload":{"id":"x"}}\n')
    session = agent.open(transcript)
    assert plan_trim(agent, session, TrimParameters()).nothing_to_trim
    assert plan_smart_trim(agent, session, TrimParameters()).nothing_to_trim


KEY = "AKIAZ7QX3TPLMV5KW2RD"


def test_a_model_gets_no_credentials(isolated_home: Path) -> None:
    """Neither complete credentials nor halves of them reach the model."""
    claude = Claude(home=isolated_home / ".claude")
    story = Story(session_id="0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11", project=str(isolated_home))
    for turn in range(8):
        spaces = "x" * (130 + turn)
        story.asked(f"Step {turn}").replied(
            "Looking.",
            call(
                "shell",
                {"command": f"export AWS_ACCESS_KEY_ID={KEY}; cat {turn} # {'y' * 400}"},
                f"{spaces} aws_access_key_id = {KEY} {'z' * 500}",
            ),
        )
    transcript = isolated_home / "a.jsonl"
    write_transcript(claude, story.script(), transcript)
    model = Answers("[]")
    propose_lines(model, claude, claude.open(transcript), clean=Workspace.open().redact)
    assert "Step" not in model.prompt
    assert "export AWS_ACCESS_KEY_ID" in model.prompt
    assert KEY[:8] not in model.prompt
