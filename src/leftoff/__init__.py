"""leftoff: pick up where you left off. These are the public names; each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.version import VERSION

if TYPE_CHECKING:  # the same names for type checkers; a test compares them with the table below
    from typing import Any

    from leftoff.api.pause_manager import AutoPauseHandler as AutoPauseHandler
    from leftoff.api.pause_manager import IncrementalPauseManager as IncrementalPauseManager
    from leftoff.api.pause_manager import SessionPauseManager as SessionPauseManager
    from leftoff.api.pause_manager import recover_orphaned_pause as recover_orphaned_pause
    from leftoff.api.resume_log_generator import ResumeLogGenerator as ResumeLogGenerator
    from leftoff.api.resume_state import ChatSessions as ChatSessions
    from leftoff.api.resume_state import ProjectLoader as ProjectLoader
    from leftoff.api.resume_state import ResumeState as ResumeState
    from leftoff.api.session_manager import SessionManager as SessionManager
    from leftoff.api.session_manager import get_session_manager as get_session_manager
    from leftoff.api.trimming import RolloverResult as RolloverResult
    from leftoff.api.trimming import TrimResult as TrimResult
    from leftoff.api.trimming import extract as extract
    from leftoff.api.trimming import get_continuation_lineage as get_continuation_lineage
    from leftoff.api.trimming import get_full_lineage_chain as get_full_lineage_chain
    from leftoff.api.trimming import get_parent_info as get_parent_info
    from leftoff.api.trimming import identify_trimmable_lines_cli as identify_trimmable_lines_cli
    from leftoff.api.trimming import (
        inject_lineage_into_first_user_message as inject_lineage_into_first_user_message,
    )
    from leftoff.api.trimming import plan_smart_trim as plan_smart_trim
    from leftoff.api.trimming import plan_trim as plan_trim
    from leftoff.api.trimming import rollover_session as rollover_session
    from leftoff.api.trimming import trim_and_create_session as trim_and_create_session
    from leftoff.api.trimming import trim_lines as trim_lines
    from leftoff.api.trimming import write_copy as write_copy
    from leftoff.api.usage_tracker import ContextUsageTracker as ContextUsageTracker
    from leftoff.api.usage_tracker import ResponseTracker as ResponseTracker
    from leftoff.chat.loop import ChatLoop as ChatLoop
    from leftoff.core.metrics import ContextMetrics as ContextMetrics
    from leftoff.core.protocols import SectionProvider as SectionProvider
    from leftoff.core.protocols import StorageBackend as StorageBackend
    from leftoff.core.protocols import Summariser as Summariser
    from leftoff.core.protocols import TriggerCondition as TriggerCondition
    from leftoff.core.resume_log import ResumeLog as ResumeLog
    from leftoff.core.session import SessionNode as SessionNode
    from leftoff.errors import LeftoffError as LeftoffError
    from leftoff.pause.journal import PauseAction as PauseAction
    from leftoff.sessions.find import open_session as open_session
    from leftoff.sessions.status import measure as measure

__version__ = VERSION

_PUBLIC_NAMES = {
    "leftoff.api.pause_manager": (
        "AutoPauseHandler",
        "IncrementalPauseManager",
        "SessionPauseManager",
        "recover_orphaned_pause",
    ),
    "leftoff.api.resume_log_generator": ("ResumeLogGenerator",),
    "leftoff.api.resume_state": ("ChatSessions", "ProjectLoader", "ResumeState"),
    "leftoff.api.session_manager": ("SessionManager", "get_session_manager"),
    "leftoff.api.trimming": (
        "RolloverResult",
        "TrimResult",
        "extract",
        "get_continuation_lineage",
        "get_full_lineage_chain",
        "get_parent_info",
        "identify_trimmable_lines_cli",
        "inject_lineage_into_first_user_message",
        "plan_smart_trim",
        "plan_trim",
        "rollover_session",
        "trim_and_create_session",
        "trim_lines",
        "write_copy",
    ),
    "leftoff.api.usage_tracker": ("ContextUsageTracker", "ResponseTracker"),
    "leftoff.chat.loop": ("ChatLoop",),
    "leftoff.core.metrics": ("ContextMetrics",),
    "leftoff.core.protocols": ("SectionProvider", "StorageBackend", "Summariser", "TriggerCondition"),
    "leftoff.core.resume_log": ("ResumeLog",),
    "leftoff.core.session": ("SessionNode",),
    "leftoff.errors": ("LeftoffError",),
    "leftoff.pause.journal": ("PauseAction",),
    "leftoff.sessions.find": ("open_session",),
    "leftoff.sessions.status": ("measure",),
}
_MODULES = {name: module for module, names in _PUBLIC_NAMES.items() for name in names}
__all__ = [*sorted([*_MODULES, "__version__"])]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, so that ``import leftoff`` costs almost nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'leftoff' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - see above

    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
