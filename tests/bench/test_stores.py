"""The measures of the stores, one round on real servers."""

import pytest

from bench.stores import GOAL, measures


@pytest.mark.slow
@pytest.mark.server
def test_both_stores_are_measured_against_their_drivers():
    """The rows are ratios with goals: S3 against plain requests and against overwriting."""
    rows = [*measures(1)]
    assert [(row.what, row.against) for row in rows] == [
        ("S3: save, load and list logs", "plain boto3: put by time, list, get newest, list all"),
        ("S3: the same, never overwriting", "plain boto3 that overwrites: put, get, list"),
        ("PostgreSQL: save, load and list logs", "plain psycopg: upsert, select"),
    ]
    assert all(row.ratio > 0 and row.limit == GOAL and " ms; ours " in row.note for row in rows)
