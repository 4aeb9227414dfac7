"""leftoff: pick up where you left off. Public names; each is loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from leftoff.errors import LeftoffError
    from leftoff.flows.choose import open_session
    from leftoff.flows.status import measure
    from leftoff.model.context_metrics import ContextMetrics
    from leftoff.model.pause_action import PauseAction
    from leftoff.model.protocols import SectionProvider, StorageBackend, Summariser, TriggerCondition
    from leftoff.model.resume_log import ResumeLog
    from leftoff.model.session_node import SessionNode

__all__ = [
    "ContextMetrics",
    "LeftoffError",
    "PauseAction",
    "ResumeLog",
    "SectionProvider",
    "SessionNode",
    "StorageBackend",
    "Summariser",
    "TriggerCondition",
    "__version__",
    "measure",
    "open_session",
]

_WHERE = {
    "ContextMetrics": "leftoff.model.context_metrics",
    "LeftoffError": "leftoff.errors",
    "PauseAction": "leftoff.model.pause_action",
    "ResumeLog": "leftoff.model.resume_log",
    "SectionProvider": "leftoff.model.protocols",
    "SessionNode": "leftoff.model.session_node",
    "StorageBackend": "leftoff.model.protocols",
    "Summariser": "leftoff.model.protocols",
    "TriggerCondition": "leftoff.model.protocols",
    "measure": "leftoff.flows.status",
    "open_session": "leftoff.flows.choose",
}


def __getattr__(name: str) -> Any:
    """Load a public name on its first use, so that ``import leftoff`` costs almost nothing."""
    if name not in _WHERE:
        raise AttributeError(f"module 'leftoff' has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
