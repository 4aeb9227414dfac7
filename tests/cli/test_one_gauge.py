"""One gauge: the same facts give the same tokens and percentage on every screen, whatever was typed before."""

import json
import os
import re
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leftoff
from leftoff.agents.registry import agent_of
from leftoff.cli.main import run
from leftoff.live.events import handle_event
from leftoff.live.status_line import status_line
from leftoff.platform import paths
from leftoff.testing.builders import Story, call
from tests.support.long_sessions import LONG, copy_into_agent_home

_NUMBERS = count(1)
_CLAUDE, _CODEX = "claude", "codex"
_EVENTS = ("prompt", "short turn", "long turn", "unanswered result", "automatic compaction", "compaction")
_LEARNING = ("status line 200k", "status line 1M", "hook")
_COMMANDS = ("glance", "status", "sessions", "advise", "trim", "smart-trim", "rollover", "untrim", "log save")


class Machine:
    """A session that grows, and everything that can be typed about it."""

    def __init__(self, home, capsys, agent_id: str) -> None:
        self.home, self.capsys, self.agent_id = home, capsys, agent_id
        number = next(_NUMBERS)
        prefix = "01a1e0be-dee8-7b23" if agent_id == _CODEX else "0b54f7aa-6d0c-4c7b"
        self.story = Story(
            session_id=f"{prefix}-9d57-{number:012x}",
            project=str(Path.cwd()),
            model="gpt-5.5" if agent_id == _CODEX else "claude-sonnet-4-5",
        )
        self.story.asked(f"Session {number}").replied("Begun.", used=30_000)
        self.sessions: list[Path] = []
        self.sessions = [self._write()]

    @property
    def transcript(self) -> Path:
        return self.sessions[0]

    def do(self, step: str) -> None:
        """Let something happen, or type a command."""
        if step in _EVENTS:
            self._happen(step)
            self._write()
        elif step in _LEARNING:
            self._learn(step)
        else:
            self._type(step)

    def _happen(self, step: str) -> None:
        story = self.story
        if step == "prompt":
            story.asked("And now this, please. " * 40)
        elif step == "short turn":
            story.asked("Go on").replied("Done.", used=story.used_tokens + 900)
        elif step == "long turn":
            reading = call("read", {"path": "src/a.py"}, LONG)
            story.asked("Read it").replied("Reading.", reading).replied(
                "Read.", used=story.used_tokens + 7_000
            )
        elif step == "unanswered result":
            story.asked("Look").replied("Looking.", call("shell", {"command": "cat notes"}, LONG))
        else:
            story.used_tokens = max(story.used_tokens, 140_000)
            story.compacted("What happened.", after=21_000, automatic=step == "automatic compaction")

    def _write(self) -> Path:
        for path in self.sessions[:1]:
            path.unlink()
        return getattr(self.home, self.agent_id)(self.story)

    def _learn(self, step: str) -> None:
        if step == "hook":
            event = {
                "session_id": self.story.session_id,
                "transcript_path": str(self.transcript),
                "cwd": str(Path.cwd()),
                "hook_event_name": "Stop",
            }
            handle_event(self.agent_id, json.dumps(event).encode())
        elif self.agent_id == _CLAUDE:
            self._status_line(self.transcript, 200_000 if step == "status line 200k" else 1_000_000)

    def _status_line(self, transcript: Path, window: int | None = None):
        """Return what the status line of the client shows; ``window`` is the size that the client tells it."""
        said = {
            "session_id": transcript.stem,
            "transcript_path": str(transcript),
            "cwd": str(Path.cwd()),
            "workspace": {"project_dir": str(Path.cwd())},
            "context_window": {"context_window_size": window},
        }
        return status_line(json.dumps(said).encode())

    def _type(self, command: str) -> None:
        target = str(self.sessions[-1])
        words = {"glance": [], "sessions": ["sessions"], "log save": ["log", "save", target]}
        written = self._json(*words.get(command, [command, target]))
        if command in {"trim", "smart-trim", "rollover", "untrim"} and (made := written.get("output_file")):
            os.utime(made, (1_760_100_000 + next(_NUMBERS),) * 2)
            self.sessions.append(Path(made))

    def _json(self, *words: str):
        self.capsys.readouterr()
        assert run([*words, "--json"]) in {0, 1, 3}, words
        return json.loads(self.capsys.readouterr().out)

    def gauges(self, session: Path) -> dict[str, tuple]:
        """Return tokens, usable window and percentage as each screen shows them."""
        path = str(session)
        listed = {each["transcript"]: each["context"] for each in self._json("sessions", "--all")}
        shown = {"status": self._json("status", path)["context"], "sessions": listed[path]}
        latest = self._json()["latest"]
        if latest["transcript"] == path:
            shown["glance"] = latest["context"]
        if self.agent_id == _CLAUDE:
            shown["status line"] = self._status_line(session).to_dict()
        gauges = {
            screen: (each["used_tokens"], each["total_budget"], each["percentage_used"])
            for screen, each in shown.items()
        }
        used, budget, _ = gauges["status"]
        gauges["advice"] = (used, budget, self._json("advise", path)["percentage_used"])
        gauges["trim"] = (used, budget, self._json("trim", path, "--dry-run")["percentage_before"])
        measured = leftoff.measure(leftoff.open_session(path))
        gauges["library"] = (measured.used_tokens, measured.total_budget, measured.shown_percentage)
        return gauges


@pytest.mark.slow
@pytest.mark.parametrize("agent_id", [_CLAUDE, _CODEX])
def test_all_screens_agree_after_any_sequence_of_events_and_commands(home, capsys, agent_id):
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.sampled_from([*_EVENTS, *_LEARNING, *_COMMANDS]), min_size=1, max_size=6))
    def check(steps):
        machine = Machine(home, capsys, agent_id)
        for step in steps:
            machine.do(step)
            for session in machine.sessions:
                gauges = machine.gauges(session)
                assert len({*gauges.values()}) == 1, (step, gauges)

    check()


# What no reply has counted yet is estimated by the usage of earlier replies, which a copy rewrites: a prompt at the end is not exact.
@pytest.mark.parametrize(("end", "tokens"), [("short turn", 30), ("prompt", 400)])
@pytest.mark.parametrize("agent_id", [_CLAUDE, _CODEX])
def test_what_a_strategy_promises_is_what_the_copy_shows(home, capsys, agent_id, end, tokens):
    machine = Machine(home, capsys, agent_id)
    for step in ("long turn", "long turn", "short turn", "long turn", "short turn", end):
        machine.do(step)
    for command in ("trim", "smart-trim", "rollover"):
        planned = machine._json(command, str(machine.transcript), "--dry-run")
        written = machine._json(command, str(machine.transcript))
        if not written["output_file"]:
            continue
        before = machine.gauges(machine.transcript)["status"]
        after = machine.gauges(Path(written["output_file"]))["status"]
        assert written["percentage_before"] == planned["percentage_before"] == before[2]
        assert written["percentage_after"] == pytest.approx(after[2], abs=0.3)
        assert before[0] - after[0] == pytest.approx(written["tokens_saved"], abs=tokens), command


@pytest.mark.parametrize(("end", "tokens"), [("short turn", 10), ("prompt", 400)])
@pytest.mark.parametrize("agent_id", [_CLAUDE, _CODEX])
def test_an_untrimmed_copy_has_the_gauge_of_the_original(home, capsys, agent_id, end, tokens):
    machine = Machine(home, capsys, agent_id)
    for step in ("long turn", "long turn", "long turn", "short turn", "long turn", end):
        machine.do(step)
    trimmed = machine._json("trim", str(machine.transcript))
    restored = machine._json("untrim", trimmed["output_file"])
    assert restored["tokens_given_back"] == pytest.approx(trimmed["tokens_saved"], abs=1)
    original, copy = (
        machine.gauges(Path(each))["status"] for each in (machine.transcript, restored["output_file"])
    )
    assert copy[0] == pytest.approx(original[0], abs=tokens)
    assert copy[1] == original[1]


@pytest.mark.parametrize("learned", ["before", "after"])
def test_a_window_that_the_client_reported_holds_for_copies_too(home, capsys, learned):
    machine = Machine(home, capsys, _CLAUDE)
    for step in ("long turn", "long turn", "long turn", *(["status line 1M"] if learned == "before" else [])):
        machine.do(step)
    trimmed = Path(machine._json("trim", str(machine.transcript))["output_file"])
    if learned == "after":
        machine.do("status line 1M")
    assert machine.gauges(trimmed)["status"][1] == machine.gauges(machine.transcript)["status"][1] > 900_000


def test_a_window_learned_later_holds_for_the_copy_of_a_copy(home, capsys):
    machine = Machine(home, capsys, _CLAUDE)
    for _ in range(3):
        machine.do("long turn")
    trimmed = machine._json("trim", str(machine.transcript))["output_file"]
    restored = Path(machine._json("untrim", trimmed)["output_file"])
    machine.do("status line 1M")
    assert machine.gauges(restored)["status"][1] == machine.gauges(machine.transcript)["status"][1] > 900_000


def test_where_the_user_set_the_window_a_compaction_counts_whether_the_client_has_reported_it_or_not(
    home, capsys
):
    """The agent's table takes a model that it does not know for one of a million tokens, in which 140,000 are few."""
    settings = paths.config_folder() / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  windows:\n    house-model: 200000\n", encoding="utf-8")
    machine = Machine(home, capsys, _CLAUDE)
    machine.story.model = "house-model"
    machine.do("automatic compaction")
    machine.do("short turn")
    before = machine.gauges(machine.transcript)
    machine.do("status line 200k")
    assert {*before.values()} == {*machine.gauges(machine.transcript).values()}
    assert before["status"][1] == 140_000


def test_the_own_compaction_of_a_session_counts_on_the_first_look(home, capsys):
    """Earlier, the glance knew it only after ``status`` had looked."""
    machine = Machine(home, capsys, _CLAUDE)
    machine.do("automatic compaction")
    machine.do("short turn")
    assert machine._json()["latest"]["context"]["total_budget"] == 140_000
    assert {gauge[1] for gauge in machine.gauges(machine.transcript).values()} == {140_000}


def test_a_compaction_seen_by_a_hook_counts_for_other_sessions_at_once_and_commands_teach_nothing(
    home, capsys
):
    first, second = Machine(home, capsys, _CLAUDE), Machine(home, capsys, _CLAUDE)
    first.do("automatic compaction")
    first.do("short turn")
    first.do("status")
    assert {gauge[1] for gauge in second.gauges(second.transcript).values()} == {167_000}
    first.do("hook")
    assert {gauge[1] for gauge in second.gauges(second.transcript).values()} == {140_000}


def test_a_fresh_session_has_an_estimate_before_its_first_reply(home, capsys):
    machine = Machine(home, capsys, _CLAUDE)
    for _ in range(4):
        machine.do("long turn")
    made = Path(machine._json("rollover", str(machine.transcript))["output_file"])
    context = machine._json("status", str(made))["context"]
    assert (context["basis"], context["total_budget"]) == ("estimated", 167_000)
    assert 1_000 < context["used_tokens"] < machine.gauges(machine.transcript)["status"][0]
    assert run(["status", str(made)]) == 0
    assert "????" not in capsys.readouterr().out


def test_a_copy_of_a_real_session_shows_what_was_promised(home, capsys, real_transcripts):
    """In all formats that the agents have had; the copy of a copy's usage grows as before, so the forecast stays sensible."""
    checked = 0
    for path in sorted(real_transcripts.glob("*.jsonl")):
        if not _is_readable(path):
            continue
        source = copy_into_agent_home(home, path)
        capsys.readouterr()
        if run(["trim", str(source), "--json"]) != 0:
            continue
        written = json.loads(capsys.readouterr().out)
        if written["percentage_before"] is None:
            assert written["tokens_saved"] > 0, path.name
            continue
        assert run(["status", written["output_file"], "--json"]) == 0
        status = json.loads(capsys.readouterr().out)
        assert status["context"]["percentage_used"] == pytest.approx(written["percentage_after"], abs=0.5), (
            path.name
        )
        assert (status["turns_left"]["critical"] or 0) < 2_000, path.name
        checked += 1
    assert checked >= 10


def test_a_cut_that_no_reply_has_counted_is_not_subtracted_twice(home, capsys, monkeypatch):
    """The last result is cut, because nothing is protected; its tokens were only ever an estimate."""
    monkeypatch.setenv("LEFTOFF_TRIM_PROTECT_TURNS", "0")
    machine = Machine(home, capsys, _CLAUDE)
    for step in ("long turn", "long turn", "long turn", "unanswered result"):
        machine.do(step)
    original = machine.gauges(machine.transcript)["status"][0]
    trimmed = machine._json("trim", str(machine.transcript))
    shown = machine.gauges(Path(trimmed["output_file"]))["status"][0]
    assert original - shown == pytest.approx(trimmed["tokens_saved"], rel=0.1)
    restored = machine._json("untrim", trimmed["output_file"])
    assert machine.gauges(Path(restored["output_file"]))["status"][0] == pytest.approx(original, rel=0.06)


def test_a_session_without_usage_says_what_a_copy_frees(home, capsys):
    machine = Machine(home, capsys, _CLAUDE)
    machine.do("long turn")
    machine.do("long turn")
    text = machine.transcript.read_text(encoding="utf-8")
    without = re.sub(r'"usage": ?\{[^{}]*(\{[^{}]*\}[^{}]*)*\},?', '"usage":{},', text)
    machine.transcript.write_text(without.replace(',"usage":{},}', "}"), encoding="utf-8")
    assert machine._json("status", str(machine.transcript))["context"]["used_tokens"] is None
    assert machine._json("trim", str(machine.transcript), "--dry-run")["tokens_saved"] > 1_000
    assert machine._json("rollover", str(machine.transcript), "--dry-run")["tokens_saved"] > 1_000


def test_every_real_session_has_the_same_gauge_in_lists_and_alone(home, capsys, real_transcripts):
    paths = [
        copy_into_agent_home(home, path)
        for path in sorted(real_transcripts.glob("*.jsonl"))
        if _is_readable(path)
    ]
    capsys.readouterr()
    assert run(["sessions", "--all", "--json"]) == 0
    listed = {each["transcript"]: each["context"] for each in json.loads(capsys.readouterr().out)}
    for path in paths:
        assert run(["status", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["context"] == listed[str(path)], path.name


def _is_readable(path: Path) -> bool:
    try:
        return bool(agent_of(path).entry(path))
    except leftoff.LeftoffError:
        return False
