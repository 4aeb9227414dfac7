#!/bin/sh
# Called at every event, where it ends with 0, whatever is missing; and by the mod as `leftoff.sh in-place`, which looks at the output alone.
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
  # Instead of the shell, so that the mod ends the program if it takes too long.
  [ "$1" != in-place ] || exec "$python" -E -P -m leftoff in-place claude
  "$python" -I -S "$fast" claude || exit 0
  exit 0
done

command -v leftoff >/dev/null 2>&1 || exit 0
[ "$1" != in-place ] || exec leftoff in-place claude
leftoff hook claude || exit 0
