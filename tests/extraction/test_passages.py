"""Paragraphs: how a text is split into them, which are chosen for the room there is, and how they are put together again."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.extraction import passages
from leftoff.extraction.passages import (
    GAP,
    GAP_CHARS,
    Entry,
    Paragraph,
    choose,
    fit_paragraphs,
    join,
    split,
    tell,
    words,
)
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
    assert re.sub(r"[\s#*]+", "", "\n".join(split(text))) == re.sub(r"[\s#*]+", "", text)


paragraphs = st.lists(
    st.builds(
        Paragraph,
        st.integers(0, 3),
        st.integers(0, 8),
        st.one_of(
            st.lists(
                st.sampled_from(
                    ["the", "store", "keeps", "cents", "because", "of", "丸め誤差", "für", "Beträge"]
                )
            ).map(" ".join),
            strategies.texts,
        ),
        st.floats(0.1, 4),
        st.sampled_from([0.0, 0.0, 0.3, 1.0]),
    ),
    max_size=12,
    unique_by=lambda each: (each.group, each.number),
)


@given(paragraphs, st.integers(-10, 400), st.booleans())
def test_what_is_chosen_fits_the_room(offered: list[Paragraph], room: int, labelled: bool) -> None:
    """The whole of it with its labels."""
    labels = {0: "Asked “x”: ", 2: "On “a longer request”: "} if labelled else {}
    chosen = choose(offered, room, labels=labels)
    taken = sum(len(each.text) + GAP_CHARS for each in offered if each[:2] in chosen)
    taken += sum(len(labels.get(group, "")) for group in {group for group, _ in chosen})
    assert chosen <= {each[:2] for each in offered}
    assert taken <= max(0, room)


@given(paragraphs, st.integers(0, 400))
def test_more_room_is_used_as_far_as_anything_fits(offered: list[Paragraph], room: int) -> None:
    """Even what only repeats known words is better than unused space, but the same text is never chosen twice."""
    chosen = choose(offered, room)
    left = room - sum(len(each.text) + GAP_CHARS for each in offered if each[:2] in chosen)
    told = {each.text for each in offered if each[:2] in chosen}
    assert len(told) == len(chosen)
    rare = [each for each in offered if each.text not in told and words(each.text) and not each.novelty]
    assert all(len(each.text) + GAP_CHARS > left for each in rare)


def numbered(*texts: str, weight: float = 1.0) -> list[Paragraph]:
    return [Paragraph(0, number, text, weight) for number, text in enumerate(texts)]


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
    offered = numbered(first, again, new, *FILLER)
    room = len(first) + len(again) + len(new) + 2 * GAP_CHARS
    assert choose(offered[:3], len(max(first, again, key=len)) + len(new) + 2 * GAP_CHARS) in (
        {(0, 0), (0, 2)},
        {(0, 1), (0, 2)},
    )
    assert (0, 2) in choose(offered, room)
    mostly_new = [each._replace(novelty=0.3) for each in offered[:3]]
    assert choose(mostly_new, room, known=words(first)) == {(0, 2)}


def test_an_entry_is_told_with_what_is_chosen_of_it_and_not_known_yet() -> None:
    entries = [
        Entry("Asked “x”", [LONG, "The parser drops a row."], 1.0),
        Entry("", ["Totals are cents."], 2.0),
    ]
    assert tell(entries, 70, known="") == [(0, f"{GAP}\n\nThe parser drops a row."), (1, "Totals are cents.")]
    assert tell(entries, 70, known="So: totals are cents. Totals are cents. And so on") == [
        (0, f"{GAP}\n\nThe parser drops a row.")
    ]


def test_the_same_text_is_chosen_once_however_much_room_there_is() -> None:
    offered = numbered("The listener leaks.", "The listener leaks.", *FILLER, "The listener leaks.")
    assert len(choose(offered, 10_000)) == 1 + len(FILLER)


def test_weight_decides_between_equals() -> None:
    light, heavy = numbered("Alpha beta gamma."), numbered("Delta epsilon zeta.", weight=2)
    offered = [*light, heavy[0]._replace(number=1)]
    assert choose(offered, 30) == {(0, 1)}


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
    assert len(fit_paragraphs(text, max_chars)) <= max_chars


def test_a_single_long_paragraph_is_cut_and_never_dropped() -> None:
    for text in ("This one paragraph goes on and on. " * 100, "日本語の段落" * 500):
        assert 900 < len(fit_paragraphs(text, 1_000)) <= 1_000


def test_a_text_with_many_gaps_fits_too() -> None:
    """The marks of what was left out count."""
    text = "\n\n".join(LONG.replace("This", f"p{n}") if n % 2 else f"p{n} " * 300 for n in range(40))
    fitted = fit_paragraphs(text, 4_000)
    assert fitted.count(GAP) > 3
    assert len(fitted) <= 4_000


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
        "from leftoff.extraction.passages import fit_paragraphs\n"
        "parts = [f'Part {n} of it moves the old table {n} and the new view {n} elsewhere.' for n in range(60)]\n"
        "print(fit_paragraphs('\\n\\n'.join(parts), 1500))"
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
