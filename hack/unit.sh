#!/usr/bin/env bash
# Runs the unit tests of the packages given, with the very database servers that the pods run.
set -euo pipefail
cd "$(dirname "$0")/.."

servers=$(bin/devcluster servers)
eval "$servers"
go test -race "$@"
# The race detector makes the enumeration of crashes many times slower, so that it only samples there:
# this is the whole of it.
go test ./controllers/rediscluster
