"""Time: aware and UTC inside, RFC 3339 with Z outside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.platform import clock


def test_now_is_aware_and_utc() -> None:
    assert clock.now().tzinfo is UTC


def test_a_moment_is_written_with_z() -> None:
    """A time is written in UTC whatever its zone, with microseconds only if it has any."""
    noon = datetime(2026, 1, 6, 13, tzinfo=timezone(timedelta(hours=1)))
    assert clock.format_rfc3339(noon) == "2026-01-06T12:00:00Z"
    assert clock.format_rfc3339(noon.replace(microsecond=5)) == "2026-01-06T12:00:00.000005Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_is_written_is_read_back(moment: datetime) -> None:
    """Every moment there is."""
    assert clock.parse_rfc3339(clock.format_rfc3339(moment)) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-06T12:00:00Z", datetime(2026, 1, 6, 12, tzinfo=UTC)),
        ("2026-01-06T12:00:00", datetime(2026, 1, 6, 12, tzinfo=UTC)),
        ("2026-01-06T13:00:00+01:00", datetime(2026, 1, 6, 12, tzinfo=UTC)),
        ("2026-01-06T12:00:00.123456789Z", datetime(2026, 1, 6, 12, 0, 0, 123456, tzinfo=UTC)),
        ("2026-01-06", datetime(2026, 1, 6, tzinfo=UTC)),
        ("", None),
        ("yesterday", None),
        ("2026-13-45T00:00:00Z", None),
        ("0001-01-01T00:00:00+01:00", None),
        ("9999-12-31T23:59:59-01:00", None),
    ],
)
def test_times_of_other_programs_are_parsed_or_none(text: str, moment: datetime | None) -> None:
    """Zones, nanoseconds and bare dates are accepted, and nothing raises."""
    assert clock.parse_rfc3339(text) == moment


@given(st.text(alphabet="0123456789-:T.+Zz "))
def test_no_text_makes_reading_a_time_fail(text: str) -> None:
    """Any text gives a time or ``None`` and never an exception."""
    moment = clock.parse_rfc3339(text)
    assert moment is None or moment.tzinfo is UTC
