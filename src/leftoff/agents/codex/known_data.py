"""What Codex writes and holds, as far as it was seen: data alone, in Python because that is loaded compiled.

Nothing here is needed to read a file: a type that is not listed comes out as a record of kind "unknown" and is passed through.
Raise ``SEEN`` with every change.
"""

from __future__ import annotations

SEEN = "2026-11-15"
OLDEST_VERSION = "0.2"  # before it the first line bears no version at all
NEWEST_VERSION = "0.166.0"
# Up to it token_count stands before the reply it is of, later behind that reply's answers.
USAGE_BEFORE_REPLY_UNTIL = "0.63"

# Types of lines, and their kind; response_item and event_msg go by the type of their payload.
RECORDS = {
    "compacted": "compaction",
    "header": "side",  # the first line until August 2025; our word, it has none
    "inter_agent_communication": "context",
    "inter_agent_communication_metadata": "side",
    "security_risk_score": "side",
    "session_meta": "side",
    "state": "side",  # "record_type", until August 2025
    "token_usage_record": "side",
    "turn_context": "side",
    "world_state": "side",
}

# Payloads of response_item, once bare lines; a message goes by its role and its words.
ITEMS = {
    "additional_tools": "context",
    "agent_message": "context",
    "compaction": "context",
    "compaction_summary": "context",
    "compaction_trigger": "side",
    "context_compaction": "context",
    "custom_tool_call": "reply",
    "custom_tool_call_output": "result",
    "function_call": "reply",
    "function_call_output": "result",
    "ghost_snapshot": "side",
    "image_generation_call": "reply",
    "local_shell_call": "reply",
    "message": "context",
    "reasoning": "reply",
    "tool_search_call": "reply",
    "tool_search_output": "result",
    "web_search_call": "reply",
}

# Payloads of event_msg: for the screen and for the history, never sent.
EVENTS = (
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "apply_patch_approval_request",
    "background_event",
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "context_compacted",
    "deprecation_notice",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "entered_review_mode",
    "error",
    "exec_approval_request",
    "exec_command_begin",
    "exec_command_end",
    "exited_review_mode",
    "guardian_assessment",
    "guardian_warning",
    "hook_completed",
    "hook_started",
    "image_generation_end",
    "item_completed",
    "item_started",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "model_reroute",
    "patch_apply_begin",
    "patch_apply_end",
    "plan_update",
    "session_configured",
    "shutdown_complete",
    "stream_error",
    "sub_agent_activity",
    "task_complete",
    "task_started",
    "thread_goal_updated",
    "thread_name_updated",
    "thread_rolled_back",
    "thread_settings_applied",
    "token_count",
    "turn_aborted",
    "turn_complete",
    "turn_diff",
    "turn_started",
    "undo_completed",
    "undo_started",
    "user_message",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
)

# How text begins, in small letters, that stands in a user's message and was not typed by the user. The client's own
# list; with content_item_kinds (0.166) it is not needed.
NOT_TYPED = (
    "# agents.md instructions",
    "<codex_internal_context",
    "<environment_context>",
    "<external_",
    "<goal_context>",
    "<hook_prompt",
    "<image_resize_notice>",
    "<permissions instructions>",
    "<recommended_plugins>",
    "<skill>",
    "<skills_instructions>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
    "another language model started to solve this problem and produced a summary",
    "warning: apply_patch was requested via ",
    "warning: the maximum number of unified exec processes you can keep open is",
    "warning: your account was flagged for potentially high-risk cyber activity",
)
# How a developer message begins that a rollback takes away together with the turn below it.
TOLD_ANEW = (
    "<apps_instructions>",
    "<collaboration_mode>",
    "<context_window>",
    "<context_window_guidance>",
    "<environments_instructions>",
    "<git_attribution>",
    "<managed_developer_instructions>",
    "<model_switch>",
    "<multi_agent_mode>",
    "<multi_agent_role>",
    "<permissions instructions>",
    "<personality_spec>",
    "<plugins_instructions>",
    "<realtime_conversation>",
    "<rollout_budget>",
    "<skills_instructions>",
    "<token_budget>",
    "<tools>",
)
SUMMARY_PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking "
    "process. You also have access to the state of the tools that were used by that language model. Use "
    "this to build on the work that has already been done and avoid duplicating work. Here is the "
    "summary produced by the other language model, use the information in this summary to assist with "
    "your own analysis:\n"
)
NO_SUMMARY = "(no summary available)"
# How an answer begins by which Codex says that the call failed, where it gives no exit code.
FAILED = (
    "apply_patch verification failed",
    "error: ",
    "execution error",
    "failed in sandbox",
    "failed to parse function arguments",
    "unsupported call",
)
# How an answer begins when the user did not let the call happen.
REFUSED = (
    "exec command rejected by user",
    "patch rejected by user",
    "rejected by user",
    "user rejected",
)
UNANSWERED = "aborted"  # what the client sends for a call that was never answered

# Of the user's own words, where a compaction has no replacement_history.
PROMPTS_KEPT_TOKENS = 20_000
# Of the raw window: where it compacts by itself (model_auto_compact_token_limit can only lower it), and what it calls
# model_context_window; in 2025 it called the raw window so.
COMPACTS_AT_PERCENT = 90
REPORTED_PERCENT = 95

# Raw windows. All sizes there are, to which a session that holds more than its model should is put up; and each model's:
# the first whose name begins so decides.
SIZES = (272_000, 372_000, 500_000, 872_000, 1_000_000)
MODELS = (
    ("gpt-daybreak-red", 372_000),
    ("gpt-6.1-terra", 500_000),
    ("", 272_000),  # all others, and what Codex itself takes for a model it does not know
)
