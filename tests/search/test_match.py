"""Adding, finding, ranking and removing."""

import sqlite3

import pytest

from leftoff.catalogue import database
from leftoff.errors import DocumentError, LockTimeoutError, StorageError
from leftoff.search.index_writer import BLOCK_BYTES, IndexWriter
from leftoff.search.match import find_sessions
from leftoff.search.pieces import KINDS, PendingCall, Touch
from leftoff.search.query import parse_query
from leftoff.search.results import SearchOptions, next_pieces, snippet
from leftoff.search.search import suggest_word
from tests.search.sample_library import DAY_NS, NOW, NOW_NS, ask, fill, names, piece, reached, source


def test_a_hit_leads_to_session_line_and_byte(tmp_path):
    """A hit names the session, the line, the byte offset and the original text."""
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


def test_phrases_prefixes_alternatives_and_exclusions(tmp_path):
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
    """Filters exist for agent, project, tool, kind, time, failure and file."""
    at = int(NOW.timestamp())
    writer = IndexWriter(str(tmp_path))
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


def test_prompts_outrank_tool_output_and_new_outranks_old(tmp_path):
    """With ``--newest`` only the time counts."""
    writer = IndexWriter(str(tmp_path))
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


def test_words_that_form_one_name_come_first(tmp_path):
    """``is specific agent type`` means ``isSpecificAgentType``."""
    fill(
        tmp_path,
        {
            "apart": [piece("is this specific type of agent known")],
            "name": [piece("func isSpecificAgentType()", 1, "prompt")],
        },
    )
    assert names(ask(tmp_path, "is specific agent type"))[0] == "name"


def test_sessions_with_most_words_if_no_place_has_all(tmp_path):
    """The result says that no place has all words."""
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


def test_the_best_places_are_returned_and_all_are_counted(tmp_path):
    """Three of five places are returned."""
    fill(tmp_path, {"a": [piece(f"limit number {line}", line) for line in range(1, 6)]})
    (only,) = ask(tmp_path, "limit", hits=3).sessions
    assert (only.places, len(only.hits)) == (5, 3)


def test_an_appended_result_is_joined_with_its_call(tmp_path):
    """The result may come in a later batch, and many lines may share a block."""
    writer = IndexWriter(str(tmp_path))
    assert writer.read_position("/home/dev/a.jsonl") == (None, {})
    writer.add(
        source("a"), [piece("ls", 1, "command", tool="Bash", call_id="c1")], before=None, after=reached(1)
    )
    place, waiting = writer.read_position("/home/dev/a.jsonl")
    assert place == reached(1)
    assert waiting == {"c1": PendingCall("Bash", 1)}
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
    assert writer.read_position("/home/dev/a.jsonl") == (reached(39), {})
    assert writer.connection.execute("SELECT count(*) FROM blocks").fetchone() == (1,)
    writer.close()
    (only,) = ask(tmp_path, "ls").sessions
    assert (only.hits[0].exit_code, only.hits[0].failed) == (1, True)
    assert names(ask(tmp_path, "word27")) == ["a"]


def test_an_outdated_writer_adds_nothing(tmp_path):
    """Another writer was faster, and nothing is stored twice."""
    one, other = IndexWriter(str(tmp_path)), IndexWriter(str(tmp_path))
    assert one.add(source("a"), [piece("first")], before=None, after=reached(1))
    assert not other.add(source("a"), [piece("first")], before=None, after=reached(1))
    one.close()
    other.close()
    assert ask(tmp_path, "first").sessions[0].places == 1


def test_long_texts_get_their_own_blocks(tmp_path):
    """Each long text is found in its own block."""
    fill(tmp_path, {"a": [piece(f"w{number} " * (BLOCK_BYTES // 8), number) for number in range(100, 104)]})
    assert [hit.line for hit in ask(tmp_path, "w103").sessions[0].hits] == [103]


def test_removed_sources_are_not_found(tmp_path):
    """Words, texts, files and calls are removed; other sources stay."""
    fill(
        tmp_path,
        {"a": [piece("alpha shared", touches=(Touch("x.py", "read"),))], "b": [piece("beta shared")]},
    )
    writer = IndexWriter(str(tmp_path))
    assert writer.remove(["/home/dev/a.jsonl", "/nowhere"]) == 1
    assert writer.known_sources() == {"/home/dev/b.jsonl": (NOW_NS - DAY_NS, 100)}
    for table in ("paths", "touches", "waiting"):
        assert writer.connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    writer.connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    writer.close()
    assert names(ask(tmp_path, "alpha")) == []
    assert names(ask(tmp_path, "shared")) == ["b"]


def test_a_changed_document_is_replaced(tmp_path):
    writer = IndexWriter(str(tmp_path))
    log = source("log", type="log", path="/p/session-x.md")
    writer.replace(log, [piece("old words", 1, "log")])
    writer.replace(log, [piece("new words", 1, "log")])
    writer.close()
    assert names(ask(tmp_path, "old")) == []
    assert names(ask(tmp_path, "words")) == ["log"]


def test_what_followed_an_error(tmp_path):
    """The messages and calls after an error are returned with their exit codes."""
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
    connection = database.open_for_search(str(tmp_path))
    (session,) = ask(tmp_path, "boom").sessions
    assert next_pieces(connection, session.hits[0].piece, 2) == [
        (2, "reply", "I see", None),
        (4, "command", "make", 0),
    ]
    connection.close()


def test_a_similar_word_is_suggested(tmp_path):
    """The suggestion is a word of a text, not a stem, and a known word is not corrected."""
    fill(tmp_path, {"a": [piece("the telemetry was disabled"), piece("limits", 2)]})
    connection = database.open_for_search(str(tmp_path))
    assert suggest_word(connection, parse_query("telemtry", NOW)) == "telemetry"
    assert suggest_word(connection, parse_query("disabeld", NOW)) == "disabled"
    assert suggest_word(connection, parse_query('limits "x y" 数字', NOW)) is None
    assert suggest_word(connection, parse_query("qqqqqqqq", NOW)) is None
    connection.close()


def test_a_snippet_shows_where_the_words_are_together(tmp_path):
    """The words are marked on one line, with dots where the text is cut."""
    text = "filler " * 100 + "the retry\n\tof a payment failed " + "filler " * 100
    shown = snippet(text, parse_query("retry payments", NOW).terms, 60)
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert [shown.text[start:end] for start, end in shown.marks] == ["retry", "payment"]
    assert snippet("short", (), 60).text == "short"
    assert snippet('a "b c" d', parse_query('"b c"', NOW).terms, 60).marks == ((3, 6),)


def test_unencodable_characters_and_separators_are_harmless(tmp_path):
    """Surrogates, NULs and the separator between texts do not break the index."""
    fill(tmp_path, {"a": [piece("odd \ud800 \x00 and \x1e sign"), piece("next", 2)]})
    assert [hit.line for hit in ask(tmp_path, "sign").sessions[0].hits] == [1]
    assert [hit.text for hit in ask(tmp_path, "next").sessions[0].hits] == ["next"]


def test_a_broken_or_foreign_file_is_replaced(tmp_path):
    """A reader gets no library from a damaged file, and a writer replaces it."""
    kept = tmp_path / database.FILE_NAME
    for damage in (b"no database at all, whatever it says", b"SQLite format 3\x00" + b"\xff" * 4096):
        kept.write_bytes(damage)
        assert database.open_for_search(str(tmp_path)) is None
        fill(tmp_path, {"a": [piece("word")]})
        assert names(ask(tmp_path, "word")) == ["a"]
        database.delete_files(str(kept))
    fill(tmp_path, {"a": [piece("word")]})
    with sqlite3.connect(kept) as connection:
        connection.execute("UPDATE facts SET value = 0 WHERE name = 'words'")
    connection.close()
    assert database.open_for_search(str(tmp_path)) is None
    writer = IndexWriter(str(tmp_path))
    assert writer.known_sources() == {}
    writer.close()


def test_a_library_that_cannot_be_written_is_an_error(tmp_path):
    """A file in place of the folder, a writer that never ends, damage."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="not written"):
        IndexWriter(str(tmp_path / "file"))
    one = IndexWriter(str(tmp_path / "library"))
    one.connection.execute("BEGIN IMMEDIATE")
    other = IndexWriter(str(tmp_path / "library"), patience_seconds=0.01)
    with pytest.raises(LockTimeoutError, match="for too long"):
        other.add(source("a"), [piece("x")], before=None, after=reached(1))
    one.close()
    other.close()
    with pytest.raises(DocumentError, match="leftoff search --rebuild"), database.translate_errors("x"):
        raise sqlite3.DatabaseError("malformed")


def test_only_this_user_can_read_it(tmp_path):
    """The library contains prompts and results."""
    fill(tmp_path / "library", {"a": [piece("word")]})
    assert (tmp_path / "library").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "library" / database.FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_every_kind_has_a_weight(tmp_path):
    """A kind without a weight could not be added."""
    fill(tmp_path, {"a": [piece("word", line, kind) for line, kind in enumerate(KINDS, 1)]})
    assert ask(tmp_path, "word").sessions[0].places == len(KINDS)


def looks_of(folder, words):
    """Return how many blocks a query reads, and the sessions it finds."""
    connection, opened = database.open_for_search(str(folder)), []
    connection.set_trace_callback(
        lambda statement: opened.append(statement) if "data FROM blocks" in statement else None
    )
    answers = find_sessions(
        connection, parse_query(words, NOW), SearchOptions(limit=10, hits=3, newest=False, now=0)
    )
    connection.close()
    return len(opened), names(answers)


@pytest.fixture
def with_separate_parts(tmp_path):
    """Many sessions with two separate words, and one with the name they form, inside another name."""
    many = {f"s{number}": [piece("a report of the store")] for number in range(50)}
    fill(tmp_path, many | {"named": [piece("x " * 900 + "the test_store_report failed", kind="result")]})
    return tmp_path


def test_a_name_of_common_parts_is_found_without_reading_all_texts_with_the_parts(with_separate_parts):
    """The name is found in any spelling."""
    for name in ("store_report", "storeReport", "test_store_report"):
        assert looks_of(with_separate_parts, name) == (1, ["named"])


def test_parts_of_a_name_match_separately_if_the_name_occurs_nowhere(with_separate_parts):
    """The parts must be adjacent and in order."""
    fill(with_separate_parts, {"said": [piece("my report about storage: a report store it is")]})
    assert looks_of(with_separate_parts, "report_store")[1] == ["said"]
    assert looks_of(with_separate_parts, "report_of_the")[1] != []


def test_words_with_less_than_half_the_weight_are_not_searched(with_separate_parts):
    """An unknown word has the most weight."""
    assert names(ask(with_separate_parts, "quokka report store")) == []
    assert names(ask(with_separate_parts, "failed report quokka -store")) == []


def test_a_session_indexed_in_several_updates_counts_as_one(tmp_path):
    """The pieces of such a session are not consecutive in the index."""
    fill(tmp_path, {"a": [piece("koala one")], "b": [piece("koala two")]})
    writer = IndexWriter(str(tmp_path))
    writer.add(source("a"), [piece("koala three", 2)], before=reached(1), after=reached(2))
    writer.close()
    found_now = {each.session_id: (each.places, len(each.hits)) for each in ask(tmp_path, "koala").sessions}
    assert found_now == {"a": (2, 2), "b": (1, 1)}


def test_a_word_in_nearly_all_pieces_is_ranked_by_a_sample_and_counted_completely(tmp_path):
    """Filters, --newest and too few results compare all pieces."""
    pieces = [piece("koala here", line, kind="result") for line in range(1, 20)]
    fill(tmp_path, {name: [*pieces, piece("koala asked", 20)] for name in "abc"})
    connection = database.open_for_search(str(tmp_path))
    order = SearchOptions(limit=3, hits=1, newest=False, now=0, compared=10)
    for options in (order, order._replace(limit=10), order._replace(newest=True)):
        answers = find_sessions(connection, parse_query("koala", NOW), options)
        assert {*names(answers)} == {*"abc"}
        assert {(each.places, each.hits[0].line) for each in answers.sessions if not options.newest} <= {
            (20, 20)
        }
    assert names(find_sessions(connection, parse_query("koala kind:prompt project:shop", NOW), order)) != []
    connection.close()
