"""The measures of the stores, once round on real servers."""

import pytest

from leftoff.flows import bench_servers
from leftoff.flows.bench_stores import GOAL, measures
from leftoff.system import paths


@pytest.mark.server
def test_both_stores_are_measured_against_their_drivers():
    """As ratios, with the goal; and both servers are gone afterwards."""
    rows = [*measures(1)]
    assert [row.what for row in rows] == [
        "S3: save, load and list logs",
        "PostgreSQL: save, load and list logs",
    ]
    assert all(row.ratio > 0 and row.limit == GOAL and " ms; ours " in row.note for row in rows)


def test_a_server_that_cannot_start_says_why(tmp_path):
    """And leaves nothing behind."""

    class Unable(bench_servers.S3Server):
        def command(self):
            return ["/bin/sh", "-c", "echo no such thing >&2; exit 3"]

    server = Unable()
    with pytest.raises(bench_servers.ProcessError, match="no such thing"):
        server.__enter__()
    assert not server.folder.exists()
    assert bench_servers.are_here()
    assert paths.environment().get("AWS_ACCESS_KEY_ID") is None
