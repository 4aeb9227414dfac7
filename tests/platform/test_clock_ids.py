"""Ids: those that are made cannot collide, those that are let in cannot lead anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import InvalidIdError
from leftoff.platform import clock

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENT = datetime(2026, 1, 6, 12, 0, 0, 123456, tzinfo=UTC)


@given(
    st.text()
    | st.text(alphabet="ab./\\-_~:\0 ", max_size=20)
    | st.from_regex(r"(\.|/|\w|-)+", fullmatch=True)
)
def test_whatever_is_let_through_stays_in_its_folder(text: str) -> None:
    """An accepted id stays in its folder as a name and as part of a name, on any system."""
    try:
        clock.check_id(text)
    except InvalidIdError:
        return
    for name in (text, f"session-{text}.json"):
        path = Path(os.path.normpath(f"/store/{name}"))
        assert path == Path("/store") / name
        assert path.parent == Path("/store")
    assert len(os.fsencode(text)) <= clock.LONGEST_ID
    assert not set(text) & set('/\\:*?"<>|\0\n\r ')


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "..", "../x", "x/../../evil", "a/b", "/etc/passwd", "\\\\server\\x", "C:x", "a\\b"),
        *(
            "a\0b",
            "a\n",
            "\na",
            "a b",
            "a\tb",
            "~root",
            "-rf",
            ".hidden",
            "a..b",
            "a.",
            "*",
            "a:b",
            "$HOME",
            "`x`",
        ),
        *("con", "NUL", "com1.txt", "Lpt9", "aux.tar.gz"),
        *("\uff41", "\u0430", "a\u202eb", "a\u2044b", "‥", "a\u0301", "a\ud800", "٣"),
        "a" * 129,
    ],
)
def test_what_could_lead_elsewhere_is_refused(text: str) -> None:
    """Steps up, absolute paths, NULs, devices, look-alikes, and names too long to extend."""
    with pytest.raises(InvalidIdError) as refused:
        clock.check_id(text, what="log")
    assert str(refused.value).startswith("The log ")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "0",
        "my-session_1.v2",
        "a" * 128,
        "console",
        "com",
        "019b8f2e-7c1a-7def-8abc-0123456789ab",
        "ses_5fK2",
    ],
)
def test_what_agents_use_is_let_through(text: str) -> None:
    """UUIDs, words with dashes, dots and digits, and names that only begin like a device's."""
    assert clock.check_id(text) == text


_MANY = """
import sys
from leftoff.platform import clock
while not __import__("os").path.exists("go"): pass
sys.stdout.write("\\n".join(clock.timed_id("session", clock.now()) for _ in range(25_000)))
"""


def test_a_hundred_thousand_ids_of_four_processes_differ() -> None:
    """The ids are made at the same time, several in each microsecond."""
    makers = [subprocess.Popen([sys.executable, "-c", _MANY], stdout=subprocess.PIPE) for _ in range(4)]
    Path("go").touch()
    ids = [line for maker in makers for line in maker.communicate(timeout=60)[0].split()]
    assert len(ids) == len({*ids}) == 100_000


def test_ids_of_one_moment_differ() -> None:
    """A use case reads the clock once, so its ids differ by their random part only."""
    assert len({clock.timed_id("session", MOMENT) for _ in range(200)}) == 200


def test_a_timed_id_is_an_id_and_sorts_by_time() -> None:
    """A timed id has microseconds and can be a file name."""
    ids = [
        clock.timed_id("session", MOMENT + timedelta(microseconds=n)) for n in (0, 1, 999_999, 86_400_000_000)
    ]
    assert ids == sorted(ids)
    assert ids[0].startswith("session-20260106-120000-123456-")
    assert [clock.check_id(each) for each in ids] == ids


@given(
    st.integers(min_value=0, max_value=250_000_000_000_000_000).map(
        lambda n: EPOCH + timedelta(microseconds=n)
    )
)
def test_a_uuid7_carries_its_millisecond(moment: datetime) -> None:
    """Version and variant as RFC 9562 wants them; the first 48 bits are the time."""
    parsed = uuid.UUID(clock.uuid7(moment))
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert abs((parsed.int >> 80) - moment.timestamp() * 1000) < 1.5


def test_uuids_sort_by_time_and_differ() -> None:
    """A later millisecond sorts later; of one moment no two are the same."""
    ids = [clock.uuid7(MOMENT + timedelta(milliseconds=n)) for n in range(1000)]
    assert ids == sorted(ids)
    assert len({clock.uuid7(MOMENT) for _ in range(10_000)}) == 10_000
    assert uuid.UUID(clock.uuid4()).version == 4
    assert clock.uuid4() != clock.uuid4()
    assert uuid.UUID(clock.uuid7(clock.now())).version == 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11", True),
        ("0B54F7AA-6D0C-4C7B-9D57-3F6C9D9A3B11", True),
        ("0b54f7aa6d0c4c7b9d573f6c9d9a3b11", False),
        ("session-1", False),
        ("", False),
    ],
)
def test_a_uuid_is_distinguished_from_other_session_ids(text: str, *, expected: bool) -> None:
    """UUIDs are recognised in upper and lower case."""
    assert clock.is_uuid(text) is expected
