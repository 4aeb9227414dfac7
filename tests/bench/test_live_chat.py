"""The measures of the chat."""

from bench.live import MANY_TURNS, TURNS, chat_measures, measure_chat
from leftoff.platform import paths


def test_both_sides_are_timed_in_every_round(tmp_path):
    """A long chat and a new one are both timed while they grow."""
    pairs = measure_chat(tmp_path / "chats", 2)
    assert len(pairs) == 2
    assert all(late > 0 < early for late, early in pairs)
    sizes = sorted(each.stat().st_size for each in (tmp_path / "chats").glob("*.md"))
    assert sizes[1] > sizes[0] * 3


def test_the_rows_are_named_and_leave_no_files(tmp_path):
    """Files are only in the given folder, and the user's register is untouched."""
    plain, summarised = chat_measures(tmp_path, 1)
    assert plain.what == f"chat: 20 saves after {TURNS} turns"
    assert summarised.what == f"chat with a summary: 20 turns after {MANY_TURNS:,}"
    assert all(row.limit == 1.5 and row.ratio > 0 for row in (plain, summarised))
    small, large = sorted((tmp_path / "summarised").glob("*.md"), key=lambda each: each.stat().st_size)
    assert large.stat().st_size > 8_000_000
    assert all(each.read_text(encoding="utf-8").endswith("END -->\n") for each in (small, large))
    assert not (tmp_path / "summarised" / "register").exists()
    assert not paths.data_folder().exists()
