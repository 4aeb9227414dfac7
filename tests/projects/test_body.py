"""Sections, lists and generated blocks of the body."""

from leftoff.projects import body
from tests.projects.builders import document


def test_a_block_that_a_person_edited_or_removed_is_not_written_again():
    text = f"before\n{body.render_block('x', 'ours')}after\n"
    assert body.replace_block(text, "x", "new") == f"before\n{body.render_block('x', 'new')}after\n"
    edited = text.replace("ours", "ours, mended")
    assert body.replace_block(edited, "x", "new") is edited
    assert body.replace_block("before\nafter\n", "x", "new") == "before\nafter\n"
    assert body.replace_block(text, "x", "ours") is text
    assert body.replace_block(text, "x", "ours", {"n": "1"}) != text


def test_windows_line_ends_do_not_count_as_an_edit():
    text = ("a\n" + body.render_block("x", "one\ntwo", {"n": "1"})).replace("\n", "\r\n")
    assert body.find_blocks(text)["x"].is_unedited
    assert body.replace_block(text, "x", "three").count("\r\n") == text.count("\r\n") - 1


def test_a_marker_without_an_end_is_not_a_block_and_the_first_of_a_name_counts():
    assert body.find_blocks("<!-- leftoff:x 12345678 -->\nno end\n") == {}
    twice = body.render_block("x", "first") + body.render_block("x", "second")
    assert body.find_blocks(twice)["x"].content == "first"


def test_lists_with_numbers_bullets_and_boxes_are_read():
    assert [item.text for item in body.list_items(document().body, "decisions")] == [
        "SQLite, because nothing has to be started"
    ]
    assert [(item.text, item.is_done) for item in body.list_items(document().body, "blockers")] == [
        ("CI is slow", False),
        ("No key - we got one", True),
    ]
    assert body.list_items(document().body, "assumptions") == []


def test_a_heading_in_a_code_fence_is_not_a_section():
    found = body.split_sections("## A\nx\n```\n## B\n```\ny\n## C\nz\n## A\nagain\n")
    assert found == {"A": "x\n```\n## B\n```\ny", "C": "z"}
