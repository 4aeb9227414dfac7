"""What the window holds and where the client compacts by itself: its environment and settings first, then the data file.

Settings are read as the client reads them: the user's, the project's, the project's local ones, each over the one before;
the environment, and what settings put into it, over all. A file that cannot be read says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leftoff.agents.claude.known import Known, KnownModel, known
from leftoff.agents.fields import count, table, text
from leftoff.model.context_metrics import WindowBasis
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.quick_json import loads
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject

WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
OFF = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
VARIABLES = (WINDOW, PERCENT, *OFF)
_FALSE = ("", "0", "false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """What somebody has set. None: nobody has."""

    is_off: bool
    window_tokens: int | None
    percent: int | None


def window(
    home: Path, environment: Mapping[str, str], occupancy: Occupancy, project: str | None
) -> AgentWindow:
    """The window of such a session, and where it is compacted."""
    setup = _setup(home, environment, project)
    data = known()
    family = data.model(occupancy.model) if occupancy.model else None
    tokens, basis = _size(data, family, occupancy)
    if setup.is_off:
        return AgentWindow(
            window_tokens=tokens, window_basis=basis, compacts_at_tokens=None, compaction_basis="setting"
        )
    if tokens is None:
        return AgentWindow(window_tokens=None, window_basis=basis, compacts_at_tokens=None)
    output = family.max_output_tokens if family else data.output_reserve_tokens
    effective = min(tokens, setup.window_tokens or tokens) - min(output, data.output_reserve_tokens)
    point = effective - data.margin_tokens
    is_set = setup.window_tokens is not None
    if setup.percent is not None and (is_set or tokens >= data.large_window_tokens):
        point, is_set = min(point, effective * setup.percent // 100), True
    return AgentWindow(
        window_tokens=tokens,
        window_basis=basis,
        compacts_at_tokens=max(1, point),
        compaction_basis="setting" if is_set else "table",
    )


def _size(data: Known, family: KnownModel | None, occupancy: Occupancy) -> tuple[int | None, WindowBasis]:
    """By the table; more in use than that shows the large window."""
    if occupancy.window_tokens is not None:
        return occupancy.window_tokens, "reported"
    asked_for_large = (occupancy.model or "").endswith(data.large_window_suffix)
    tokens = data.large_window_tokens if asked_for_large else family.window_tokens if family else None
    if tokens is None and occupancy.model:
        tokens = data.large_window_tokens  # what the client itself takes for a model that it does not know
    if tokens is not None and (occupancy.used_tokens or 0) > tokens:
        return max(data.large_window_tokens, occupancy.used_tokens or 0), "observed"
    return tokens, "table" if tokens is not None else "unknown"


def _setup(home: Path, environment: Mapping[str, str], project: str | None) -> _Setup:
    files = [home / "settings.json"]
    if project:
        folder = Path(project) / ".claude"
        files += [folder / "settings.json", folder / "settings.local.json"]
    settings: JsonObject = {}
    variables = dict(environment)
    for file in files:
        said = _settings(file)
        settings |= said
        given = table(said, "env")
        variables |= {name: value for name in VARIABLES if (value := text(given, name)) is not None}
    return _Setup(
        is_off=settings.get("autoCompactEnabled") is False
        or any(_is_true(variables.get(name)) for name in OFF),
        window_tokens=_number(variables.get(WINDOW)) or count(settings, "autoCompactWindow") or None,
        percent=_number(variables.get(PERCENT)),
    )


def _settings(file: Path) -> JsonObject:
    try:
        said = loads(file.read_bytes())
    except (OSError, ValueError):  # gone, broken, or no name that a file can have
        return {}
    return said if isinstance(said, dict) else {}


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() not in _FALSE


def _number(value: str | None) -> int | None:
    digits = (value or "").strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None
