#!/usr/bin/env bash
# Runs the tests that need an API server and etcd but no node.
# KUBEBUILDER_ASSETS of your own wins; else hack/devcluster builds both, once.
set -euo pipefail
cd "$(dirname "$0")/.."

KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS:-$(bin/devcluster assets | tail -n 1)}
export KUBEBUILDER_ASSETS
go test -race -timeout 20m ./tests/envtest/...
