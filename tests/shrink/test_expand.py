"""The original behind a placeholder."""

import pytest

from leftoff.errors import LeftoffError, NotFoundError
from leftoff.shrink import expand
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.shrink.trim import TrimOptions, prepare_trim
from leftoff.workspace import Workspace
from tests.support.long_sessions import LONG, results, trimmed


def test_expand_returns_the_original_of_a_placeholder(source):
    derived = trimmed(source)
    text = next(text for text in results(derived.output_file) if parse_placeholder(text))
    found = expand.expand(parse_placeholder(text).key)
    assert LONG.strip()[-200:] in found.text
    assert found.transcript == str(source)
    assert found.line == parse_placeholder(text).line


def test_expand_fails_if_the_original_is_gone_or_changed(source):
    derived = trimmed(source)
    key = parse_placeholder(
        next(text for text in results(derived.output_file) if parse_placeholder(text))
    ).key
    data = source.read_bytes()
    source.write_bytes(data.replace(b"amounts", b"AMOUNTS"))
    with pytest.raises(LeftoffError, match="has changed since"):
        expand.expand(key)
    source.unlink()
    with pytest.raises(NotFoundError, match="is gone"):
        expand.expand(key)
    with pytest.raises(LeftoffError, match="is not a key"):
        expand.expand("nonsense")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"file_path": "ä.py"}, '{\n  "file_path": "ä.py"\n}'),
        ([{"type": "image"}], '[\n  {\n    "type": "image"\n  }\n]'),
    ],
)
def test_an_original_is_shown_as_text_or_json(value, text):
    assert expand.Original(key="k", value=value, part="result", transcript="t", line=1).text == text


def test_an_input_is_expanded_completely(source):
    derived = trimmed(source)
    key = next(
        cut.key
        for cut in prepare_trim(str(source), Workspace.open(), TrimOptions()).plan.cuts
        if cut.part == "input"
    )
    found = expand.expand(key)
    assert found.part == "input"
    assert "the ledger keeps its amounts" in found.text
    assert derived.session_id not in found.transcript
