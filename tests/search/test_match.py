"""Adding, finding, ranking and removing."""

import sqlite3

import pytest

from leftoff.catalogue import database
from leftoff.errors import DocumentError, LockTimeoutError, StorageError
from leftoff.search import match
from leftoff.search.index_writer import BLOCK_BYTES, IndexWriter
from leftoff.search.pieces import KINDS, PendingCall
from leftoff.search.query import parse_query
from leftoff.search.search import suggest_word
from leftoff.search.snippets import make_snippet
from tests.search.sample_library import DAY_NS, NOW, NOW_NS, ask, fill, names, opened, piece, reached, source


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
    assert not ask(tmp_path, '"reset peer"').complete  # found nowhere, so its words are searched
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
                files=("/x/src/a.py",),
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
    fill(tmp_path, {f"other{number}": [piece("nothing of it")] for number in range(9)})
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


def test_a_question_finds_the_piece_with_the_answer_beside_it(tmp_path):
    """Words in neighbouring messages count together, and words of the question that no session has do no harm."""
    fill(
        tmp_path,
        {
            "apart": [
                piece("Where is the staging server?"),
                *[piece("else", n) for n in range(2, 9)],
                piece("a password", 9),
            ],
            "beside": [
                piece("Where is the staging server?"),
                piece("Its password is in the vault", 2, "reply"),
            ],
            "long": [piece("password " * 40 + "of another machine")],
            **{f"other{number}": [piece("nothing of it")] for number in range(9)},
        },
    )
    assert names(ask(tmp_path, "What is the password of the staging server called?"))[0] == "beside"


def test_a_session_is_found_beside_one_with_thousands_of_pieces(tmp_path, monkeypatch):
    """Where the pieces of few sessions are compared, those of the best as a whole are, or of the newest."""
    monkeypatch.setattr(match, "_MAX_COMPARED", 1)
    fill(tmp_path, {"many": [piece("koala", line) for line in range(1, 2200)]})
    new = source("new", modified_ns=NOW_NS, project="/p")
    writer = IndexWriter(str(tmp_path))
    writer.add(new, [piece("koala " + "in a long text " * 50)], before=None, after=reached(1))
    writer.close()
    assert names(ask(tmp_path, "koala")) == ["many", "new"]
    assert names(ask(tmp_path, "koala", newest=True)) == ["new", "many"]
    assert names(ask(tmp_path, "koala", limit=1)) == ["many"]
    assert names(ask(tmp_path, "koala", limit=1, newest=True)) == ["new"]


def test_a_rare_word_decides_and_all_places_are_counted(tmp_path, monkeypatch):
    """Words that are everywhere are left out if there are others."""
    monkeypatch.setattr(match, "_COMMON", 50)
    sessions = {f"s{number}": [piece(f"koala {line}", line) for line in range(1, 41)] for number in range(4)}
    fill(tmp_path, sessions | {"rare": [piece("a numbat"), piece("a koala", 2)]})
    assert {each.session_id: each.places for each in ask(tmp_path, "koala").sessions} == {
        **dict.fromkeys(sessions, 40),
        "rare": 1,
    }
    assert names(ask(tmp_path, "where is the numbat of koala")) == ["rare"]
    assert len(ask(tmp_path, "koala 7").sessions) == 4


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
    assert waiting == {"c1": PendingCall("Bash", 1 << 24 | 1)}
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
        {"a": [piece("alpha shared", files=("x.py",))], "b": [piece("beta shared")]},
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


def test_a_similar_word_is_suggested(tmp_path):
    """The suggestion is a word of a text, not a stem."""
    fill(tmp_path, {"a": [piece("the telemetry was disabled"), piece("limits", 2)]})
    with opened(tmp_path) as connection:
        assert suggest_word(connection, parse_query("telemtry", NOW)) == "telemetry"
        assert suggest_word(connection, parse_query("disabeld", NOW)) == "disabled"
        assert suggest_word(connection, parse_query("数字", NOW)) is None
        assert suggest_word(connection, parse_query("qqqqqqqq", NOW)) is None


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        (
            "filler " * 100 + "the retry\n\tof a payment failed " + "filler " * 100,
            "retry payments",
            ["retry", "payment"],
        ),
        ('a "b c" d', '"b c"', ["b c"]),
        ("see parseUserName there", "user", ["User"]),
        ("前に数字を直しました", "数字", ["数字"]),
        ("x" * 5000 + " word", "word", ["word"]),
        ("\x02odd\x03 signs", "signs", ["signs"]),
        ("nothing to see", "kind:prompt", []),
    ],
)
def test_a_snippet_shows_what_was_found(tmp_path, text, query, marked):
    """The words are marked on one short line, with dots where the text is cut."""
    fill(tmp_path, {"a": [piece(text)]})
    answers = ask(tmp_path, query)
    with opened(tmp_path) as connection:
        shown = make_snippet(
            connection, answers.sessions[0].hits[0], answers.words, parse_query(query, NOW).terms
        )
    assert [shown.text[start:end] for start, end in shown.marks] == marked
    assert len(shown.text) <= 202
    assert "\n" not in shown.text


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


def test_a_session_indexed_in_several_updates_counts_as_one(tmp_path):
    """The pieces of such a session are not consecutive in the index."""
    fill(tmp_path, {"a": [piece("koala one")], "b": [piece("koala two")]})
    writer = IndexWriter(str(tmp_path))
    writer.add(source("a"), [piece("koala three", 2)], before=reached(1), after=reached(2))
    writer.close()
    found_now = {each.session_id: (each.places, len(each.hits)) for each in ask(tmp_path, "koala").sessions}
    assert found_now == {"a": (2, 2), "b": (1, 1)}


def test_a_piece_beside_others_that_match_is_worth_more(tmp_path):
    """An answer is often in the message after the question, so a session whose matching pieces are together comes first."""
    filler = [piece("nothing of the kind here", line) for line in range(2, 9)]
    apart = [piece("the voucher ledger", 1), *filler, piece("the voucher ledger", 9)]
    together = [piece("the voucher ledger", 1), piece("the voucher ledger", 2), *filler]
    fill(tmp_path, {"together": together, "apart": apart, "other": [piece("else")]})
    first, second = ask(tmp_path, "voucher ledger").sessions
    assert first.session_id == "together"
    assert first.score > second.score


def test_a_place_in_a_file_is_found_by_its_words(tmp_path):
    fill(tmp_path, {"a": [piece("edited src/http_client.py")], "b": [piece("else")]})
    assert names(ask(tmp_path, "http_client.py:42")) == ["a"]
    assert not ask(tmp_path, "http_client.py:42").complete
    assert names(ask(tmp_path, "nothing.rs:7")) == []


def test_a_slash_ends_the_name_of_a_project(tmp_path):
    writer = IndexWriter(str(tmp_path))
    for name in ("shop", "shop2", "shop/api"):
        where = source(name, project=f"/home/dev/{name}")
        assert writer.add(where, [piece("voucher")], before=None, after=reached(1))
    writer.close()
    assert {*names(ask(tmp_path, "voucher project:/home/dev/shop/"))} == {"shop", "shop/api"}
    assert {*names(ask(tmp_path, "voucher project:shop"))} == {"shop", "shop2", "shop/api"}


def test_a_command_with_its_options_can_be_searched(tmp_path):
    fill(tmp_path, {"a": [piece("pytest -q --tb short tests", kind="command")], "b": [piece("else")]})
    assert names(ask(tmp_path, "pytest -q --tb short")) == ["a"]
    assert names(ask(tmp_path, "pytest -short")) == []
