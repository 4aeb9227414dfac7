"""Claude Code as a summariser: one prompt on standard input, one answer, no tools, no hooks, nothing left on disk.

Seen with 2.1.325: the request carries an empty list of tools, no hook of the user's settings runs, and no transcript is
written. A client that does not know one of the options fails, and the rules' version of the log stands.
"""

from __future__ import annotations

COMMAND = (
    "claude",
    "--print",
    "--output-format",
    "text",
    "--tools",
    "",
    "--strict-mcp-config",
    "--disable-slash-commands",
    "--no-session-persistence",
    "--settings",
    '{"disableAllHooks": true}',
)
