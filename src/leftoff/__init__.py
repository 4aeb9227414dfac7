"""leftoff: pick up where you left off. Public names; each is loaded when it is first used."""

from __future__ import annotations

import sys

__version__ = "0.1.0.dev0"

TYPE_CHECKING = False  # as typing has it, which takes a third of the time that a search has
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from leftoff.api.auto_pause import AutoPauseHandler
    from leftoff.api.chat_sessions import ChatSessions
    from leftoff.api.pause_manager import IncrementalPauseManager, SessionPauseManager
    from leftoff.api.pause_recovery import recover_orphaned_pause
    from leftoff.api.project_loader import ProjectLoader
    from leftoff.api.response_tracker import ResponseTracker
    from leftoff.api.resume_log_generator import ResumeLogGenerator
    from leftoff.api.resume_state import ResumeState
    from leftoff.api.session_lineage import (
        get_continuation_lineage,
        get_full_lineage_chain,
        get_parent_info,
        inject_lineage_into_first_user_message,
    )
    from leftoff.api.session_manager import SessionManager, get_session_manager
    from leftoff.api.shrinking import extract, plan_smart_trim, plan_trim, write_copy
    from leftoff.api.trimming import (
        identify_trimmable_lines_cli,
        rollover_session,
        trim_and_create_session,
        trim_lines,
    )
    from leftoff.api.usage_tracker import ContextUsageTracker
    from leftoff.chat.loop import ChatLoop
    from leftoff.errors import LeftoffError
    from leftoff.flows.choose import open_session
    from leftoff.flows.status import measure
    from leftoff.model.context_metrics import ContextMetrics
    from leftoff.model.pause_action import PauseAction
    from leftoff.model.protocols import SectionProvider, StorageBackend, Summariser, TriggerCondition
    from leftoff.model.resume_log import ResumeLog
    from leftoff.model.session_node import SessionNode
else:
    ModuleType = type(sys)  # without loading types

__all__ = [
    "AutoPauseHandler",
    "ChatLoop",
    "ChatSessions",
    "ContextMetrics",
    "ContextUsageTracker",
    "IncrementalPauseManager",
    "LeftoffError",
    "PauseAction",
    "ProjectLoader",
    "ResponseTracker",
    "ResumeLog",
    "ResumeLogGenerator",
    "ResumeState",
    "SectionProvider",
    "SessionManager",
    "SessionNode",
    "SessionPauseManager",
    "StorageBackend",
    "Summariser",
    "TriggerCondition",
    "__version__",
    "extract",
    "get_continuation_lineage",
    "get_full_lineage_chain",
    "get_parent_info",
    "get_session_manager",
    "identify_trimmable_lines_cli",
    "inject_lineage_into_first_user_message",
    "measure",
    "open_session",
    "plan_smart_trim",
    "plan_trim",
    "recover_orphaned_pause",
    "rollover_session",
    "trim_and_create_session",
    "trim_lines",
    "write_copy",
]

_WHERE = {
    "AutoPauseHandler": "leftoff.api.auto_pause",
    "ChatLoop": "leftoff.chat.loop",
    "ChatSessions": "leftoff.api.chat_sessions",
    "ContextMetrics": "leftoff.model.context_metrics",
    "ContextUsageTracker": "leftoff.api.usage_tracker",
    "IncrementalPauseManager": "leftoff.api.pause_manager",
    "LeftoffError": "leftoff.errors",
    "PauseAction": "leftoff.model.pause_action",
    "ProjectLoader": "leftoff.api.project_loader",
    "ResponseTracker": "leftoff.api.response_tracker",
    "ResumeLog": "leftoff.model.resume_log",
    "ResumeLogGenerator": "leftoff.api.resume_log_generator",
    "ResumeState": "leftoff.api.resume_state",
    "SectionProvider": "leftoff.model.protocols",
    "SessionManager": "leftoff.api.session_manager",
    "SessionNode": "leftoff.model.session_node",
    "SessionPauseManager": "leftoff.api.pause_manager",
    "StorageBackend": "leftoff.model.protocols",
    "Summariser": "leftoff.model.protocols",
    "TriggerCondition": "leftoff.model.protocols",
    "extract": "leftoff.api.shrinking",
    "get_continuation_lineage": "leftoff.api.session_lineage",
    "get_full_lineage_chain": "leftoff.api.session_lineage",
    "get_parent_info": "leftoff.api.session_lineage",
    "get_session_manager": "leftoff.api.session_manager",
    "identify_trimmable_lines_cli": "leftoff.api.trimming",
    "inject_lineage_into_first_user_message": "leftoff.api.session_lineage",
    "measure": "leftoff.flows.status",
    "open_session": "leftoff.flows.choose",
    "plan_smart_trim": "leftoff.api.shrinking",
    "plan_trim": "leftoff.api.shrinking",
    "recover_orphaned_pause": "leftoff.api.pause_recovery",
    "rollover_session": "leftoff.api.trimming",
    "trim_and_create_session": "leftoff.api.trimming",
    "trim_lines": "leftoff.api.trimming",
    "write_copy": "leftoff.api.shrinking",
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


class _Package(ModuleType):
    """This package, whose ``extract`` is the public function also after the room of that name was imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
