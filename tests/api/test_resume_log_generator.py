"""ResumeLogGenerator: generating, saving, loading and cleaning up logs, and its extensions."""

import json
import logging
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import leftoff
from bench.speed import full_log
from leftoff import ContextMetrics, ResumeLog, ResumeLogGenerator
from leftoff.core import markdown
from leftoff.errors import ConfigError, DocumentError, InvalidIdError, UsageError
from leftoff.platform import paths
from leftoff.storage.store_base import MemoryStore

STATE = {
    "context_metrics": {
        "total_budget": 200000,
        "used_tokens": 170000,
        "percentage_used": 85.0,
        "remaining_tokens": 30000,
        "stop_reason": "end_turn",
    },
    "mission_summary": "Implementing authentication",
    "accomplishments": ["Created JWT service", "Added tests"],
    "next_steps": ["Deploy to staging"],
}
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"


def used(fraction, stop_reason="end_turn"):
    return ContextMetrics(200_000, int(200_000 * fraction), stop_reason=stop_reason)


def configure(text):
    folder = paths.config_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "configuration.yaml").write_text(f"context_management:\n{text}", encoding="utf-8")


def save(generator, session_id, **fields):
    return generator.save_resume_log(generator.generate_from_session_state(session_id, STATE | fields))


def test_the_whole_way_from_state_to_file_and_back():
    """A log can be generated, saved, loaded and cleaned up."""
    generator = ResumeLogGenerator()
    log = generator.generate_from_session_state(session_id="20251101_115000", session_state=STATE)
    assert isinstance(log, ResumeLog)
    path = generator.save_resume_log(log)
    assert path == Path.cwd() / ".leftoff" / "resume-logs" / "session-20251101_115000.md"
    assert path.read_text(encoding="utf-8") == log.to_markdown()
    loaded = generator.load_resume_log("20251101_115000")
    assert loaded == log
    assert generator.load_resume_log("somebody-else") is None
    assert generator.cleanup_old_logs(keep_count=10) == []
    assert (Path(".leftoff") / ".gitignore").exists()


def test_the_defaults_are_those_of_the_settings():
    """A generator works without any configuration."""
    generator = ResumeLogGenerator()
    assert generator.storage_dir == Path.cwd() / ".leftoff" / "resume-logs"
    assert (generator.max_tokens, generator.enabled, generator.troubles) == (10_000, True, [])
    assert not generator.storage_dir.exists(), "looking creates nothing"


def test_a_config_overrides_the_settings(tmp_path):
    """The config has the keys of ``resume_logs``, or the form of a whole settings file."""
    configure("  resume_logs:\n    max_tokens: 7000\n    triggers: [manual_pause]\n")
    assert ResumeLogGenerator().max_tokens == 7000
    own = ResumeLogGenerator({"storage_dir": tmp_path / "mine", "max_tokens": 5000, "enabled": False})
    assert (own.storage_dir, own.max_tokens, own.enabled) == (tmp_path / "mine", 5000, False)
    assert ResumeLogGenerator({"storage_dir": "logs"}).storage_dir == Path.cwd() / "logs"
    nested = {"context_management": {"resume_logs": {"max_tokens": 600, "cleanup": {"keep_count": 3}}}}
    whole = ResumeLogGenerator(nested)
    assert whole.max_tokens == 600
    assert whole.get_stats()["keep_count"] == 3
    assert not whole.should_generate(used(0.99), "threshold_critical"), "the settings' triggers still hold"
    assert ResumeLogGenerator({"triggers": ("threshold_critical",)}).should_generate(
        used(0.99), "threshold_critical"
    )


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"max_token": 5}, r"resume_logs.max_token is not a setting. Did you mean max_tokens\?"),
        ({"zzzzzzzzzz": 5}, "resume_logs.zzzzzzzzzz is not a setting"),
        ({"thresholds": {"warning": 0.8}}, r'Did you mean \{"context_management": \{"thresholds": …\}\}\?'),
        ({"budget_total": 1000}, r'Did you mean \{"context_management": \{"budget_total": …\}\}\?'),
        ({"threshholds": {}}, r'Did you mean \{"context_management": \{"thresholds": …\}\}\?'),
        ({"context_management": {"threshholds": {}}}, r"Did you mean thresholds\?"),
        ({"max_tokens": "many"}, "resume_logs.max_tokens is 'many'; it takes: whole number"),
        ({"max_tokens": 20_000}, "it takes: at most 10000"),
        ({"triggers": ["full_moon"]}, "it takes"),
    ],
)
def test_a_config_that_cannot_be_used_is_reported(config, words):
    """The error names the key, the value and what it accepts."""
    with pytest.raises(ConfigError, match=words):
        ResumeLogGenerator(config)


def test_the_markdown_that_is_saved_keeps_the_budget():
    """The limit is 10,000 tokens, or fewer if configured."""
    huge = {"mission_summary": "x" * 100_000}
    for most in (10_000, 800):
        path = save(ResumeLogGenerator({"max_tokens": most}), "s", **huge)
        assert ResumeLog.estimate_tokens(path.read_text(encoding="utf-8")) <= most


def test_a_todo_list_makes_a_log():
    """Completed todos are accomplishments, open ones next steps; providers add their sections here too."""
    generator = ResumeLogGenerator()
    generator.register_section_provider(Provider("Todos", lambda state: f"{len(state['todos'])} todos"))
    log = generator.generate_from_todo_list(
        session_id="todos",
        todos=[{"content": "A", "status": "completed"}, {"content": "B", "status": "pending"}],
        context_metrics=used(0.5),
    )
    assert (log.accomplishments, log.next_steps) == (["A"], ["B"])
    assert log.context_metrics.used_tokens == 100_000
    assert log.custom_sections[0].content == "2 todos"


def test_logs_are_listed_newest_first_and_the_latest_is_the_last_saved():
    """Each listed log comes with the path of its Markdown."""
    generator = ResumeLogGenerator()
    assert generator.list_resume_logs() == []
    assert generator.get_latest_resume_log() is None
    saved = [save(generator, name) for name in ("a", "my-session-1", "c")]
    save(generator, "a")
    assert generator.list_resume_logs() == [("a", saved[0]), ("c", saved[2]), ("my-session-1", saved[1])]
    latest = generator.get_latest_resume_log()
    assert latest is not None
    assert latest.session_id == "a"


def test_the_latest_is_the_newest_that_can_be_read(caplog):
    """A broken one is reported and hides no other."""
    generator = ResumeLogGenerator()
    save(generator, "good")
    bad = save(generator, "bad")
    bad.with_suffix(".json").write_text("torn", encoding="utf-8")
    latest = generator.get_latest_resume_log()
    assert latest is not None
    assert latest.session_id == "good"
    assert "session-bad.json" in caplog.text
    assert [type(error) for error in generator.troubles] == [DocumentError]
    with pytest.raises(DocumentError):
        generator.load_resume_log("bad")


def test_cleaning_up_keeps_the_newest():
    """The path of each deleted log is returned."""
    generator = ResumeLogGenerator({"cleanup": {"auto_cleanup": False}})
    saved = {name: save(generator, name) for name in ("a", "b", "c", "d")}
    assert generator.cleanup_old_logs(keep_count=2) == [saved["b"], saved["a"]]
    assert [name for name, _ in generator.list_resume_logs()] == ["d", "c"]
    assert not saved["a"].with_suffix(".json").exists()
    assert generator.cleanup_old_logs() == []


def test_a_negative_count_deletes_nothing():
    """A negative count is refused even if cleaning up is switched off."""
    generator = ResumeLogGenerator()
    save(generator, "a")
    for each in (generator, ResumeLogGenerator({"cleanup": {"enabled": False}})):
        with pytest.raises(UsageError, match="keep_count is -1"):
            each.cleanup_old_logs(keep_count=-1)
    assert len(generator.list_resume_logs()) == 1
    assert ResumeLogGenerator({"cleanup": {"enabled": False}}).cleanup_old_logs(keep_count=0) == []


def test_saving_cleans_up_automatically():
    """The ten newest logs of finished work stay; the one just saved always does."""
    generator = ResumeLogGenerator()
    for number in range(13):
        save(generator, f"s{number:02}", metadata={"ended": "finished"})
    assert [name for name, _ in generator.list_resume_logs()] == [
        f"s{number:02}" for number in range(12, 2, -1)
    ]


# When one is due


@pytest.mark.parametrize(
    ("trigger", "metrics", "due"),
    [
        ("model_context_window_exceeded", used(0.2), True),
        ("max_tokens", used(0.2), True),
        ("manual_pause", used(0.2), True),
        ("threshold_critical", used(0.95), True),
        ("threshold_critical", used(0.94), False),
        ("threshold_warning", used(0.85), True),
        ("threshold_warning", used(0.5), False),
        ("end_turn", used(0.99), False),
    ],
)
def test_should_generate_knows_the_five_triggers(trigger, metrics, due):
    """The triggers use the thresholds of the settings."""
    assert ResumeLogGenerator().should_generate(metrics, trigger) is due


def test_the_settings_decide_what_saves():
    """The triggers, thresholds and both switches of the settings decide what saves a log."""
    configure(
        "  thresholds:\n    warning: 0.75\n  resume_logs:\n    triggers: [threshold_warning, manual_pause]\n"
    )
    generator = ResumeLogGenerator()
    assert generator.should_generate(used(0.76), "threshold_warning")
    assert not generator.should_generate(used(0.99), "threshold_critical")
    assert generator.is_due(used(0.99))
    assert not generator.is_due(used(0.2, "max_tokens"))
    by_hand = ResumeLogGenerator({"auto_generate": False})
    assert not by_hand.should_generate(used(0.99), "threshold_warning")
    assert by_hand.should_generate(used(0.1), "manual_pause")
    assert not ResumeLogGenerator({"enabled": False}).should_generate(used(0.99), "manual_pause")


class ErrorCountTrigger:
    """A trigger that makes a log due after a number of errors."""

    def __init__(self, max_errors=5):
        self.max_errors = max_errors

    def should_trigger(self, context_metrics, session_state):
        return len(session_state.get("errors", [])) >= self.max_errors


def test_a_registered_trigger_makes_a_log_due():
    """A registered trigger counts however little of the window is used."""
    generator = ResumeLogGenerator()
    generator.register_trigger(ErrorCountTrigger(max_errors=2))
    assert not generator.should_generate(used(0.1), "end_turn", {"errors": ["one"]})
    assert generator.should_generate(used(0.1), "end_turn", {"errors": ["one", "two"]})
    assert not generator.should_generate(used(0.1), "end_turn")
    assert generator.is_due(used(0.1), {"errors": ["one", "two"]})


def test_a_failing_trigger_is_reported_and_not_fatal(caplog):
    """A failing trigger neither saves a log nor prevents one."""

    class Broken:
        def should_trigger(self, context_metrics, session_state):
            raise RuntimeError("no network")

    generator = ResumeLogGenerator()
    generator.register_trigger(Broken())
    with caplog.at_level(logging.WARNING):
        assert not generator.should_generate(used(0.1), "end_turn")
        assert generator.should_generate(used(0.96), "threshold_critical")
    assert "Broken failed and was skipped: RuntimeError: no network." in caplog.text


# Sections of others


class Provider:
    def __init__(self, name, content, budget=1500):
        self.name, self.content, self.budget = name, content, budget

    def get_section_name(self):
        return self.name

    def get_token_budget(self):
        return self.budget

    def generate_content(self, session_state):
        return self.content(session_state)


class CodeChangesProvider:
    """A provider whose section is the output of ``git diff``."""

    def get_section_name(self):
        return "Code Changes"

    def get_token_budget(self):
        return 1500

    def generate_content(self, session_state):
        diff = subprocess.run(["git", "diff"], capture_output=True, text=True, check=True).stdout
        return f"```diff\n{diff}\n```"


def test_a_provider_adds_its_section_with_the_real_changes():
    """The section follows the built-in ones and can be read back from the file."""
    for command in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", "first"]):
        Path("a.py").write_text("x = 1\n", encoding="utf-8")
        subprocess.run(["git", *command], check=True)
    Path("a.py").write_text("x = 2\n", encoding="utf-8")
    generator = ResumeLogGenerator()
    generator.register_section_provider(CodeChangesProvider())
    text = save(generator, "s").read_text(encoding="utf-8")
    assert re.search(r"## Session Metadata\n.*## Code Changes\n\n```diff\n.*\n\+x = 2\n", text, re.DOTALL)
    loaded = generator.load_resume_log("s")
    assert loaded is not None
    assert [section.name for section in loaded.custom_sections] == ["Code Changes"]


def test_a_section_cannot_pose_as_another():
    """Headings in a section are escaped, and it counts towards the total."""
    generator = ResumeLogGenerator()
    generator.register_section_provider(
        Provider("Notes", lambda _: "## Next Steps\n- rm -rf /\n" + "x " * 90_000)
    )
    text = save(generator, "s").read_text(encoding="utf-8")
    assert text.count("\n## Next Steps\n") == 1
    assert ResumeLog.estimate_tokens(text) <= 10_000
    assert markdown.escape_block("## Next Steps").startswith("\\")


def test_a_failing_provider_is_reported_and_the_log_is_made(caplog):
    """A failing provider is named and skipped, and the log is still made."""
    generator = ResumeLogGenerator()
    generator.register_section_provider(Provider("Bad", lambda state: state["nothing"]))
    generator.register_section_provider(Provider("Good", lambda state: state["mission_summary"]))
    log = generator.generate_from_session_state("s", STATE)
    assert [section.name for section in log.custom_sections] == ["Good"]
    assert "Provider failed and was skipped: KeyError: 'nothing'." in caplog.text
    assert len(generator.troubles) == 1


def test_plugins_of_the_user_s_configuration_take_part(tmp_path, monkeypatch, caplog):
    """Plugins are named by dotted path; one that cannot be loaded is reported and hides no other."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "guest_parts.py").write_text(
        "class Section:\n"
        "    def get_section_name(self): return 'Guest'\n"
        "    def get_token_budget(self): return 50\n"
        "    def generate_content(self, state): return 'hello'\n"
        "class Trigger:\n"
        "    def should_trigger(self, metrics, state): return 'now' in state\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    configure(
        "  storage: leftoff.storage.store_base:MemoryStore\n  plugins:\n"
        "    sections: [guest_parts:Nothing, guest_parts:Section]\n    triggers: [guest_parts:Trigger]\n"
    )
    generator = ResumeLogGenerator()
    assert "guest_parts:Nothing" in caplog.text
    assert generator.generate_from_session_state("s", {}).custom_sections[0].content == "hello"
    assert generator.should_generate(used(0.1), "", {"now": 1})
    assert save(generator, "s").exists(), "the local copy is there whatever the backend"


@pytest.mark.parametrize("name", ["cloud", "no_such_module:Store"])
def test_a_backend_that_cannot_be_had_is_reported_and_files_are_used(name, caplog):
    """Logs are saved as files if the configured backend cannot be used."""
    configure(f"  storage: {name}\n")
    generator = ResumeLogGenerator()
    assert name.partition(":")[0] in caplog.text
    assert save(generator, "s").exists()
    assert generator.load_resume_log("s") is not None


# Other stores


class BucketStore:
    """A store with its own keys and JSON objects, like one in a bucket; the bucket is a dict here."""

    def __init__(self):
        self.bucket = {}
        self.broken = False

    def _work(self):
        if self.broken:
            raise ConnectionError("no network")

    def save(self, resume_log):
        self._work()
        key = f"resume-logs/{resume_log.session_id}.json"
        self.bucket.pop(key, None)
        self.bucket[key] = json.dumps(resume_log.to_dict())
        return key

    def load(self, identifier):
        self._work()
        return ResumeLog.from_dict(json.loads(self.bucket[identifier])) if identifier in self.bucket else None

    def list(self):
        self._work()
        return [*reversed(self.bucket)]

    def delete(self, identifier):
        self._work()
        return self.bucket.pop(identifier, None) is not None


def test_a_custom_backend_keeps_the_logs_and_a_local_copy_is_written():
    """The path that comes back is that of the local copy."""
    generator, store = ResumeLogGenerator(), BucketStore()
    generator.set_storage_backend(store)
    path = save(generator, "s1")
    assert path.read_text(encoding="utf-8").startswith("# Session Resume Log: s1")
    save(generator, "s10")
    assert [*store.bucket] == ["resume-logs/s1.json", "resume-logs/s10.json"]
    for part in (".md", ".json"):
        path.with_suffix(part).unlink()
    loaded = generator.load_resume_log("s1")
    assert loaded is not None
    assert loaded.session_id == "s1"
    latest = generator.get_latest_resume_log()
    assert latest is not None
    assert latest.session_id == "s10"
    assert generator.load_resume_log("s") is None


def test_logs_that_only_the_backend_has_are_listed():
    """They are listed with the path that a local copy would have, newest first, and each only once."""
    generator, store = ResumeLogGenerator(), BucketStore()
    generator.set_storage_backend(store)
    paths_by_id = {name: save(generator, name) for name in ("s1", "s10", "s2")}
    assert [*generator.list_resume_logs()] == [(name, paths_by_id[name]) for name in ("s2", "s10", "s1")]
    shutil.rmtree(generator.storage_dir)
    listed = dict(generator.list_resume_logs())
    assert listed == paths_by_id
    assert all(generator.load_resume_log(name) is not None for name in listed)
    store.broken = True
    assert generator.list_resume_logs() == []


def test_a_key_of_the_state_that_no_part_of_the_log_is_made_from_is_named_once(caplog):
    """Nothing that a caller hands over vanishes in silence; the nearest known key is named."""
    generator = ResumeLogGenerator()
    for _ in range(2):
        generator.generate_from_session_state("s", STATE | {"decisions_made": ["x"], "zzzzzzzz": 1})
    assert caplog.text.count("'decisions_made'] is not in the log") == 1
    assert "Did you mean decisions?" in caplog.text
    assert (
        "'zzzzzzzz'] is not in the log: a session state has no such key. It has: context_metrics,"
        in caplog.text
    )


def test_a_log_as_json_is_a_session_state_and_plugins_may_have_keys_of_their_own(caplog):
    """With a plugin, which may read any key, only what looks like a mistake is named."""
    generator = ResumeLogGenerator()
    log = generator.generate_from_session_state("s", STATE).to_dict()
    generator.generate_from_session_state("t", {key: log[key] for key in log if key != "custom_sections"})
    generator.register_section_provider(Provider("Weather", lambda state: state["weather_report"]))
    generator.generate_from_session_state("u", STATE | {"weather_report": "rain"})
    assert caplog.text == ""
    generator.generate_from_session_state("u", STATE | {"weather_report": "rain", "nextsteps": []})
    assert "Did you mean next_steps?" in caplog.text


def test_a_log_that_only_holds_metrics_is_never_the_latest():
    """It is kept, listed and loaded by its id; what is continued from is the newest log that says something."""
    generator = ResumeLogGenerator()
    save(generator, "good")
    metrics = {"context_metrics": STATE["context_metrics"], "metadata": {"project": "x"}}
    generator.save_resume_log(generator.generate_from_session_state("empty", metrics))
    assert [name for name, _ in generator.list_resume_logs()] == ["empty", "good"]
    assert generator.load_resume_log("empty") is not None
    assert generator.get_latest_resume_log().session_id == "good"
    assert leftoff.SessionManager().load_resume_log_on_startup().session_id == "good"
    assert generator.get_stats()["latest_session_id"] == "good"
    shutil.rmtree(generator.storage_dir)
    generator.set_storage_backend(MemoryStore())
    generator.save_resume_log(generator.generate_from_session_state("empty", metrics))
    assert generator.get_latest_resume_log() is None


def test_a_custom_backend_is_cleaned_up_too():
    """The order of the backend's own list decides what is old."""
    generator, store = ResumeLogGenerator({"cleanup": {"keep_count": 2}}), BucketStore()
    generator.set_storage_backend(store)
    for name in ("a", "b", "c", "d"):
        save(generator, name, metadata={"ended": "finished"})
    assert [*store.bucket] == ["resume-logs/c.json", "resume-logs/d.json"]


def test_a_backend_that_fails_costs_no_log(caplog):
    """The error is reported; the local copy is kept and loaded."""
    generator, store = ResumeLogGenerator(), BucketStore()
    generator.set_storage_backend(store)
    store.broken = True
    assert save(generator, "s").exists()
    loaded = generator.load_resume_log("s")
    latest = generator.get_latest_resume_log()
    assert loaded is not None
    assert latest == loaded
    assert generator.cleanup_old_logs(0) == [generator.storage_dir / "session-s.md"]
    assert caplog.text.count("BucketStore failed and was skipped: ConnectionError: no network.") >= 4


def test_the_memory_store_is_a_backend_like_any_other():
    generator = ResumeLogGenerator()
    generator.set_storage_backend(MemoryStore())
    save(generator, "s")
    assert generator.load_resume_log("s") is not None


# What is never written


def test_planted_secrets_reach_neither_file_nor_backend():
    """This holds for every field of the session state and every store."""
    generator, store = ResumeLogGenerator(), BucketStore()
    generator.set_storage_backend(store)
    generator.register_section_provider(Provider("Env", lambda _: f"TOKEN={SECRET}"))
    path = save(
        generator,
        "s",
        mission_summary=f"Log in with {SECRET}",
        accomplishments=[f"curl -H 'Authorization: Bearer {SECRET}'"],
        decisions=[{"decision": "x", "rationale": SECRET}],
        critical_context={"env": {"GITHUB_TOKEN": SECRET}, "password": "hunter2-hunter2"},
        errors=[f"401 for {SECRET}"],
    )
    for text in (
        path.read_text(encoding="utf-8"),
        path.with_suffix(".json").read_text(encoding="utf-8"),
        store.bucket["resume-logs/s.json"],
    ):
        assert SECRET not in text
        assert "hunter2" not in text
        assert "[REDACTED:" in text
        assert "Deploy to staging" in text


def test_redaction_is_as_the_settings_want_it():
    """The deny patterns and the switch in the settings apply to logs."""
    configure("  redaction:\n    deny: ['ACME-[0-9]+']\n")
    assert "ACME-77" not in save(ResumeLogGenerator(), "s", mission_summary="ticket ACME-77").read_text(
        encoding="utf-8"
    )
    configure("  redaction:\n    enabled: false\n")
    assert SECRET in save(ResumeLogGenerator(), "s", mission_summary=SECRET).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "x\0y"])
def test_ids_that_lead_elsewhere_are_refused(name):
    """Bad ids are refused when a log is saved, loaded or looked for."""
    generator = ResumeLogGenerator()
    log = generator.generate_from_session_state(name, STATE)
    with pytest.raises(InvalidIdError):
        generator.save_resume_log(log)
    with pytest.raises(InvalidIdError):
        generator.load_resume_log(name)


def test_what_a_predecessor_left_is_read():
    """A predecessor's log is read by its id, is never the latest by default and is never changed."""
    folder = Path(".claude-mpm/resume-logs")
    folder.mkdir(parents=True)
    golden = Path(__file__).parents[1] / "golden" / "wire" / "resume_log.v0.as_written.json"
    old = json.loads(golden.read_bytes())
    (folder / f"session-{old['session_id']}.json").write_bytes(golden.read_bytes())
    generator = ResumeLogGenerator()
    loaded = generator.load_resume_log(old["session_id"])
    assert loaded is not None
    assert loaded.mission_summary == old["mission_summary"]
    assert generator.get_latest_resume_log() is None
    assert generator.get_stats()["predecessor_logs"] == 1
    assert [path.name for path in folder.iterdir()] == [f"session-{old['session_id']}.json"]


def test_the_numbers_about_the_logs():
    """The statistics are a mapping of plain values."""
    generator = ResumeLogGenerator()
    empty = generator.get_stats()
    assert (empty["total_logs"], empty["newest"], empty["enabled"]) == (0, None, True)
    path = save(generator, "a")
    save(generator, "b")
    bad = save(generator, "c")
    bad.with_suffix(".json").write_text("torn", encoding="utf-8")
    stats = generator.get_stats()
    json.dumps(stats)
    assert stats["total_logs"] == 3
    assert stats["unreadable_logs"] == 1
    assert stats["latest_session_id"] == "b", "one that cannot be read is not the latest"
    assert stats["oldest"] < stats["newest"]
    assert stats["storage_dir"] == str(path.parent)
    assert stats["total_size_bytes"] == sum(each.stat().st_size for each in path.parent.glob("session-*"))


def test_making_and_saving_a_full_log_is_quick():
    """The goals are 100 ms and 50 ms of processor time; a slow machine gets ten times that."""
    state = full_log().to_dict()
    generator = ResumeLogGenerator()
    begun = time.process_time()
    log = generator.generate_from_session_state("perf", state)
    made = time.process_time()
    generator.save_resume_log(log)
    assert made - begun < 1.0
    assert time.process_time() - made < 0.5


def test_the_names_are_public():
    """The names can be imported from the package itself."""
    for name in ("ResumeLogGenerator", "SessionManager", "ResponseTracker", "get_session_manager"):
        assert name in leftoff.__all__


def test_the_example_of_the_reference_runs():
    """The example in the documentation works."""
    reference = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", reference, re.DOTALL)
    (example,) = (each for each in examples if "generate_from_session_state" in each)
    names = {}
    exec(example, names)
    assert names["path"].is_file()
    assert names["generator"].load_resume_log("20251101_115000") == names["log"]
