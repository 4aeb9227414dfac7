"""What the session of a hook's pause was about, for a snapshot whose caller does not know: from extraction."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from leftoff.errors import LeftoffError
from leftoff.flows.agents import agent_called
from leftoff.flows.choose import Chosen
from leftoff.flows.pause_homes import PauseHome
from leftoff.pauses.origin import origin_in


def extracted_state(home: PauseHome) -> Mapping[str, Any] | None:
    """The session state of the pause's session; None for a pause by hand, and where the transcript is gone or not readable."""
    recorded = home.file.read() if home.is_of_hooks else None
    origin = origin_in(recorded.first_data) if recorded is not None else None
    if origin is None or origin.transcript is None:
        return None
    from leftoff.extract import render  # noqa: PLC0415 - loads all of extraction, which a pause by hand never needs
    from leftoff.flows.extraction import extracted  # noqa: PLC0415

    with suppress(LeftoffError):
        chosen = Chosen(agent=agent_called(origin.agent), transcript=Path(origin.transcript))
        return render(extracted(chosen, chosen.open()))
    return None
