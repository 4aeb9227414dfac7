"""Names of the recent work: how they rank, and which file they belong to."""

from leftoff.extraction import names
from leftoff.extraction.state import RecentText
from tests.extraction.builders import a_ref


def recent_text(
    number: int, *, kind: str = "Ran", path: str = "", request: str = "", answer: str = ""
) -> RecentText:
    return RecentText(a_ref(number), number, kind, path, request, answer)


def texts(found: list[names.Name]) -> list[str]:
    return [name.text for name in found]


def test_recent_names_rank_first() -> None:
    """The newest of names with the same length comes first."""
    old = [recent_text(number, answer=f"some_name_{number:02}") for number in range(80)]
    assert texts(names.rank_names(old))[:2] == ["some_name_79", "some_name_78"]


def test_written_and_repeated_names_rank_higher() -> None:
    """They rank above names that were seen once in the same call."""
    found = names.rank_names(
        [recent_text(1, request="name_aa", answer="name_bb"), recent_text(2, answer="name_cc name_bb")]
    )
    assert texts(found)[0] == "name_bb"
    assert texts(names.rank_names([recent_text(1, request="name_aa", answer="name_bb name_aa")])) == [
        "name_aa",
        "name_bb",
    ]


def test_a_name_belongs_to_the_file_it_was_last_seen_in() -> None:
    """Texts and commands have no file and do not change it."""
    (found,) = names.rank_names(
        [recent_text(1, path="a.py", request="some_name"), recent_text(2, request="some_name")]
    )
    assert found.path == "a.py"
    assert found.ref == a_ref(2)


def test_words_in_back_ticks_are_names_in_texts() -> None:
    """Words in back-ticks that a tool prints are not names."""
    assert "Store" in texts(names.rank_names([recent_text(1, kind="Said", request="see `Store`")]))
    assert names.rank_names([recent_text(1, kind="Ran", request="see `Store`")]) == []


def test_paths_in_output_and_texts_are_found() -> None:
    """Both sides of a diff are the same file, and a URL is not a path."""
    found = names.rank_paths(
        [recent_text(1, answer="a/src/x.py b/src/x.py ./lib/y.go https://h.example/z/index.html")]
    )
    assert {*texts(found)} == {"src/x.py", "./lib/y.go"}


def test_commands_in_texts_are_found() -> None:
    """Commands count in back-ticks or on their own line, if the session uses their program."""
    recent = recent_text(
        1, kind="Said", request="Then run `make docs` and\n    make all -j4\nor `cargo build`."
    )
    ran = recent_text(2, kind="Ran", request="make run-it")
    assert {*texts(names.rank_mentioned_commands([recent, ran], {"make"}))} == {"make docs", "make all -j4"}


def test_names_are_selected_until_the_space_is_used() -> None:
    """A file that is not listed yet takes space too; nothing is selected after the first name that does not fit."""
    found = names.rank_names(
        [
            recent_text(1, path="a.py", request="name_aa name_bb"),
            recent_text(2, path="b.py", request="name_cc"),
        ]
    )
    assert texts(names.select_names(found, 1_000, [])) == texts(found)
    assert names.select_names(found, 5, []) == []
    assert len(names.select_names(found, 20, ["a.py", "b.py"])) > len(names.select_names(found, 20, []))
    assert {path: texts(group) for path, group in names.group_by_file(found).items()} == {
        "a.py": ["name_aa", "name_bb"],
        "b.py": ["name_cc"],
    }
