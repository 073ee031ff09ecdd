#!/usr/bin/env bash
# Regenerates what is generated and fails if a file changed by that, or is not committed. It compares
# with the files as they were before, not with the last commit, so that it also serves in the middle of a change.
set -euo pipefail
cd "$(dirname "$0")/.."

generated() {
  find api config docs -type f \( -name 'zz_generated*.go' -o -path 'config/crd/bases/*' \
    -o -path config/rbac/role.yaml -o -path 'docs/reference/*' \) | sort
}
sums() { generated | xargs -r sha256sum; }

before=$(sums)
make --no-print-directory manifests generate docs
after=$(sums)

stale=$(comm -3 <(sort <<<"$before") <(sort <<<"$after") | awk 'NF {print $2}' | sort -u)
for file in $stale; do
  echo "stale: $file was not what its generator makes; it is now, commit it"
done

unknown=$(generated | xargs -r git ls-files --others --exclude-standard --)
for file in $unknown; do
  echo "not committed: $file is generated and belongs into the repository"
done
[[ -z $stale$unknown ]]
