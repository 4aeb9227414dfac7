"""What a stress test measured is printed at the end of the run, as for the stress tests of ``system``."""

from tests.system.stress.conftest import note, pytest_terminal_summary

__all__ = ["note", "pytest_terminal_summary"]
