"""Putting in, finding, ranking and taking out."""

import sqlite3

import pytest

from leftoff.errors import DocumentError, LockTimeoutError, StorageError
from leftoff.library import shelf as shelves
from leftoff.library.answers import Order, what_followed
from leftoff.library.finding import found
from leftoff.library.pieces import KINDS, Touch, Waiting
from leftoff.library.query import parsed
from leftoff.library.snippets import snippet
from leftoff.library.spelling import meant
from leftoff.library.writing import BLOCK_BYTES, Writer
from tests.library.shelves import DAY_NS, NOW, NOW_NS, ask, fill, names, piece, reached, source


def test_a_hit_leads_to_session_line_and_byte(tmp_path):
    """And to the words as they were."""
    fill(tmp_path, {"a": [piece("nothing"), piece("the retry of payments", 7)], "b": [piece("else")]})
    (only,) = ask(tmp_path, "retries payment").sessions
    assert (only.session_id, only.path, only.project, only.title) == (
        "a",
        "/home/dev/a.jsonl",
        "/home/dev/shop",
        "About a",
    )
    (hit,) = only.hits
    assert (hit.line, hit.offset, hit.kind, hit.text) == (7, 700, "prompt", "the retry of payments")


def test_phrases_beginnings_alternatives_and_refusals_hold(tmp_path):
    """Each narrows down as it says."""
    fill(
        tmp_path,
        {
            "a": [piece("connection reset by peer")],
            "b": [piece("reset the connection")],
            "c": [piece("timeouts of a peer")],
        },
    )
    assert names(ask(tmp_path, '"connection reset"')) == ["a"]
    assert {*names(ask(tmp_path, "connection reset"))} == {"a", "b"}
    assert names(ask(tmp_path, "timeo*")) == ["c"]
    assert {*names(ask(tmp_path, "timeout OR connection"))} == {"a", "b", "c"}
    assert names(ask(tmp_path, "peer -connection")) == ["c"]
    assert names(ask(tmp_path, 'reset -"connection reset"')) == ["b"]
    assert names(ask(tmp_path, "rese*")) == names(ask(tmp_path, "reset"))


def test_filters_narrow_down(tmp_path):
    """By agent, project, tool, kind, time, failure and file."""
    at = int(NOW.timestamp())
    writer = Writer(str(tmp_path))
    writer.add(
        source("a", agent="codex", project="/home/dev/my_shop"),
        [
            piece("word in a prompt", 1, at=at - 10 * 86_400),
            piece(
                "word ls",
                2,
                "command",
                tool="Bash",
                call_id="1",
                touches=(Touch("/x/src/a.py", "changed"),),
                at=at,
            ),
            piece("word failed", 3, "result", call_id="1", failed=True, exit_code=2, at=at),
        ],
        before=None,
        after=reached(3),
    )
    writer.close()
    fill(tmp_path, {"b": [piece("word", at=at)]})
    for words, lines in {
        "word agent:codex": [1, 2, 3],
        "word project:my_shop": [1, 2, 3],
        "word project:my%shop": [],
        "word tool:bash": [2, 3],
        "word kind:command": [2],
        "word agent:codex since:2d": [2, 3],
        "word before:2d": [1],
        "word errors:yes": [2, 3],
        "word errors:yes kind:result": [3],
        "word agent:codex errors:no": [1],
        "file:a.py": [2],
        "file:src/a.py": [2],
        "file:./src/a.py": [2],
        "file:c/a.py": [],
    }.items():
        hits = [hit.line for session in ask(tmp_path, words).sessions for hit in session.hits]
        assert sorted(hits) == lines, words
    (session,) = ask(tmp_path, "word kind:command").sessions
    assert (session.hits[0].exit_code, session.hits[0].failed, session.hits[0].tool) == (2, True, "Bash")


def test_a_persons_words_outrank_what_a_tool_printed_and_fresh_outranks_old(tmp_path):
    """``--newest`` goes by time alone."""
    writer = Writer(str(tmp_path))
    for name, kind, days in (("old", "prompt", 300), ("fresh", "prompt", 1), ("printed", "result", 0)):
        writer.add(
            source(name, modified_ns=NOW_NS - days * DAY_NS),
            [piece("the limiter", 1, kind)],
            before=None,
            after=reached(1),
        )
    writer.close()
    assert names(ask(tmp_path, "limiter")) == ["fresh", "old", "printed"]
    assert names(ask(tmp_path, "limiter", newest=True)) == ["printed", "fresh", "old"]


def test_words_that_stand_as_one_name_come_first(tmp_path):
    """``is specific agent type`` means ``isSpecificAgentType``."""
    fill(
        tmp_path,
        {
            "apart": [piece("is this specific type of agent known")],
            "name": [piece("func isSpecificAgentType()", 1, "prompt")],
        },
    )
    assert names(ask(tmp_path, "is specific agent type"))[0] == "name"


def test_where_no_place_holds_all_words_the_most_telling_sessions_come(tmp_path):
    """And that is said."""
    fill(
        tmp_path,
        {
            "both": [piece("the parser"), piece("of tokens", 2)],
            "one": [piece("the parser")],
            "none": [piece("else")],
        },
    )
    answers = ask(tmp_path, "parser tokens")
    assert names(answers)[0] == "both"
    assert not answers.complete
    assert "none" not in names(answers)


def test_the_most_relevant_places_of_a_session_are_given_and_all_counted(tmp_path):
    """Three of five."""
    fill(tmp_path, {"a": [piece(f"limit number {line}", line) for line in range(1, 6)]})
    (only,) = ask(tmp_path, "limit", hits=3).sessions
    assert (only.places, len(only.hits)) == (5, 3)


def test_a_session_is_read_on_and_its_calls_find_their_results(tmp_path):
    """Also when the result comes with a later batch, and many lines share a block."""
    writer = Writer(str(tmp_path))
    assert writer.reached("/home/dev/a.jsonl") == (None, {})
    writer.add(
        source("a"), [piece("ls", 1, "command", tool="Bash", call_id="c1")], before=None, after=reached(1)
    )
    place, waiting = writer.reached("/home/dev/a.jsonl")
    assert place == reached(1)
    assert waiting == {"c1": Waiting("Bash", 1)}
    writer.add(
        source("a"),
        [piece("", 2, "result", call_id="c1", exit_code=1, failed=True)],
        before=place,
        after=reached(2),
    )
    for line in range(3, 40):
        assert writer.add(
            source("a"), [piece(f"word{line}", line)], before=reached(line - 1), after=reached(line)
        )
    assert writer.reached("/home/dev/a.jsonl") == (reached(39), {})
    assert writer.shelf.execute("SELECT count(*) FROM blocks").fetchone() == (1,)
    writer.close()
    (only,) = ask(tmp_path, "ls").sessions
    assert (only.hits[0].exit_code, only.hits[0].failed) == (1, True)
    assert names(ask(tmp_path, "word27")) == ["a"]


def test_a_writer_that_is_behind_adds_nothing(tmp_path):
    """Another one has been there: nothing stands twice."""
    one, other = Writer(str(tmp_path)), Writer(str(tmp_path))
    assert one.add(source("a"), [piece("first")], before=None, after=reached(1))
    assert not other.add(source("a"), [piece("first")], before=None, after=reached(1))
    one.close()
    other.close()
    assert ask(tmp_path, "first").sessions[0].places == 1


def test_long_texts_get_blocks_of_their_own(tmp_path):
    """And are found in each."""
    fill(tmp_path, {"a": [piece(f"w{number} " * (BLOCK_BYTES // 8), number) for number in range(100, 104)]})
    assert [hit.line for hit in ask(tmp_path, "w103").sessions[0].hits] == [103]


def test_what_is_taken_out_is_not_found_and_what_stays_is(tmp_path):
    """Words, texts, files and calls."""
    fill(
        tmp_path,
        {"a": [piece("alpha shared", touches=(Touch("x.py", "read"),))], "b": [piece("beta shared")]},
    )
    writer = Writer(str(tmp_path))
    assert writer.remove(["/home/dev/a.jsonl", "/nowhere"]) == 1
    assert writer.known() == {"/home/dev/b.jsonl": (NOW_NS - DAY_NS, 100)}
    for table in ("paths", "touches", "waiting"):
        assert writer.shelf.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    writer.shelf.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    writer.close()
    assert names(ask(tmp_path, "alpha")) == []
    assert names(ask(tmp_path, "shared")) == ["b"]


def test_a_document_is_put_in_place_of_what_it_was(tmp_path):
    """Its old words are gone."""
    writer = Writer(str(tmp_path))
    log = source("log", type="log", path="/p/session-x.md")
    writer.replace(log, [piece("old words", 1, "log")])
    writer.replace(log, [piece("new words", 1, "log")])
    writer.close()
    assert names(ask(tmp_path, "old")) == []
    assert names(ask(tmp_path, "words")) == ["log"]


def test_what_followed_an_error_is_told(tmp_path):
    """The next words and calls, with how they ended."""
    fill(
        tmp_path,
        {
            "a": [
                piece("boom", 1, "result", failed=True),
                piece("I see", 2, "reply"),
                piece("more output", 3, "result"),
                piece("make", 4, "command", call_id="x"),
                piece("", 5, "result", call_id="x", exit_code=0),
            ]
        },
    )
    shelf = shelves.opened_to_read(str(tmp_path))
    (session,) = ask(tmp_path, "boom").sessions
    assert what_followed(shelf, session.hits[0].piece, 2) == [
        (2, "reply", "I see", None),
        (4, "command", "make", 0),
    ]
    shelf.close()


def test_a_misspelled_word_is_put_right(tmp_path):
    """As it stands in a text, not as a stem; a word that is there is left alone."""
    fill(tmp_path, {"a": [piece("the telemetry was disabled"), piece("limits", 2)]})
    shelf = shelves.opened_to_read(str(tmp_path))
    assert meant(shelf, parsed("telemtry", NOW)) == "telemetry"
    assert meant(shelf, parsed("disabeld", NOW)) == "disabled"
    assert meant(shelf, parsed('limits "x y" 数字', NOW)) is None
    assert meant(shelf, parsed("qqqqqqqq", NOW)) is None
    shelf.close()


def test_a_snippet_shows_where_the_words_stand_together(tmp_path):
    """Marked, on one line, with dots where it is cut."""
    text = "filler " * 100 + "the retry\n\tof a payment failed " + "filler " * 100
    shown = snippet(text, parsed("retry payments", NOW).terms, 60)
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert [shown.text[start:end] for start, end in shown.marks] == ["retry", "payment"]
    assert snippet("short", (), 60).text == "short"
    assert snippet('a "b c" d', parsed('"b c"', NOW).terms, 60).marks == ((3, 6),)


def test_letters_that_no_file_can_hold_and_separators_are_harmless(tmp_path):
    """Half characters, NULs and the sign between texts."""
    fill(tmp_path, {"a": [piece("odd \ud800 \x00 and \x1e sign"), piece("next", 2)]})
    assert [hit.line for hit in ask(tmp_path, "sign").sessions[0].hits] == [1]
    assert [hit.text for hit in ask(tmp_path, "next").sessions[0].hits] == ["next"]


def test_a_broken_or_foreign_file_is_made_anew(tmp_path):
    """Whatever stood there; and reading it says that there is nothing."""
    kept = tmp_path / shelves.NAME
    for damage in (b"no database at all, whatever it says", b"SQLite format 3\x00" + b"\xff" * 4096):
        kept.write_bytes(damage)
        assert shelves.opened_to_read(str(tmp_path)) is None
        fill(tmp_path, {"a": [piece("word")]})
        assert names(ask(tmp_path, "word")) == ["a"]
        shelves.put_aside(str(kept))
    fill(tmp_path, {"a": [piece("word")]})
    with sqlite3.connect(kept) as shelf:
        shelf.execute("UPDATE facts SET value = 0 WHERE name = 'words'")
    shelf.close()
    assert shelves.opened_to_read(str(tmp_path)) is None
    writer = Writer(str(tmp_path))
    assert writer.known() == {}
    writer.close()


def test_a_library_that_cannot_be_written_is_said_in_a_sentence(tmp_path):
    """A file where the folder should be; a writer that never ends; damage found on the way."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="not written"):
        Writer(str(tmp_path / "file"))
    one = Writer(str(tmp_path / "library"))
    one.shelf.execute("BEGIN IMMEDIATE")
    other = Writer(str(tmp_path / "library"), patience_seconds=0.01)
    with pytest.raises(LockTimeoutError, match="for too long"):
        other.add(source("a"), [piece("x")], before=None, after=reached(1))
    one.close()
    other.close()
    with pytest.raises(DocumentError, match="leftoff search --rebuild"), shelves.troubles("x"):
        raise sqlite3.DatabaseError("malformed")


def test_only_this_user_can_read_it(tmp_path):
    """Prompts and results are nobody else's business."""
    fill(tmp_path / "library", {"a": [piece("word")]})
    assert (tmp_path / "library").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "library" / shelves.NAME).stat().st_mode & 0o777 == 0o600


def test_every_kind_has_a_weight(tmp_path):
    """A kind without one could not be put in."""
    fill(tmp_path, {"a": [piece("word", line, kind) for line, kind in enumerate(KINDS, 1)]})
    assert ask(tmp_path, "word").sessions[0].places == len(KINDS)


def looks_of(folder, words):
    """How many blocks of texts a query opens, and the sessions it finds."""
    shelf, opened = shelves.opened_to_read(str(folder)), []
    shelf.set_trace_callback(lambda said: opened.append(said) if "data FROM blocks" in said else None)
    answers = found(shelf, parsed(words, NOW), Order(limit=10, hits=3, newest=False, now=0))
    shelf.close()
    return len(opened), names(answers)


@pytest.fixture
def apart(tmp_path):
    """Many sessions that hold two words apart, and one that holds the name which they make, as part of another."""
    many = {f"s{number}": [piece("a report of the store")] for number in range(50)}
    fill(tmp_path, many | {"named": [piece("x " * 900 + "the test_store_report failed", kind="result")]})
    return tmp_path


def test_a_name_of_common_parts_is_found_without_opening_all_that_holds_the_parts(apart):
    """Whichever way it is spelled."""
    for name in ("store_report", "storeReport", "test_store_report"):
        assert looks_of(apart, name) == (1, ["named"])


def test_where_no_text_has_a_name_its_parts_may_stand_apart(apart):
    """As neighbours, in their order."""
    fill(apart, {"said": [piece("my report about storage: a report store it is")]})
    assert looks_of(apart, "report_store")[1] == ["said"]
    assert looks_of(apart, "report_of_the")[1] != []


def test_words_that_cannot_be_half_of_it_are_not_looked_for(apart):
    """A word that stands nowhere tells most: without it nothing is near enough."""
    assert names(ask(apart, "quokka report store")) == []
    assert names(ask(apart, "failed report quokka -store")) == []


def test_a_session_that_grew_in_turns_counts_as_one(tmp_path):
    """Its pieces do not lie together then."""
    fill(tmp_path, {"a": [piece("koala one")], "b": [piece("koala two")]})
    writer = Writer(str(tmp_path))
    writer.add(source("a"), [piece("koala three", 2)], before=reached(1), after=reached(2))
    writer.close()
    found_now = {each.session_id: (each.places, len(each.hits)) for each in ask(tmp_path, "koala").sessions}
    assert found_now == {"a": (2, 2), "b": (1, 1)}


def test_what_stands_nearly_everywhere_is_ranked_by_a_sample_and_counted_whole(tmp_path):
    """The places that are told are all of them, the hits the best; filters and --newest compare all, and so do too few answers."""
    pieces = [piece("koala here", line, kind="result") for line in range(1, 20)]
    fill(tmp_path, {name: [*pieces, piece("koala asked", 20)] for name in "abc"})
    shelf = shelves.opened_to_read(str(tmp_path))
    order = Order(limit=3, hits=1, newest=False, now=0, compared=10)
    for asked in (order, order._replace(limit=10), order._replace(newest=True)):
        answers = found(shelf, parsed("koala", NOW), asked)
        assert {*names(answers)} == {*"abc"}
        assert {(each.places, each.hits[0].line) for each in answers.sessions if not asked.newest} <= {
            (20, 20)
        }
    assert names(found(shelf, parsed("koala kind:prompt project:shop", NOW), order)) != []
    shelf.close()
