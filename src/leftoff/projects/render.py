"""The generated parts of a resume state as Markdown. Pure; text from elsewhere cannot become Markdown structure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from leftoff.core import markdown
from leftoff.projects.body import Item
from leftoff.projects.progress import Facts
from leftoff.projects.project_state import State
from leftoff.projects.steps import Section

NOTE = "Note: "
NUMBERED = frozenset({"decisions"})  # lists whose entries have numbers
_NONE = "- (none yet)"
_DONE, _ONGOING, _OPEN = "✅", "🔄", "⬜"
_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """How full the session's window is, and the shares at which leftoff warns and saves. None means not known."""

    used_tokens: int | None = None
    usable_tokens: int | None = None
    warn_fraction: float
    save_fraction: float


def short_line(text: str) -> str:
    """Return text from elsewhere on one line, short enough for a list."""
    flat = one_line(text)
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"


def one_line(text: str) -> str:
    """Return text from elsewhere on one line, uncut."""
    return markdown.escape_item(markdown.escape_inline(text))


def header(state: State, at: datetime) -> str:
    """Return the three lines at the top."""
    return "\n".join(
        [
            f"> **Last Session**: {at:%Y-%m-%d} at {at:%H:%M}",
            f"> **Current Phase**: {_phase(state)}",
            f"> **Next Action**: {short_line(state.next_action or '')}",
        ]
    )


def quick_context(state: State, facts: Facts) -> str:
    """Return what is being built, the current goal and the progress."""
    return "\n".join(
        [
            "**What We're Building**:",
            short_line(facts.purpose or "The overview does not say yet."),
            "",
            "**Current Goal**:",
            short_line(_goal(state, facts)),
            "",
            "**Progress Summary**:",
            *_progress(state, facts),
        ]
    )


def render_list(items: Iterable[Item], *, numbered: bool = False) -> str:
    """Return a list with its entries uncut, or a line that says that it is empty."""
    lines = [
        f"{_bullet(item, number if numbered else 0)}{one_line(item.text)}"
        for number, item in enumerate(items, 1)
    ]
    return "\n".join(lines) or _NONE


def loading(facts: Facts) -> str:
    """Return what to read, in order."""
    first, *rest = facts.reads
    planning = [each for each in rest if each.endswith(("overview.md", "plan.md"))]
    working = [each for each in rest if each in facts.working]
    phase = [each for each in rest if each not in planning and each not in working]
    groups = (
        ("Core Planning Files", planning),
        ("Current Phase Files", phase),
        ("Work in Progress", working),
    )
    lines = [f"1. **THIS FILE FIRST** (`{first}`) - Get current state"]
    for title, files in groups:
        if files:
            lines += [f"{len([each for each in lines if not each.startswith(' ')]) + 1}. **{title}**:"]
            lines += [f"   - `{short_line(each)}`" for each in files]
    number = len([each for each in lines if not each.startswith(" ")]) + 1
    lines += [f"{number}. **Reference as Needed**:", '   - Files listed in "Files Modified" section above']
    return "\n".join(["**When resuming this project**, load files in this order:", "", *lines])


def quick_start(short_id: str) -> str:
    """Return the commands to type."""
    return "\n".join(
        [
            "```bash",
            "# Resume this project",
            f"leftoff project resume {short_id}",
            "",
            "# The same for a program: state, action, recommended reads, instructions",
            f"leftoff project load {short_id} --json",
            "",
            "# Tick tasks and update this file in one step",
            f"leftoff project complete 1-5 --project {short_id}",
            "```",
        ]
    )


def compaction(gauge: Gauge) -> str:
    """Return the token counts and what saves the state."""
    lines = ["**Token Tracking**:"]
    used, usable = gauge.used_tokens, gauge.usable_tokens
    lines.append(
        f"- Current session: ~{used:,} tokens" if used is not None else "- Current session: not known"
    )
    for title, share in (("Warning", gauge.warn_fraction), ("Critical", gauge.save_fraction)):
        what = "" if title == "Warning" else ", saved by itself"
        of = f" ({share:.1%} of {usable:,})" if usable else f"{share:.1%} of the usable window"
        tokens = f"{int(share * usable):,} tokens" if usable else ""
        lines.append(f"- {title} threshold: {tokens}{of}{what}")
    return "\n".join(
        [
            *lines,
            "",
            "**Manual Save Triggers**:",
            '- User says "save progress"',
            '- User says "done for today" (close-session)',
            "- After completing major phase (bulk-complete section)",
        ]
    )


def checklist(*, has_session: bool, has_decisions: bool) -> str:
    """Return what a session must update; what leftoff does by itself is ticked."""
    boxes = {
        "Update last_updated timestamp": True,
        "Update session_count": has_session,
        "Update current location (phase, section, task)": True,
        "Update progress metrics": True,
        "Add session summary to Session History": has_session,
        "Update Critical Context if decisions made": has_decisions,
        "Update Files Modified list": has_session,
    }
    lines = [f"- [{'x' if done else ' '}] {text}" for text, done in boxes.items()]
    return "\n".join(["**After each session**:", *lines])


def session_entry(number: int, title: str, day: str, lines: Iterable[str], *, is_current: bool) -> str:
    """Return one entry of the session history."""
    current = " (Current)" if is_current else ""
    return "\n".join([f"### Session {number}{current}: {title} ({day})", *(f"- {line}" for line in lines)])


def section_line(section: Section) -> str:
    """Return the number and name of a section."""
    return f"Section {section.number}: {short_line(section.name)}"


def _bullet(item: Item, number: int) -> str:
    box = "" if item.is_done is None else f"[{'x' if item.is_done else ' '}] "
    return f"{number}. {box}" if number else f"- {box}"


def _phase(state: State) -> str:
    phase = (state.location.current_phase or "research").capitalize()
    task = state.execution
    if phase == "Execution" and task.current_section is not None:
        return f"{phase} (Section {task.current_section}: {short_line(task.current_section_name or '')})"
    return phase


def _goal(state: State, facts: Facts) -> str:
    number = state.execution.current_section
    section = facts.steps.section(number) if number is not None else None
    if state.location.current_phase == "execution" and section is not None and not section.is_complete:
        left = len(section.counted) - section.done
        return f"Finish Section {section.number}: {section.name} ({left} task{'s' * (left != 1)} left)"
    return state.next_action or ""


def _progress(state: State, facts: Facts) -> list[str]:
    planned = [flag for flag in ("overview", "plan", "steps") if getattr(state.planning, flag)]
    phase = state.location.current_phase or "research"
    written = f" ({', '.join(planned)})" if 0 < len(planned) < 3 else ""
    is_planned = len(planned) == 3
    lines = [
        _status_line("Research phase", _phase_status(bool(state.planning.research), phase == "research")),
        _status_line(f"Planning{written}", _phase_status(is_planned, phase == "planning" or bool(planned))),
        _status_line("Execution", _execution(state, facts)),
    ]
    for name in ("testing", "deployment"):
        later = phase == "deployment" and name == "testing"
        lines.append(_status_line(name.capitalize(), _phase_status(later, phase == name)))
    return lines


def _execution(state: State, facts: Facts) -> tuple[str, str]:
    tasks = facts.steps
    count = f"({tasks.done}/{tasks.total} tasks)"
    if not tasks.done:
        return _OPEN, "Not started" if not tasks.total else f"Not started {count}"
    if tasks.next is None:
        return _DONE, f"Complete {count}"
    complete = [str(each.number) for each in tasks.sections if each.is_complete]
    parts = [f"Section{'s' * (len(complete) > 1)} {', '.join(complete)} complete"] if complete else []
    number = state.execution.current_section
    parts += [f"Section {number} in progress"] if number is not None else ["in progress"]
    return _ONGOING, f"{', '.join(parts)} {count}"


def _phase_status(is_done: bool, is_going: bool) -> tuple[str, str]:  # noqa: FBT001 - two facts of one line
    if is_done:
        return _DONE, "Complete"
    return (_ONGOING, "In progress") if is_going else (_OPEN, "Not started")


def _status_line(name: str, status: tuple[str, str]) -> str:
    sign, text = status
    return f"- {sign} {name}: {text}"


def new_document(state_lines: str, name: str, blocks: Mapping[str, str]) -> str:
    """Return a whole new file: the front matter, then every section with its generated blocks."""
    return _NEW.format(front=state_lines, name=short_line(name), **blocks)


_NEW = """---
{front}---

# Resume State: {name}

{header}
---

## Quick Context

{quick_context}
---

## Session History

{history}---

## Critical Context to Remember

**Key Decisions Made**:
{decisions}
**Important Assumptions**:
{assumptions}
**Blockers/Risks Identified**:
{blockers}
**Mental Models Applied**:
{mental_models}
---

## Files Modified This Project

**Created**:
{created}
**Modified**:
{modified}
**Pending**:
{pending}
---

## Loading Sequence for Resume

{loading}
---

## Quick Start Commands

{quick_start}
---

## Compaction Detection

{compaction}
---

## Resume State Update Checklist

{checklist}"""
