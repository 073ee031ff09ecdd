#!/usr/bin/env bash
# Runs the kubectl on the PATH, or else the one that hack/devcluster built.
set -euo pipefail

if command -v kubectl >/dev/null; then
  exec kubectl "$@"
fi
built=$("$(dirname "$0")/../bin/devcluster" assets)/kubectl
[[ -x $built ]] || {
  echo "kubectl is not on the PATH and $built is not there: install kubectl" >&2
  exit 1
}
exec "$built" "$@"
