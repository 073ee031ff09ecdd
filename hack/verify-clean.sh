#!/usr/bin/env bash
# Fails in CI if the checks left a changed or a new file behind, and names it. On a contributor's
# machine it only lists them: the change under review is itself a difference to the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

changed=$(git status --porcelain)
[[ -n $changed ]] || exit 0
printf '%s\n' "$changed"
if [[ ${CI:-} == true ]]; then
  git --no-pager diff --exit-code || true
  echo "the tree is not clean after the checks" >&2
  exit 1
fi
echo "these files differ from the last commit"
