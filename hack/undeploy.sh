#!/usr/bin/env bash
# Removes the operator and its CRDs. It refuses while there are clusters: the operator that would
# clear their finalizers goes first, and deleting a CRD deletes every object of its kind.
set -euo pipefail
cd "$(dirname "$0")/.."

clusters=$(hack/kubectl.sh get redisclusters.db.holdfast.dev --all-namespaces --ignore-not-found -o name 2>/dev/null || true)
if [[ -n $clusters ]]; then
  hack/kubectl.sh get redisclusters.db.holdfast.dev --all-namespaces
  echo "delete these clusters first: undeploy would delete them without their operator" >&2
  exit 1
fi
bin/kustomize build config/default | hack/kubectl.sh delete --ignore-not-found --timeout=2m -f -
