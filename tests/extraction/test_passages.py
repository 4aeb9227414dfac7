"""Paragraphs: how a text is split into them, which are chosen for the room there is, and how they are put together again."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.extraction import passages
from leftoff.extraction.passages import GAP, GAP_CHARS, Entry, fit, join, split, tell, words
from tests.support import strategies

TABLE = "| domain | covered |\n|---|---|\n| logs | yes |\n| traces | no |"
CODE = "```sh\nmake trace\n\ngo tool trace out\n```"
LIST = "- first the parser\n- then the writer\n  with its tests\n\n"


LONG = "This is a paragraph that says enough to be read alone." + " It goes on like that." * 25


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{LONG}\n \n\n{LONG}", [LONG, LONG]),
        (f"Great question!\n\n{LONG}\n\n{LONG}", [f"Great question!\n\n{LONG}", LONG]),
        ("One.\n\nTwo.\n \n\nThree.", ["One.\n\nTwo.\n\nThree."]),
        (f"{LONG} We cover:\n\n{TABLE}\n\n{LONG}", [f"{LONG} We cover:\n{TABLE}", LONG]),
        (f"{LONG} Profile with:\n\n{CODE}\n\n{LONG}", [f"{LONG} Profile with:\n\n{CODE}", LONG]),
        (f"{LONG}\n\n{LIST}", [LONG, LIST.strip()]),
        (f"{LONG}次の表のとおり:\n\n{TABLE}", [f"{LONG}次の表のとおり:\n{TABLE}"]),
        (f"## Plan\n\n{LIST}{LONG}", [f"**Plan**\n{LIST.strip()}\n\n{LONG}"]),
        (f"{LONG}\n\n**Schritte**\n\n{LIST}", [LONG, f"**Schritte**\n{LIST.strip()}"]),
        (f"```md\n~~~\n\n```\n\n{LONG}", [f"```md\n~~~\n\n```\n\n{LONG}"]),
        ("```\nnever closed\n\n\nstill code", ["```\nnever closed\n\n\nstill code"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_a_text_is_split_into_paragraphs_that_make_sense_alone(text: str, parts: list[str]) -> None:
    """Tables, lists and code stay whole, with the line that introduces them; what is short stays with what follows."""
    assert split(text) == parts


def test_a_long_list_is_split_between_its_entries() -> None:
    """A nested line stays with its entry; a table is never split."""
    entries = [f"- entry {number} says something of its own\n  - and more below it" for number in range(30)]
    parts = split("What was found:\n" + "\n".join(entries))
    assert len(parts) > 3
    assert all(part.startswith("- entry") for part in parts[1:])
    assert all(part.endswith("below it") for part in parts)
    table = "\n".join(["| a | b |", "|---|---|", *(f"| row {number} | {'x' * 40} |" for number in range(40))])
    assert split(table) == [table]


@given(strategies.long_texts)
def test_splitting_loses_nothing_but_blank_lines_and_marks_of_headings(text: str) -> None:
    assert re.sub(r"[\s#*_-]+", "", "\n".join(split(text))) == re.sub(r"[\s#*_-]+", "", text)


told_texts = st.one_of(
    st.lists(
        st.sampled_from(["the", "store", "keeps", "cents", "because", "of", "丸め誤差", "für", "Beträge"])
    ).map(" ".join),
    strategies.texts,
)
entries = st.lists(
    st.builds(
        Entry,
        st.sampled_from(["", "Asked “x”: ", "On “a longer request”: "]),
        st.lists(told_texts, max_size=4),
        st.floats(0.1, 4),
        st.sampled_from([0.0, 0.0, 0.3, 1.0]),
    ),
    max_size=8,
)


@given(entries, st.integers(-10, 400))
def test_what_is_told_fits_the_room(offered: list[Entry], room: int) -> None:
    """With the labels."""
    told = dict(tell(offered, room, known=""))
    assert sum(len(text) + len(offered[number].label) for number, text in told.items()) <= max(
        0, room
    ) + GAP_CHARS * len(told)


FILLER = ["Everything else goes on as before.", "Alles Weitere bleibt, wie es war.", "他はそのままです。"]


@pytest.mark.parametrize(
    ("first", "again", "new"),
    [
        (
            "The importer drops the last row of each file.",
            "The last row of each file: the importer drops it, each row.",
            "Totals are kept in cents.",
        ),
        (
            "Der Import verliert die letzte Zeile jeder Datei.",
            "Die letzte Zeile jeder Datei verliert der Import, jeder Datei.",
            "Summen bleiben in Cent.",
        ),
        (
            "インポーターは各ファイルの最後の行を落とします。",
            "各ファイルの最後の行を落とします。インポーターは落とします。",
            "合計はセント単位で保存。",
        ),
        ("导入器会丢掉每个文件的最后一行。", "每个文件的最后一行导入器会丢掉。", "总额以分为单位。"),
    ],
)
def test_what_was_said_before_gives_way_to_what_is_new_in_any_language(
    first: str, again: str, new: str
) -> None:
    """Said twice, told once: with room for two, the repetition is left out."""
    offered = [Entry("", [text], 1.0) for text in (first, again, new, *FILLER)]
    room = len(max(first, again, key=len)) + len(new) + 2 * GAP_CHARS
    assert {number for number, _ in tell(offered[:3], room, known="")} in ({0, 2}, {1, 2})
    mostly_new = [each._replace(novelty=0.5) for each in offered[:3]]
    assert [number for number, _ in tell(mostly_new, 500, known=first)] == [2]


def test_an_entry_is_told_from_its_beginning_and_without_what_is_known() -> None:
    answer = Entry("Asked “x”: ", ["The parser drops a row.", "It is the last one.", LONG], 1.0)
    total = Entry("", ["Totals are cents."], 2.0)
    assert tell([answer, total], 120, known="") == [
        (0, f"The parser drops a row.\n\nIt is the last one.\n{GAP}"),
        (1, "Totals are cents."),
    ]
    assert tell([total], 120, known="So: Totals are cents. And so on") == []


def test_weight_decides_between_equals() -> None:
    offered = [Entry("", ["Alpha beta gamma."], 1.0), Entry("", ["Delta epsilon zeta."], 2.0)]
    assert [number for number, _ in tell(offered, 30, known="")] == [1]


def test_words_are_names_and_their_parts_and_pairs_of_characters() -> None:
    assert words("`src/store.py` Über MAX_SIZE") >= {"src/store.py", "src", "store", "py", "über"}
    assert words("日本語") == {"日本", "本語"}
    assert words("—…!") == set()


@given(st.lists(st.integers(0, 9), unique=True, min_size=1))
def test_chosen_paragraphs_keep_their_order_and_gaps_are_marked(numbers: list[int]) -> None:
    joined = join((number, f"p{number}") for number in numbers)
    found = [int(digit) for digit in re.findall(r"p(\d)", joined)]
    assert found == sorted(numbers)
    breaks = sum(after - before > 1 for before, after in pairwise([-1, *found])) if found else 0
    assert joined.count(GAP) == breaks


@given(strategies.long_texts, st.integers(0, 600))
def test_a_text_that_is_made_to_fit_is_never_longer_than_asked(text: str, max_chars: int) -> None:
    assert len(fit(text, max_chars)) <= max_chars


def test_a_single_long_paragraph_is_cut_and_never_dropped() -> None:
    for text in ("This one paragraph goes on and on. " * 100, "日本語の段落" * 500):
        assert 900 < len(fit(text, 1_000)) <= 1_000


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    """The end says what is next; there is one mark for what is left out."""
    parts = [LONG.replace("This", f"p{n}") for n in range(9)]
    fitted = fit(
        "\n\n".join(
            [
                *parts,
                "Next: the docs, then the release, and after that the report that was asked for at first.",
            ]
        ),
        1_000,
    )
    assert (
        fitted
        == f"{parts[0]}\n{GAP}\n\nNext: the docs, then the release, and after that the report that was asked for at first."
    )


def test_entries_of_a_list_are_joined_without_blank_lines() -> None:
    assert join([(0, "Found:\n- a"), (1, "- b"), (2, "After.")]) == "Found:\n- a\n- b\n\nAfter."
    assert join([(0, "Found:\n- a"), (2, "- c")]) == f"Found:\n- a\n{GAP}\n\n- c"


@pytest.mark.parametrize(
    "noise", [CODE, '{"task_id": "b020b62", "code": [1, 2, 3]}', "12:01:09 [33m200[0m 10ms"]
)
@pytest.mark.parametrize("prose", ["It keeps cents, not floats.", "Er zählt Cent.", "合計はセント単位です。"])
def test_code_and_logs_are_worth_less_than_prose_of_any_language(noise: str, prose: str) -> None:
    assert passages.worth(noise) < passages.worth(prose)


def test_every_process_makes_the_same_choice() -> None:
    """The order of a set differs from process to process; a log must read the same each time it is shown."""
    program = (
        "from leftoff.extraction.passages import fit\n"
        "parts = [f'Part {n} of it moves the old table {n} and the new view {n} elsewhere.' for n in range(60)]\n"
        "print(fit('\\n\\n'.join(parts), 1500))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in range(4)
    }
    assert len(texts) == 1
    assert GAP in texts.pop()
