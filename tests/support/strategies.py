"""Hypothesis strategies: text that could be mistaken for Markdown structure, and resume logs made of it."""

from itertools import pairwise, product

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground, Source
from leftoff.core.records import Place
from leftoff.core.resume_log import CustomSection, ResumeLog

FIXED_HEADINGS = (
    "Context Metrics",
    "Mission Summary",
    "Accomplishments",
    "Key Findings",
    "Decisions & Rationale",
    "Next Steps",
    "Critical Context",
    "Session Metadata",
)

_LINE_STARTS = [
    "",
    "",
    "  ",
    "    ",
    "\t",
    "- ",
    "* ",
    "1. ",
    "23) ",
    "> ",
    ">",
    "- - ",
    "  - ",
    "> - ",
    "     ",
    "\xa0",
]
_LINE_BODIES = [
    "# Title", "## Next Steps", "###### deep", "#", "##", "#hash", "#123", "===", "=", "---", "-", "-----x", "- -", "***",
    "```", "````", "```python", "``` a`b", "~~~", "~~~~ x", "```inline```", "`````", "<!-- hidden", "-->", "<script>",
    "</script>", "<div>", "</div", "<?php", "<![CDATA[", "<T>", "a < b", "<pre>", "<https://x.y>", "text", "more. And so on. ",
    "[ref]: /url", "| a | b |", "|---|---|", "\\", "`code`", "def f(x):", "    return 1", "日本語のテキスト。", "🎉🎉", "  ", "",
]  # fmt: skip
_LINE_ENDS = ["\n", "\n", "\n", "\n\n", "\r\n", "\r", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"]
_CONTROL_CHARACTERS = [
    "\x00",
    "\ud800",
    "\udfff",
    "\x1b[31m",
    "\ufeff",
    "\u200b",
    "\x7f",
    "\x9b",
    "\t",
    "`" * 40,
    "x" * 300,
]

# Sampling a line once instead of its three parts: a log has hundreds of lines.
lines = st.sampled_from([*map("".join, product(_LINE_STARTS, _LINE_BODIES, _LINE_ENDS))])
texts = st.one_of(
    st.lists(lines, max_size=10).map("".join),
    st.lists(st.one_of(lines, st.sampled_from(_CONTROL_CHARACTERS), st.text(max_size=8)), max_size=8).map(
        "".join
    ),
    st.text(max_size=40),
)
long_texts = st.builds(lambda text, times: text * times, texts, st.sampled_from([1, 1, 1, 1, 1, 1, 20, 400]))
short_texts = st.one_of(texts, st.text("abcXYZ_019./-", max_size=30))

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), short_texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(short_texts, inner, max_size=4)),
    max_leaves=8,
)
mappings = st.dictionaries(short_texts, json_values, max_size=6)

metrics = st.builds(
    ContextMetrics,
    total_budget=st.none() | st.integers(1, 10**7),
    used_tokens=st.none() | st.integers(0, 10**8),
    stop_reason=long_texts,
    model=long_texts,
    timestamp=st.sampled_from(["2026-01-06T12:00:00Z", "2025-11-01T11:50:00", "## Next Steps", "x" * 5000]),
    basis=st.sampled_from(["reported", "estimated", "unknown"]),
)
sources = st.builds(
    Source,
    item=st.sampled_from(["next_steps/0", "key_findings/3"]),
    place=st.builds(Place, st.text(max_size=9), *[st.integers(0, 10**12)] * 3),
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    excerpt=long_texts,
)
grounds = st.builds(
    Ground,
    head=st.none() | st.text(max_size=9),
    branch=st.none() | st.text(max_size=9),
    worktree=st.none() | st.text(max_size=9),
    dirty=st.none() | st.lists(st.text(max_size=9), max_size=3).map(tuple),
    hashes=st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3),
)
custom_sections = st.builds(
    CustomSection, name=short_texts, budget_tokens=st.integers(-100, 5000), content=long_texts
)
many = st.one_of(
    st.lists(long_texts, max_size=3),
    st.builds(lambda text, times: [f"{n} {text}" for n in range(times)], texts, st.integers(0, 300)),
)

resume_logs = st.builds(
    ResumeLog,
    session_id=st.one_of(short_texts, st.just("9" * 20_000), st.just("日" * 5_000)),
    context_metrics=metrics,
    mission_summary=long_texts,
    accomplishments=many,
    key_findings=many,
    decisions=st.lists(
        st.fixed_dictionaries({}, optional={"decision": long_texts, "rationale": long_texts, "by": texts}), max_size=5
    ),
    next_steps=many,
    critical_context=st.one_of(mappings, many.map(lambda items: {"names": items})),
    metadata=st.one_of(mappings, st.fixed_dictionaries({}, optional={
        "files_modified": json_values | many, "agents_used": json_values, "errors": json_values | many,
        "session_duration_minutes": json_values,
    })),
    custom_sections=st.lists(custom_sections, max_size=4),
    sources=st.lists(sources, max_size=3),
    ground=st.none() | grounds,
)  # fmt: skip


def headings(text):
    """Return level and text of every heading that a CommonMark parser finds."""
    tokens = MarkdownIt("commonmark").parse(text)
    pairs = pairwise(tokens)
    return [(int(token.tag[1]), inline.content) for token, inline in pairs if token.type == "heading_open"]


def outer_headings(text):
    """Return the text after every ``## `` at the start of a line, as a reader without a parser finds it."""
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
