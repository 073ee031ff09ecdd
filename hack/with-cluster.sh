#!/usr/bin/env bash
# Runs a command with a cluster that answers:
#   hack/with-cluster.sh COMMAND [ARGUMENT...]
# A local cluster that is not up is brought up, and taken down at the end. One that was up before stays,
# and so does a cluster of your own that KUBECONFIG names.
set -euo pipefail
cd "$(dirname "$0")/.."

answers() {
  [[ -f $KUBECONFIG ]] && hack/kubectl.sh get --raw /readyz --request-timeout=5s >/dev/null 2>&1
}

take_down() {
  local code=$?
  make --no-print-directory cluster-down || true
  exit "$code"
}

if ! answers; then
  [[ $CLUSTER == local ]] || {
    echo "the cluster of KUBECONFIG=$KUBECONFIG does not answer: check it, or unset KUBECONFIG to use a local one" >&2
    exit 1
  }
  trap take_down EXIT
  make --no-print-directory cluster-up
fi
"$@"
