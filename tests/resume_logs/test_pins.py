"""Pins are kept word for word, each with a place that a source can name, within a limit."""

import hashlib
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import NotFoundError, NothingToDoError, StorageError, UsageError
from leftoff.platform import paths
from leftoff.resume_logs import pins

AT = datetime(2026, 1, 6, 12, 5, tzinfo=UTC)
GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "pin.v1.jsonl"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "data" / "pins" / "p.jsonl"


def test_a_pin_is_kept_word_for_word_with_its_place(file):
    """Bytes, hash and line are those of the file."""
    pins.add(file, "never push to main", AT)
    pins.add(file, "ports: 8080\nand `日本語`", AT)
    first, second = pins.read(file)
    assert (first.text, second.text) == ("never push to main", "ports: 8080\nand `日本語`")
    assert (first.at, second.place.line_idx) == (AT, 1)
    content = file.read_bytes()
    for pin in (first, second):
        raw = content[pin.place.start : pin.place.end]
        assert json.loads(raw)["text"] == pin.text
        assert hashlib.sha256(raw).hexdigest() == pin.sha256
        assert pin.place.transcript == str(file)
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_golden_file_is_read_and_written_byte_for_byte(file):
    """Files on users' disks stay readable."""
    kept = pins.read(GOLDEN)
    assert [pin.text for pin in kept] == ["never push to main; 日本語も", "the API is at :8080\nuntil March"]
    for pin in kept:
        pins.add(file, pin.text, pin.at)
    assert file.read_bytes() == GOLDEN.read_bytes()


def test_removing_a_pin_keeps_the_places_of_the_others(file):
    """A log that names the second pin as its source stays right after the first is removed."""
    for text in ("one", "two", "three"):
        pins.add(file, text, AT)
    before = pins.read(file)
    gone, left = pins.remove(file, 1, AT)
    assert gone == before[0]
    assert left == before[1:]
    gone, left = pins.remove(file, 2, AT)
    assert (gone.text, [pin.text for pin in left]) == ("three", ["two"])
    assert [pin.text for pin in pins.add(file, "four", AT)] == ["two", "four"]


def test_a_pin_is_in_force_from_when_it_was_set_to_when_it_was_removed(file):
    """A pin without a time is not known to have been in force earlier."""
    hour = timedelta(hours=1)
    pins.add(file, "one", AT)
    pins.add(file, "two", AT + hour)
    pins.remove(file, 1, AT + 2 * hour)
    pins.add(file, "one", AT + 4 * hour)
    with file.open("a", encoding="utf-8") as lines:
        lines.write('{"schema": 1, "text": "undated"}\n')
    in_force = [[pin.text for pin in pins.read(file, AT + hours * hour)] for hours in (-1, 0, 1, 2, 3, 4)]
    assert in_force == [[], ["one"], ["two", "one"], ["two"], ["two"], ["two", "one"]]
    assert [pin.text for pin in pins.read(file)] == ["two", "one", "undated"]


@pytest.mark.parametrize("number", [0, 3, -1])
def test_an_invalid_number_is_refused(file, number):
    """The error says how many pins there are."""
    pins.add(file, "one", AT)
    pins.add(file, "two", AT)
    with pytest.raises(NotFoundError, match=r"This project has no pin -?\d. It has 2 pins: leftoff pins"):
        pins.remove(file, number, AT)


def test_without_a_file_there_is_nothing_to_remove(file):
    assert pins.read(file) == ()
    with pytest.raises(NotFoundError, match="It has none"):
        pins.remove(file, 1, AT)
    assert not file.parent.exists()


def test_broken_lines_are_skipped(file):
    """Torn lines, lines of other programs and lines of a newer version are skipped."""
    pins.add(file, "one", AT)
    with file.open("ab") as out:
        out.write(
            b'{"schema": 1, "te\n[1]\nnull\n{"schema": 99, "text": "x"}\n{"schema": 1, "text": " "}\n\xff\n'
        )
        out.write(b'{"schema": 1, "text": "no time", "at": 5}\n{"schema": 1, "text": "torn"')
    pins.add(file, "two", AT)
    kept = pins.read(file)
    assert [(pin.text, pin.at) for pin in kept] == [("one", AT), ("no time", None), ("two", AT)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing to pin"),
        (" \n", "nothing to pin"),
        ("a\x1b[31m", r"U\+001B"),
        ("a\x00b", r"U\+0000"),
        ("\ud800", r"U\+D800"),
    ],
)
def test_empty_texts_and_control_characters_are_refused(file, text, words):
    """The error says what is wrong."""
    with pytest.raises(UsageError, match=words):
        pins.add(file, text, AT)
    assert not file.exists()


def test_the_same_text_is_pinned_once(file):
    """The error says which number it has."""
    pins.add(file, "one", AT)
    with pytest.raises(NothingToDoError, match="as number 1"):
        pins.add(file, " one ", AT)
    assert len(pins.read(file)) == 1


def test_all_pins_together_have_a_limit(file):
    """The error says what each takes and what to type."""
    pins.add(file, "word " * 1000, AT)
    with pytest.raises(
        UsageError, match=r"takes 1,0\d\d tokens.*1,2\d\d of the 2,000.*leftoff unpin N"
    ) as refused:
        pins.add(file, "words" * 800, AT)
    assert "nothing was pinned" in str(refused.value)
    assert len(pins.read(file)) == 1
    pins.add(file, "short", AT)


def test_one_enormous_text_is_refused(file):
    """Removing a pin is not suggested if there is none."""
    with pytest.raises(UsageError, match="Pin what matters most"):
        pins.add(file, "x" * 1_000_000, AT)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=80))
def test_any_text_is_kept_unchanged(tmp_path_factory, text):
    """Text in any script is kept."""
    file = tmp_path_factory.mktemp("pins") / "p.jsonl"
    if text.strip():
        assert pins.add(file, text, AT)[-1].text == text.strip() == pins.read(file)[0].text


def test_all_folders_of_a_project_share_its_pins(tmp_path):
    """Folders and worktrees of a project share its pins, and another project has its own."""
    repo, other = tmp_path / "repo", tmp_path / "other"
    for folder in (repo, other):
        folder.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=repo, check=True)
    subprocess.run(["git", "worktree", "add", "-q", str(tmp_path / "tree")], cwd=repo, check=True)
    (repo / "src").mkdir()
    found = [
        pins.file_of(paths.find_project(folder)) for folder in (repo, repo / "src", tmp_path / "tree", other)
    ]
    assert found[0] == found[1] == found[2] != found[3]
    assert found[0].is_relative_to(paths.data_folder())


def test_concurrent_pins_are_not_lost_and_keep_the_limit(file):
    """Eight processes pin at once; reading and appending are one step."""
    code = (
        "import sys; from pathlib import Path; from datetime import datetime, UTC; from leftoff.resume_logs import pins\n"
        "from leftoff.errors import UsageError\n"
        "for n in range(12):\n"
        "    try: pins.add(Path(sys.argv[1]), f'{sys.argv[2]} {n} ' + 'word ' * 20, datetime(2026, 1, 1, tzinfo=UTC))\n"
        "    except UsageError: pass\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(file), str(n)]) for n in range(8)]
    assert [run.wait(60) for run in runs] == [0] * 8
    kept = pins.read(file)
    used = sum(pins.estimate_tokens(pin.text) for pin in kept)
    assert len({pin.text for pin in kept}) == len(kept) == len(file.read_bytes().splitlines())
    assert 2000 - 30 < used <= 2000


def test_a_file_that_cannot_be_read_is_an_error(file):
    """A folder in place of the file is an error."""
    file.mkdir(parents=True)
    with pytest.raises(StorageError, match="it is a folder, not a file"):
        pins.read(file)
