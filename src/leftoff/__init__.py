"""leftoff: pick up where you left off. Public names; each is loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from leftoff.api.auto_pause import AutoPauseHandler
    from leftoff.api.pause_manager import IncrementalPauseManager, SessionPauseManager
    from leftoff.api.pause_recovery import recover_orphaned_pause
    from leftoff.api.response_tracker import ResponseTracker
    from leftoff.api.resume_log_generator import ResumeLogGenerator
    from leftoff.api.session_manager import SessionManager, get_session_manager
    from leftoff.api.usage_tracker import ContextUsageTracker
    from leftoff.errors import LeftoffError
    from leftoff.flows.choose import open_session
    from leftoff.flows.status import measure
    from leftoff.model.context_metrics import ContextMetrics
    from leftoff.model.pause_action import PauseAction
    from leftoff.model.protocols import SectionProvider, StorageBackend, Summariser, TriggerCondition
    from leftoff.model.resume_log import ResumeLog
    from leftoff.model.session_node import SessionNode

__all__ = [
    "AutoPauseHandler",
    "ContextMetrics",
    "ContextUsageTracker",
    "IncrementalPauseManager",
    "LeftoffError",
    "PauseAction",
    "ResponseTracker",
    "ResumeLog",
    "ResumeLogGenerator",
    "SectionProvider",
    "SessionManager",
    "SessionNode",
    "SessionPauseManager",
    "StorageBackend",
    "Summariser",
    "TriggerCondition",
    "__version__",
    "get_session_manager",
    "measure",
    "open_session",
    "recover_orphaned_pause",
]

_WHERE = {
    "AutoPauseHandler": "leftoff.api.auto_pause",
    "ContextMetrics": "leftoff.model.context_metrics",
    "ContextUsageTracker": "leftoff.api.usage_tracker",
    "IncrementalPauseManager": "leftoff.api.pause_manager",
    "LeftoffError": "leftoff.errors",
    "PauseAction": "leftoff.model.pause_action",
    "ResponseTracker": "leftoff.api.response_tracker",
    "ResumeLog": "leftoff.model.resume_log",
    "ResumeLogGenerator": "leftoff.api.resume_log_generator",
    "SectionProvider": "leftoff.model.protocols",
    "SessionManager": "leftoff.api.session_manager",
    "SessionNode": "leftoff.model.session_node",
    "SessionPauseManager": "leftoff.api.pause_manager",
    "StorageBackend": "leftoff.model.protocols",
    "Summariser": "leftoff.model.protocols",
    "TriggerCondition": "leftoff.model.protocols",
    "get_session_manager": "leftoff.api.session_manager",
    "measure": "leftoff.flows.status",
    "open_session": "leftoff.flows.choose",
    "recover_orphaned_pause": "leftoff.api.pause_recovery",
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
