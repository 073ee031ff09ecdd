#!/usr/bin/env bash
# Runs one named step, says how long it took, and keeps its exit code:
#   hack/step.sh NAME COMMAND [ARGUMENT...]
# The last line of a failed step names it, so that the cause is looked for above that line.
set -uo pipefail

name=$1
shift

mark() { # mark SGR-COLOUR SIGN TEXT: coloured only on a terminal
  if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    printf '\033[%sm%s\033[0m %s\n' "$1" "$2" "$3"
  else
    printf '%s %s\n' "$2" "$3"
  fi
}

spent() {
  local seconds=$((SECONDS))
  if ((seconds >= 60)); then
    printf '%dm%02ds' $((seconds / 60)) $((seconds % 60))
  else
    printf '%ds' "$seconds"
  fi
}

SECONDS=0
mark 36 '▶' "$name"
"$@"
code=$?
if ((code == 0)); then
  mark 32 '✓' "$name ($(spent))"
else
  mark 31 '✗' "$name failed after $(spent): see above"
fi
exit "$code"
