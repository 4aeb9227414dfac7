"""Examples of users' settings files before leftoff is installed, byte for byte.

`None` means that there is no file. CLAUDE holds settings of Claude Code, CODEX holds Codex's `hooks.json`, which may only
contain `description` and `hooks`.
"""

import json
from collections.abc import Mapping

FOREIGN = {"hooks": [{"type": "command", "command": "true # another tool's"}]}
_GROUPS = json.dumps(
    {"Stop": [FOREIGN], "UserPromptSubmit": [{"matcher": "", **FOREIGN}], "PreToolUse": [FOREIGN]}
)
_MANY = [{"matcher": f"Tool{number}", **FOREIGN} for number in range(600)]


def _indented(text: str, indent: int | str) -> str:
    return json.dumps(json.loads(text), indent=indent, ensure_ascii=False)


_CLAUDE = '{"model": "opus", "env": {"A": "1"}, "permissions": {"allow": ["Bash(ls:*)"], "deny": []}}'
_STATUS_LINE = (
    '{"type": "command", "command": "printf \\\\u0027caf\\u00e9\\\\u0027; exit 3 # \'", "padding": 0}'
)

CLAUDE: Mapping[str, bytes | None] = {
    "none": None,
    "empty": b"",
    "empty object": b"{ }\n",
    "tabs": (_indented(_CLAUDE, "\t") + "\n").encode(),
    "two spaces, empty lines": (_indented(_CLAUDE, 2).replace(",\n", ",\n\n") + "\n\n").encode(),
    "four spaces, CRLF, no final newline": _indented(_CLAUDE, 4).replace("\n", "\r\n").encode(),
    "one line": _CLAUDE.encode(),
    "foreign hooks on the same events": (
        _indented(f'{{"hooks": {_GROUPS}, "model": "opus"}}', 2) + "\n"
    ).encode(),
    "empty hooks and lists": b'{\n  "hooks": {"Stop": [], "PreCompact": [ ]},\n  "model": "opus"\n}\n',
    "foreign status line, unicode escapes": f'{{\n  "statusLine": {_STATUS_LINE},\n  "language": "\\u00fc"\n}}\n'.encode(),
    "large": json.dumps({"hooks": {"PreToolUse": _MANY}, "model": "opus"}, indent=2).encode(),
}

CODEX: Mapping[str, bytes | None] = {
    "none": None,
    "empty object": b"{ }\n",
    "empty hooks": b'{"hooks": {}}',
    "tabs": (_indented(f'{{"hooks": {_GROUPS}}}', "\t") + "\n").encode(),
    "two spaces, empty lines": (
        _indented(f'{{"hooks": {_GROUPS}}}', 2).replace(",\n", ",\n\n") + "\n\n"
    ).encode(),
    "four spaces, CRLF, no final newline": _indented(f'{{"hooks": {_GROUPS}}}', 4)
    .replace("\n", "\r\n")
    .encode(),
    "one line": f'{{"hooks": {_GROUPS}}}'.encode(),
    "empty lists": b'{\n  "hooks": {"Stop": [], "PreCompact": [ ]}\n}\n',
    "description, unicode escapes": f'{{\n  "description": "\\u00fc \\ud83d\\ude00",\n  "hooks": {_GROUPS}\n}}\n'.encode(),
    "large": json.dumps({"hooks": {"PreToolUse": _MANY}}, indent=2).encode(),
}
