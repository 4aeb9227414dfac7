"""The measures of the library run and leave no files with the user."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.speed import QUICK, _library
from leftoff.catalogue.database import library_folder


@pytest.mark.slow
def test_the_library_is_measured_in_a_scratch_home(tmp_path):
    """Every row is there, the index is small, and the user has no library afterwards."""
    size = replace(QUICK, rounds=1, library_bytes=400_000, sessions=20)
    rows = [*_library(tmp_path, size)]
    assert [row.what.partition(" in ")[0] for row in rows] == [
        "library: build",
        "library: size",
        *([] if sys.platform == "win32" else ["library: peak memory of the build"]),
        "library: update after one line",
        "leftoff search",
        "list 20 sessions again",
    ]
    assert all(row.ratio > 0 for row in rows)
    assert not Path(library_folder()).exists()
    assert not (tmp_path / "library").exists()
