"""Print what the stress tests measured at the end of the run."""

from tests.platform.stress.conftest import note, pytest_terminal_summary

__all__ = ["note", "pytest_terminal_summary"]
