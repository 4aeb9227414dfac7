"""Names in play: what was last spoken of, with the file it belongs to."""

from leftoff.extract import names
from leftoff.extract.state import Glimpse
from tests.extract.making import a_ref


def glimpse(number: int, *, kind: str = "Ran", path: str = "", asked: str = "", answer: str = "") -> Glimpse:
    return Glimpse(a_ref(number), number, kind, path, asked, answer)


def texts(found: list[names.Name]) -> list[str]:
    return [name.text for name in found]


def test_what_was_met_lately_is_worth_more() -> None:
    """Of names of one length, the newest first."""
    old = [glimpse(number, answer=f"some_name_{number:02}") for number in range(80)]
    assert texts(names.in_play(old))[:2] == ["some_name_79", "some_name_78"]


def test_what_was_written_and_met_again_is_worth_more() -> None:
    """Than what was seen once, in the same call."""
    found = names.in_play(
        [glimpse(1, asked="name_aa", answer="name_bb"), glimpse(2, answer="name_cc name_bb")]
    )
    assert texts(found)[0] == "name_bb"
    assert texts(names.in_play([glimpse(1, asked="name_aa", answer="name_bb name_aa")])) == [
        "name_aa",
        "name_bb",
    ]


def test_a_name_belongs_to_the_file_that_it_was_last_met_in() -> None:
    """Words and commands have none, and take none away."""
    (found,) = names.in_play([glimpse(1, path="a.py", asked="some_name"), glimpse(2, asked="some_name")])
    assert found.path == "a.py"
    assert found.ref == a_ref(2)


def test_words_in_back_ticks_are_names_where_somebody_speaks() -> None:
    """Not where a tool prints."""
    assert "Store" in texts(names.in_play([glimpse(1, kind="Said", asked="see `Store`")]))
    assert names.in_play([glimpse(1, kind="Ran", asked="see `Store`")]) == []


def test_paths_that_were_only_spoken_of() -> None:
    """In output and words; the sides of a diff are the file itself; an address is none."""
    found = names.paths_in_play(
        [glimpse(1, answer="a/src/x.py b/src/x.py ./lib/y.go https://h.example/z/index.html")]
    )
    assert {*texts(found)} == {"src/x.py", "./lib/y.go"}


def test_commands_that_were_only_spoken_of() -> None:
    """In back-ticks or on a line of their own, of programs that the session uses; not those that were run."""
    said = glimpse(1, kind="Said", asked="Then run `make docs` and\n    make all -j4\nor `cargo build`.")
    ran = glimpse(2, kind="Ran", asked="make run-it")
    assert {*texts(names.commands_spoken_of([said, ran], {"make"}))} == {"make docs", "make all -j4"}


def test_the_best_fit_with_their_files() -> None:
    """A file that is not told yet takes room as well; nothing is kept behind what does not fit."""
    found = names.in_play(
        [glimpse(1, path="a.py", asked="name_aa name_bb"), glimpse(2, path="b.py", asked="name_cc")]
    )
    assert texts(names.best(found, 1_000, [])) == texts(found)
    assert names.best(found, 5, []) == []
    assert len(names.best(found, 20, ["a.py", "b.py"])) > len(names.best(found, 20, []))
    assert {path: texts(group) for path, group in names.by_file(found).items()} == {
        "a.py": ["name_aa", "name_bb"],
        "b.py": ["name_cc"],
    }
