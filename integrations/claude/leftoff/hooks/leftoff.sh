#!/bin/sh
# Called at every event, and by the mod as `leftoff.sh in-place`; never harms a turn: whatever is missing, it ends with 0.
# 1. Where the settings call leftoff themselves, they do it alone: each event is handled once.
# 2. The fast path, if it is installed: its first line names the interpreter.
# 3. The program itself, if it is on the PATH.
settings=${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json
project=${CLAUDE_PROJECT_DIR:-.}/.claude
[ "$1" = in-place ] ||
  ! grep -qs '/leftoff/fast\.py' "$settings" "$project/settings.json" "$project/settings.local.json" || exit 0

for data in "${XDG_DATA_HOME:-$HOME/.local/share}" "$HOME/Library/Application Support"; do
  fast=$data/leftoff/fast.py
  [ -r "$fast" ] || continue
  read -r first <"$fast"
  python=${first#'#!'}
  python=${python% -IS}
  if [ "$1" = in-place ]; then
    "$python" -E -P -m leftoff in-place claude || exit 0
  else
    "$python" -I -S "$fast" claude || exit 0
  fi
  exit 0
done

command -v leftoff >/dev/null 2>&1 || exit 0
if [ "$1" = in-place ]; then leftoff in-place claude || exit 0; else leftoff hook claude || exit 0; fi
