#!/usr/bin/env bash
# Loads bin/manager and bin/agent as one image into the local cluster's registry:
#   hack/load-image.sh IMAGE ORIGIN
# and notes its digest in dist/image. `make deploy` deploys by that digest: the tag alone would not
# change, and Kubernetes would not roll to what was just built.
set -euo pipefail
cd "$(dirname "$0")/.."
image=$1 origin=$2

if [[ $CLUSTER != local ]]; then
  [[ $origin != file ]] || {
    echo "KUBECONFIG names a cluster of your own: push the image to where that cluster can pull it, make docker-build docker-push deploy IMG=REGISTRY/NAME:TAG" >&2
    exit 1
  }
  echo "KUBECONFIG names a cluster of your own: $image is expected in its registry"
  exit 0
fi

mkdir -p dist
bin/devcluster load --name "$image" --entrypoint /manager \
  --file /manager=bin/manager --file /agent=bin/agent --file /watches.yaml=watches.yaml | tee dist/load.log
grep -oE '[^ ]+@sha256:[0-9a-f]{64}' dist/load.log | tail -n 1 >dist/image || {
  echo "devcluster load printed no digest" >&2
  exit 1
}
