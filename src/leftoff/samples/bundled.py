"""The bundled session: a developer and an agent add rate limits to a small web API, and a compaction costs them an hour.

What a newcomer sees in the demo. The story stands in `data/bundled-1.txt` and `-2.txt`, its project in
`data/orders-api.txt`; see ``screenplay`` for how they are written. Rules are stated, one is taken back later, the
summary forgets some of both, the work goes wrong where it does, and the session ends with open work and a nearly full
window.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from leftoff.model.script import Script
from leftoff.samples import pictures, props
from leftoff.samples.gauge import Gauge
from leftoff.samples.screenplay import Stage, parts

PROJECT: Final = "/home/mika/code/orders-api"
WINDOW_TOKENS: Final = 200_000

_ACTS = ("orders-api", "bundled-1", "bundled-2")
_START = datetime(2026, 3, 12, 0, 2, 11, tzinfo=UTC)  # nine in the morning where the user sits
_OVERHEAD_TOKENS = 16_000
_SUBAGENT_OVERHEAD_TOKENS = 9_000
_TOKENS_PER_CHAR = 0.374  # as real sessions show it
_LATENCIES = (22, 21, 23, 19, 12, 7, 4, 3, 2, 2, 3, 2, 2, 2, 3, 2, 2, 2, 2, 3, 2, 2, 2, 2)


def bundled_script(*, project: str = PROJECT) -> Script:
    """The story, as if it had happened in the folder ``project``."""
    stage = Stage(
        project=project,
        start=_START,
        gauge=Gauge(
            base_tokens=_OVERHEAD_TOKENS, tokens_per_char=_TOKENS_PER_CHAR, ceiling_tokens=WINDOW_TOKENS
        ),
        pictures={"latency": pictures.bars(_LATENCIES, bar_width=4)},
        subagent_tokens=_SUBAGENT_OVERHEAD_TOKENS,
    )
    story = "\n".join(props.text(act) for act in _ACTS)
    return Script(
        session_id="5b0e6f0a-3c1d-4e7f-9a55-0d2f7c1b8e46",
        project=project,
        branch="feature/rate-limits",
        model="sample-1",
        window_tokens=WINDOW_TOKENS,
        events=tuple(stage.play(parts(story, props.inserts()))),
    )
