#!/usr/bin/env bash
# Deploys the operator from config/default and waits until it is ready:
#   hack/deploy.sh IMAGE ORIGIN
# Without an IMAGE of the caller's own, the image that hack/load-image.sh noted is taken.
# Nothing in the tree is edited, so that a deployment leaves no diff behind.
set -euo pipefail
cd "$(dirname "$0")/.."
image=$1 origin=$2
namespace=holdfast-system deployment=deployment/holdfast-controller-manager

if [[ $origin == file && $CLUSTER == local && -s dist/image ]]; then
  image=$(<dist/image)
fi

bin/kustomize build config/default | sed "s|holdfast/manager:dev|$image|g" |
  hack/kubectl.sh apply --server-side --force-conflicts --field-manager=holdfast-deploy -f -
hack/kubectl.sh wait --for=condition=Established --timeout=60s -f config/crd/bases

if ! hack/kubectl.sh -n "$namespace" rollout status "$deployment" --timeout=120s; then
  hack/kubectl.sh -n "$namespace" get pods -o wide || true
  hack/kubectl.sh -n "$namespace" get events --sort-by=.lastTimestamp | tail -n 20 || true
  hack/kubectl.sh -n "$namespace" logs "$deployment" --tail=30 || true
  echo "the operator did not become ready in 2 minutes with the image $image" >&2
  exit 1
fi
