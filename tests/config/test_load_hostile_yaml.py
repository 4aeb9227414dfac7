"""YAML that was made to hurt: never an exception, never a wait, never an object."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leftoff.config import load
from leftoff.config.load import LARGEST_TEXT_BYTES
from leftoff.config.settings import known_groups, known_keys
from leftoff.config.yaml_entries import NotYamlError, entries

HEAD = "context_management:\n"


def bomb(levels: int) -> str:
    """Return YAML in which each level has ten aliases of the one below: 10**levels values if expanded."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, levels)]
    return "".join(lines)


_WIDE = f"w: &w [{'x,' * 4000}]\nb: &b [{'*w,' * 4000}]\n"
_HOSTILE = {
    "bomb of lists": bomb(30) + HEAD + "  enabled: *a29\n  trim: {tools: *a29}\n  windows: {a: *a29}\n",
    "bomb of maps": "m0: &m0 {a: x}\n"
    + "".join(f"m{n}: &m{n} {{a: *m{n - 1}, b: *m{n - 1}}}\n" for n in range(1, 60))
    + HEAD
    + "  windows: *m59\n  storage: *m59\n",
    "bomb as key": bomb(9) + HEAD + "  ? *a8\n  : 1\n",
    "wide": _WIDE + HEAD + "  trim: {tools: *b}\n",
    "itself": HEAD + "  storage: &a [*a]\n  windows: &b {c: *b}\n  trim: &t {tools: *t, trim: *t}\n",
    "merges itself": HEAD + "  <<: &x {<<: *x}\n",
    "deep flow": HEAD + "  storage: " + "[" * 30_000,
    "deep maps": HEAD + "  storage: " + "{a: " * 7_000,
    "deep block": HEAD + "  storage: " + "- " * 15_000,
    "deep keys": "? " * 15_000,
    "open maps": "{" * 1000 + "a: " * 10_000,
    "hexadecimal": HEAD + "  budget_total: 0x" + "F" * 20_000 + "\n  enabled: 0x" + "F" * 5000 + "\n",
    "decimal": HEAD + "  budget_total: " + "9" * 20_000 + "\n",
    "sexagesimal": "%YAML 1.1\n---\n" + HEAD + "  budget_total: 190:20:30\n  enabled: no\n",
    "python": HEAD
    + "  storage: !!python/object/apply:os.system ['touch owned']\n"
    + "  summariser: !!python/object/new:os.system ['touch owned']\n"
    + "  trim: !!python/object:subprocess.Popen {args: touch owned}\n",
    "tags": HEAD
    + "  a: !!binary '%%%'\n  b: !!timestamp foo\n  c: !!bool foo\n  d: !!int x\n  e: !!float y\n  f: !!set {a}\n",
    "ordered map": "context_management: !!omap\n  - enabled: false\n",
    "anchors twice": HEAD + "  enabled: &x true\n  storage: &x files\n",
    "many keys": HEAD + "".join(f"  k{n}: 1\n" for n in range(3000)),
    "many models": HEAD + "  windows:\n" + "".join(f"    k{n}: 1\n" for n in range(2500)),
    "long key": HEAD + "  ? " + "k" * 30_000 + "\n  : 1\n",
    "carriage returns": HEAD.replace("\n", "\r") + "  enabled: true\r",
    "separators": HEAD + "  storage: 'a\u2028b\u0085c'\n",
}


@pytest.mark.parametrize("text", [*_HOSTILE.values()], ids=[*_HOSTILE])
def test_hostile_yaml_costs_no_more_than_a_moment(tmp_path: Path, text: str) -> None:
    """Each fits into the size that is read at all; none takes long, makes a file, or sets what it may not."""
    assert len(text.encode()) <= LARGEST_TEXT_BYTES
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8", newline="")
    began = time.process_time()
    config = load.load(user_file=tmp_path / "none", project_file=tmp_path / "c.yaml")
    assert time.process_time() - began < 3
    assert [*Path.cwd().iterdir()] == []
    assert max((len(str(mistake)) for mistake in config.mistakes), default=0) < 400 + len(str(tmp_path))
    assert config.settings.storage == "files"


_NAMES = st.sampled_from([*known_keys(), *known_groups(), "context_management", "<<", "", "enabeld"]).map(
    lambda dotted: dotted.rpartition(".")[2]
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        [
            "!!bool x",
            "!!int x",
            "!foo bar",
            "&a x",
            "*a",
            "|",
            ">",
            "[",
            "{",
            "- a",
            "0x1F",
            "1e400",
            ".inf",
            "~",
        ]
    )
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


def flow(value: object) -> str:
    """Return YAML as written by someone who does not know quoting."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value)


def read(folder: Path, text: str) -> None:
    file = folder / "c.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    for config in (load.load(user_file=file), load.load(user_file=folder / "none", project_file=file)):
        load.thresholds(config.settings)
        for mistake in config.mistakes:
            assert str(mistake)


@given(st.dictionaries(_NAMES, _VALUES, max_size=6))
def test_no_document_makes_loading_fail(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, object]
) -> None:
    """Random values under known, unknown and odd keys: mistakes, never exceptions, and thresholds in order."""
    folder = tmp_path_factory.getbasetemp() / "documents"
    folder.mkdir(exist_ok=True)
    read(folder, HEAD + "".join(f"  {name}: {flow(value)}\n" for name, value in document.items()))


@given(
    st.text(alphabet="ab:-?[]{}#&*!|>'\"%@`, \n\t\\0.~<=_\ufeff\u2028\x85")
    | st.text()
    | st.binary().map(repr)
)
@example("? ")
@example("!!bool foo")
@example("context_management: !!set {a}")
@example("%TAG ! !\n--- !a")
def test_no_text_makes_reading_yaml_fail(text: str) -> None:
    """Reading gives entries or a ``NotYamlError`` and nothing else."""
    for candidate in (text, HEAD + "  " + text, HEAD + "  trim: " + text):
        with suppress(NotYamlError):
            for entry in entries(candidate, section="context_management", groups=known_groups()):
                assert entry.line >= 1
