"""Every setting as a key: what it takes, and that a value survives each way of giving it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from ruamel.yaml import YAML

from leftoff.config import load
from leftoff.config.settings import Key, Settings, build_settings, known_keys

KEYS = [*known_keys().values()]


def other_value(key: Key) -> Any:
    """A value that is not the default, as Python holds it."""
    match key.annotation:
        case type() as kind if kind is bool:
            return not key.default
        case type() as kind if kind is int:
            return key.default + 1 if key.declared.at_most is None else key.default - 1
        case type() as kind if kind is float:
            return 0.5
        case type() as kind if kind is str:
            return "other"
    origin, arguments = get_origin(key.annotation), get_args(key.annotation)
    if origin is Literal:
        return arguments[-1]
    if origin is tuple:
        return (
            tuple(get_args(arguments[0])[:2]) if get_origin(arguments[0]) is Literal else ("one", "two words")
        )
    if origin is Mapping:
        return {
            int: {"model-1[1m]": 5, "m.2": 7},
            float: {"model-1[1m]": 5.5, "m.2": 0.125},
            str: {"planning": "a b", "x": "y/z"},
        }[arguments[1]]
    return key.default - 0.005  # a threshold that keeps its place among the others


def as_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {each}" for name, each in value.items())
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_yaml(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value


def value_in(settings: object, dotted: str) -> Any:
    for name in dotted.split("."):
        settings = getattr(settings, name)
    return settings


@pytest.mark.parametrize("key", KEYS, ids=[key.dotted for key in KEYS])
def test_a_value_is_the_same_from_file_environment_and_command_line(tmp_path: Path, key: Key) -> None:
    """Every setting keeps its value and type from each source."""
    value = other_value(key)
    document: dict[str, Any] = {}
    inner = document.setdefault("context_management", {})
    for name in key.dotted.split(".")[:-1]:
        inner = inner.setdefault(name, {})
    inner[key.dotted.rpartition(".")[2]] = as_yaml(value)
    text = io.StringIO()
    YAML(typ="safe", pure=True).dump(document, text)
    (tmp_path / "user.yaml").write_text(text.getvalue(), encoding="utf-8")
    nowhere = tmp_path / "none"
    for config in (
        load.load(user_file=tmp_path / "user.yaml"),
        load.load(user_file=nowhere, environment={key.variable: as_text(value)}),
        load.load(user_file=nowhere, options={key.dotted: as_text(value)}),
    ):
        assert not config.mistakes
        found = value_in(config.settings, key.dotted)
        assert found == value
        assert type(found) is type(value)
        assert config.origins[key.dotted].layer != "default"


def test_no_two_settings_share_a_variable() -> None:
    """No setting uses a variable that is reserved for something else."""
    variables = [key.variable for key in KEYS]
    assert len({*variables}) == len(variables)
    assert not {*variables} & load.RESERVED_VARIABLES


def test_every_setting_says_what_it_means_and_takes() -> None:
    """The descriptions are used in the documentation."""
    assert all(key.declared.meaning.endswith(".") and key.takes for key in KEYS)
    assert known_keys()["windows"].takes == "mapping to whole number"
    assert known_keys()["trim.tools"].takes == "list of text"
    assert known_keys()["restore.on_startup"].takes == "offer | full | off"


def test_every_default_is_a_value_of_its_own_setting() -> None:
    """What is declared can also be written down."""
    for key in KEYS:
        assert key.value(as_yaml(key.default)) == key.default
    assert build_settings({}) == Settings()


def test_settings_are_values() -> None:
    """Settings with the same values are equal; neither they nor a default mapping can be changed."""
    quiet = build_settings({"pause.enabled": False})
    assert quiet == build_settings({"pause.enabled": False}) != Settings()
    assert quiet.pause.enabled is False
    assert Settings().pause.enabled is True
    assert "enabled=False" in repr(quiet.pause)
    with pytest.raises(AttributeError, match="can't set"):
        quiet.pause.enabled = True
    with pytest.raises(TypeError, match="does not support item assignment"):
        Settings().project_state.layout["planning"] = "x"


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("LEFTOFF_ENABLED", "yes", "LEFTOFF_ENABLED: enabled is 'yes'; it takes: true | false."),
        ("LEFTOFF_ENABLED", "", "LEFTOFF_ENABLED: enabled is ''; it takes: true | false."),
        (
            "LEFTOFF_BUDGET_TOTAL",
            "many",
            "LEFTOFF_BUDGET_TOTAL: budget_total is 'many'; it takes: whole number.",
        ),
        ("LEFTOFF_BUDGET_TOTAL", "9" * 5000, "LEFTOFF_BUDGET_TOTAL: budget_total is '9999"),
        (
            "LEFTOFF_PROJECT_STATE_WARN",
            "nan",
            "LEFTOFF_PROJECT_STATE_WARN: project_state.warn is 'nan'; it takes:",
        ),
        ("LEFTOFF_WINDOWS", "a", "LEFTOFF_WINDOWS: windows is 'a'; it takes: name=value,name=value."),
        ("LEFTOFF_WINDOWS", "a=x", "LEFTOFF_WINDOWS: windows is 'a=x'; it takes: whole number."),
        ("LEFTOFF_PRICES", "a=x", "LEFTOFF_PRICES: prices is 'a=x'; it takes: number."),
        ("LEFTOFF_PRICES", "a=nan", "LEFTOFF_PRICES: prices is 'a=nan'; it takes: number."),
        ("LEFTOFF_PROJECT_STATE_LAYOUT", "planning", "LEFTOFF_PROJECT_STATE_LAYOUT: project_state.layout is"),
        (
            "LEFTOFF_BUDGET_TOTALS",
            "1",
            "LEFTOFF_BUDGET_TOTALS: LEFTOFF_BUDGET_TOTALS is not a setting. Did you mean",
        ),
        (
            "LEFTOFF_DISABLED",
            "1",
            "LEFTOFF_DISABLED: LEFTOFF_DISABLED is not a setting. Did you mean LEFTOFF_DISABLE?",
        ),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(
    tmp_path: Path, variable: str, text: str, words: str
) -> None:
    """The message also says what the variable accepts or which one was meant."""
    (mistake,) = load.load(user_file=tmp_path / "none", environment={variable: text}).mistakes
    assert str(mistake).startswith(words)


def test_variables_that_are_not_settings_are_ignored(tmp_path: Path) -> None:
    """Reserved variables of leftoff and those of other programs are ignored."""
    environment = {**dict.fromkeys(load.RESERVED_VARIABLES, "1"), "PATH": "x", "LEFTOFFX": "1"}
    assert not load.load(user_file=tmp_path / "none", environment=environment).mistakes


def test_an_unknown_option_is_reported(tmp_path: Path) -> None:
    """An unknown option is reported like an unknown key of any other layer."""
    (mistake,) = load.load(user_file=tmp_path / "none", options={"budget": "1"}).mistakes
    assert str(mistake) == "--set budget: budget is not a setting. Did you mean budget_total?"
