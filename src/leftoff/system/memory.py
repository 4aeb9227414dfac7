"""How much memory this process has taken at the most."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PEAK = "VmHWM:"


def peak_bytes() -> int:
    """The most that was resident since the program began.

    Linux' own answer to ``getrusage`` is no less than what the process had that started us, because it counts from before the
    program was loaded; so the system is asked elsewhere where it can be.
    """
    try:
        lines = _STATUS.read_text("ascii").splitlines()
    except OSError:
        return _from_usage()
    found = next((line.split() for line in lines if line.startswith(_PEAK)), None)
    return _from_usage() if found is None else int(found[1]) * 1024


def _from_usage() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
