"""The measures of the chat are measured where they are printed."""

from leftoff.flows.bench_chat import MANY_TURNS, TURNS, measured, measures
from leftoff.system import paths


def test_both_sides_are_timed_in_every_round(tmp_path):
    """A long chat and one that has just begun, each of which grows."""
    pairs = measured(tmp_path / "chats", 2)
    assert len(pairs) == 2
    assert all(late > 0 < early for late, early in pairs)
    sizes = sorted(each.stat().st_size for each in (tmp_path / "chats").glob("*.md"))
    assert sizes[1] > sizes[0] * 3


def test_the_rows_say_what_they_measure_and_leave_nothing_behind(tmp_path):
    """In the folder they are given, and nowhere else. The summary stands all the time, and the register is left alone."""
    plain, summarised = measures(tmp_path, 1)
    assert plain.what == f"chat: 20 saves after {TURNS} turns"
    assert summarised.what == f"chat with a summary: 20 turns after {MANY_TURNS:,}"
    assert all(row.limit == 1.5 and row.ratio > 0 for row in (plain, summarised))
    small, large = sorted((tmp_path / "summarised").glob("*.md"), key=lambda each: each.stat().st_size)
    assert large.stat().st_size > 8_000_000
    assert all(each.read_text(encoding="utf-8").endswith("END -->\n") for each in (small, large))
    assert not (tmp_path / "summarised" / "register").exists()
    assert not paths.data_folder().exists()
