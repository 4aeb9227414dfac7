"""Runs the code of docs/plugins.md: the adapter of a made-up agent, every capability, and the other kinds of plugin."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leftoff
from leftoff.core import protocols
from leftoff.core.hook_event import HookResponse
from leftoff.core.metrics import ContextMetrics
from leftoff.platform import paths
from leftoff.testing.agent_promises import AgentPromises
from leftoff.testing.copy_promises import RehearsalPromises
from leftoff.testing.hook_promises import EventPromises, HookPromises
from leftoff.testing.script import Asked, Compacted, DelegatedTask, Replied
from leftoff.testing.store_promises import StorePromises

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


def blocks(language):
    """The code blocks of the page in that language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def load_page(folder):
    """Write the Python of the page as a module, import it and return it."""
    file = folder / "acme_leftoff.py"
    file.write_text("\n\n".join(blocks("python")), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("acme_leftoff", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_transcript = write_transcript
    return module


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return load_page(tmp_path_factory.mktemp("page"))


def write_transcript(script, path):
    """Write an invented session in Acme's format."""
    lines = [{"type": "session", "agent": "acme", "cwd": script.project}]
    for number, event in enumerate(script.events):
        lines += [each | {"time": event.at.isoformat()} for each in acme_lines(event, f"call-{number}")]
    for line in lines:
        if line["type"] == "model":
            line["model"] = script.model
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def acme_lines(event, name):
    match event:
        case Asked(text=text):
            yield {"type": "user", "text": text}
        case Replied():
            calls = [(f"{name}-{number}", call) for number, call in enumerate(event.calls)]
            requests = [{"id": call_id, "tool": call.tool, "input": call.input} for call_id, call in calls]
            yield {"type": "model", "text": event.text, "calls": requests, "usage": usage(event)}
            for call_id, call in calls:
                if call.answer is not None:
                    yield {"type": "tool", "call": call_id, "output": call.answer, "failed": call.failed}
        case DelegatedTask():
            requests = [{"id": name, "tool": "delegate", "input": {"task": event.task}}]
            yield {"type": "model", "text": "", "calls": requests, "usage": usage(event)}
            yield {"type": "tool", "call": name, "output": event.answer, "failed": False}
        case Compacted():
            yield {
                "type": "summary",
                "text": event.summary,
                "before": event.before_tokens,
                "after": event.after_tokens,
            }


def usage(event):
    output = event.usage.output_tokens
    return {"input": event.usage.occupancy_tokens - output, "output": output}


class FromPage:
    """Makes the agent that the page defines under ``class_name``."""

    class_name = "Acme"

    @pytest.fixture(autouse=True)
    def module(self, page):
        self.page = page

    def make_agent(self, home):
        return getattr(self.page, self.class_name)(home=home)

    def transcript_of(self, home, session_id):
        return home / "sessions" / f"{session_id}.jsonl"

    def write(self, script, path):
        write_transcript(script, path)


class TestReading(FromPage, AgentPromises):
    """The first adapter of the page is a complete Agent, which only names tools."""

    describes_tools = False


class TestActions(FromPage, AgentPromises):
    """An agent with ``actions`` and ``answer`` describes tools, and with rules the fast path reads it."""

    class_name = "AcmeWithFastPath"


class TestEvents(FromPage, EventPromises):
    class_name = "AcmeWithFastPath"

    def events(self):
        names = {
            "start": "SessionStart",
            "prompt": "UserPromptSubmit",
            "tools": "PostToolUse",
            "stop": "Stop",
            "before_compaction": "PreCompact",
            "end": "SessionEnd",
        }
        return {
            kind: {"hook_event_name": name, "session_id": ID, "cwd": "/", "prompt": "x"}
            for kind, name in names.items()
        }


class TestHooks(FromPage, HookPromises):
    class_name = "AcmeWithHooks"

    def starting_settings(self):
        other = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "theme": "dark"}
        return {"none": None, "empty": b"{}", "others": json.dumps(other, indent=2).encode()}


class TestCopies(FromPage, RehearsalPromises):
    class_name = "AcmeWithRehearsal"


class TestStore(StorePromises):
    @pytest.fixture(autouse=True)
    def module(self, page):
        self.page = page

    def make_store(self, folder):
        return self.page.LastLog()


def test_the_suite_on_the_page_is_the_one_that_was_run_here(page):
    """The tests on the page can be collected, and make the adapter of the page."""
    suite = page.make_tests()
    assert issubclass(suite, AgentPromises)
    assert isinstance(suite().make_agent(Path("x")), page.Acme)


@pytest.mark.parametrize(
    ("class_name", "capability"),
    [
        ("Acme", protocols.Agent),
        ("AcmeWithEvents", protocols.HasEvents),
        ("AcmeWithFastPath", protocols.HasFastPath),
        ("AcmeWithHooks", protocols.HasHooks),
        ("AcmeWithStatusLine", protocols.HasStatusLine),
        ("AcmeWithResume", protocols.CanResume),
        ("AcmeWithStart", protocols.CanStart),
        ("AcmeWithSummaries", protocols.CanRunHeadless),
        ("AcmeWithCopies", protocols.CanCopy),
        ("AcmeWithRehearsal", protocols.CanRehearse),
    ],
)
def test_each_class_of_the_page_adds_the_capability_of_its_section(page, class_name, capability):
    """The class before it does not have it."""
    added = getattr(page, class_name)
    assert isinstance(added(home=Path("x")), capability)
    (base,) = added.__bases__
    assert class_name == "Acme" or not isinstance(base(home=Path("x")), capability)


def test_the_example_transcript_is_read(page, tmp_path):
    """The lines that the page shows give prompts, calls and usage."""
    path = tmp_path / "sessions" / f"{ID}.jsonl"
    path.parent.mkdir()
    path.write_text(blocks("json")[0], encoding="utf-8")
    agent = page.Acme(home=tmp_path)
    (entry,) = map(agent.entry, agent.transcripts())
    assert (entry.session_id, entry.project, entry.occupancy.used_tokens) == (ID, "/home/dev/shop", 9000)
    assert entry.first_prompt == "Fix the login, and never touch the database."
    (call,) = agent.open(path).tool_calls()
    assert (call.tool, call.failed) == ("shell", True)


def test_status_line_resume_start_and_headless_commands(page):
    """The small capabilities on the page work as described there."""
    agent = page.AcmeWithSummaries(home=Path("x"))
    assert agent.status_input({"agent": "acme", "session_id": ID, "window": 5}).window_tokens == 5
    assert agent.status_input({"agent": "other", "session_id": ID}) is None
    assert agent.resume_command(ID) == ("acme", "--resume", ID)
    assert agent.run_command(["--fast", "hello"]) == ("acme", "--fast", "hello")
    assert agent.run_again_command(ID, ["--fast", "hello"]) == ("acme", "--resume", ID, "--fast")
    assert agent.run_again_command(ID, ["--print", "hello"]) is None
    assert agent.headless_command() == ("acme", "--print", "--no-tools")


def test_section_trigger_store_and_summariser_of_the_page_work(page):
    """A generator takes them; a log has the section and is in the store."""
    generator = leftoff.ResumeLogGenerator()
    page.register(generator)
    metrics = ContextMetrics(total_budget=200_000, used_tokens=10)
    log = generator.generate_from_session_state(
        ID, {"files_modified": ["a.py"], "context_metrics": metrics.to_dict()}
    )
    assert "- a.py" in log.to_markdown()
    assert page.TooManyErrors(1).should_trigger(metrics, {"errors": ["a", "b"]})
    assert not page.TooManyErrors(2).should_trigger(metrics, {"errors": ["a", "b"]})
    assert page.FirstLines().summarise("a\nb", timeout_seconds=1) == "a\nb"


@pytest.fixture
def installed(tmp_path, page, monkeypatch):
    """The page's module as an installed package, with the entry points that the page shows."""
    site = tmp_path / "site"
    (site / "acme_leftoff-1.dist-info").mkdir(parents=True)
    load_page(site)
    points = blocks("toml")[0].replace('[project.entry-points."', "[").replace('"]', "]").replace('"', "")
    points = points.replace("acme_leftoff:Acme", "acme_leftoff:AcmeWithSummaries")
    (site / "acme_leftoff-1.dist-info" / "entry_points.txt").write_text(points, encoding="utf-8")
    (site / "acme_leftoff-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-leftoff\nVersion: 1\n", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    home = tmp_path / "acme"
    monkeypatch.setenv("ACME_HOME", str(home))
    (home / "sessions").mkdir(parents=True)
    transcript = home / "sessions" / f"{ID}.jsonl"
    lines = blocks("json")[0].splitlines(keepends=True)[:3]  # up to a reply at 75 %
    project = tmp_path / "project"
    project.mkdir()
    transcript.write_text("".join(lines).replace("/home/dev/shop", str(project)), encoding="utf-8")
    return project, transcript


def run(*arguments, folder, stdin=""):
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments],
        cwd=folder,
        input=stdin,
        env=paths.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_an_installed_adapter_has_a_gauge_and_a_live_warning(installed):
    """`leftoff status` shows how full the window is, and the hook warns once when a threshold is crossed."""
    project, transcript = installed
    status = json.loads(run("status", "--json", folder=project))
    assert '"used_tokens": 150500' in json.dumps(status), status
    assert "Plan a good place to stop." in run("status", folder=project)
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": ID,
        "transcript_path": str(transcript),
        "cwd": str(project),
        "prompt": "Go on",
    }
    answer = json.loads(run("hook", "acme", folder=project, stdin=json.dumps(event)))
    assert "Context Usage Caution" in answer["systemMessage"]
    assert run("hook", "acme", folder=project, stdin=json.dumps(event)) == ""


@pytest.mark.slow
def test_an_installed_adapter_is_in_every_list(installed):
    """The session is listed, its log is saved, and it can be resumed."""
    project, _ = installed
    assert "Fix the login" in run("sessions", folder=project)
    run("log", "save", folder=project)
    assert "never touch the database" in run("log", "show", folder=project)
    assert "leftoff resume --run" in run("resume", folder=project)


def test_a_blocked_prompt_is_answered(page):
    """A prompt that was a command for leftoff is not sent to the model."""
    agent = page.AcmeWithEvents(home=Path("x"))
    event = agent.event({"hook_event_name": "UserPromptSubmit", "session_id": ID, "prompt": ">status"})
    assert b'"block"' in agent.reply(event, HookResponse(to_user="72%", blocks=True))
