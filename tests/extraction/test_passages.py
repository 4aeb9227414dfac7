"""Paragraphs: how a text is split into them, which are chosen for the room there is, and how they are put together again."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.extraction import passages
from leftoff.extraction.passages import GAP, GAP_CHARS, Paragraph, choose, fit_paragraphs, join, split, words
from tests.support import strategies

TABLE = "| domain | covered |\n|---|---|\n| logs | yes |\n| traces | no |"
CODE = "```sh\nmake trace\n\ngo tool trace out\n```"
LIST = "- first the parser\n- then the writer\n  with its tests\n\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One.\n\nTwo.\n \n\nThree.", ["One.", "Two.", "Three."]),
        (f"We cover:\n\n{TABLE}\n\nAfter.", [f"We cover:\n{TABLE}", "After."]),
        (f"Profile startup with:\n\n{CODE}\n\nAfter.", [f"Profile startup with:\n\n{CODE}", "After."]),
        (f"Prioritized plan (2 iterations)\n\n{LIST}", [f"Prioritized plan (2 iterations)\n{LIST.strip()}"]),
        (f"It was fixed.\n\n{LIST}", ["It was fixed.", LIST.strip()]),
        (f"次の表のとおり:\n\n{TABLE}", [f"次の表のとおり:\n{TABLE}"]),
        (f"## Plan\n\n{LIST}After.", [f"**Plan**\n{LIST.strip()}", "After."]),
        (f"**Nächste Schritte**\n\n{LIST}Danach.", [f"**Nächste Schritte**\n{LIST.strip()}", "Danach."]),
        (
            "```md\n~~~\n\n```\n\nA fence of another kind closes nothing.",
            ["```md\n~~~\n\n```", "A fence of another kind closes nothing."],
        ),
        ("```\nnever closed\n\n\nstill code", ["```\nnever closed\n\n\nstill code"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_a_text_is_split_into_paragraphs_that_make_sense_alone(text: str, parts: list[str]) -> None:
    """Tables, lists and code stay whole, with the line that introduces them."""
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


@given(paragraphs, st.integers(-10, 400), st.floats(0, 1), st.booleans(), st.booleans())
def test_what_is_chosen_fits_the_room(
    offered: list[Paragraph], room: int, share: float, labelled: bool, with_leads: bool
) -> None:
    """The whole of it with its labels, and each group within its share."""
    labels = {0: "Asked “x”: ", 2: "On “a longer request”: "} if labelled else {}
    chosen = choose(offered, room, labels=labels, group_share=share, with_leads=with_leads)
    taken = dict.fromkeys({group for group, _ in chosen}, 0)
    for each in offered:
        if each[:2] in chosen:
            taken[each.group] += len(each.text) + GAP_CHARS
    for group in taken:
        taken[group] += len(labels.get(group, ""))
    assert chosen <= {each[:2] for each in offered}
    assert sum(taken.values()) <= max(0, room)
    assert all(chars <= room * share for chars in taken.values())


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


def test_a_short_first_paragraph_comes_with_any_other_of_its_group() -> None:
    """It says what the others are about; both must fit, and a long one is not dragged along."""
    lead, detail = (
        "Two causes were found:",
        "The listener leaks handles whenever sockets are reopened by workers.",
    )
    offered = numbered(lead, *FILLER, detail)
    room = len(lead) + len(detail) + 2 * GAP_CHARS
    assert choose(offered, room, known=words(" ".join(FILLER)), with_leads=True) >= {(0, 0), (0, 4)}
    assert (0, 4) not in choose(offered, room - 1, known=words(" ".join(FILLER)), with_leads=True)
    long = numbered("A long introduction. " * 30, detail)
    assert choose(long, room, with_leads=True) == {(0, 1)}


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
    text = "\n\n".join(f"p{number:02}" if number % 2 else f"p{number} " * 30 for number in range(80))
    fitted = fit_paragraphs(text, 150)
    assert fitted.count(GAP) > 5
    assert len(fitted) <= 150


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
