#!/usr/bin/env bash
# check.sh - the TypeScript client compiles, has the types of the contract, and passes its tests, which start the
# service: HOLDFAST_BIN, otherwise build/holdfast. `make clients` runs it. Without node, npm or npm's registry it is
# skipped.
set -euo pipefail
cd "$(dirname "$0")"
skip() { echo "clients/typescript: skipped: $*"; exit 0; }

command -v node npm > /dev/null || skip 'node and npm are not installed'
[ "$(node -p 'process.versions.node.split(".")[0] >= 20')" = true ] || skip "node is $(node --version), 20 is needed"
mkdir -p build
if ! cmp -s package-lock.json node_modules/installed.json; then
	npm ci --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=20000 > build/npm.log 2>&1 ||
		skip "npm cannot install what it needs: $(grep -m 1 'npm error' build/npm.log)"
	cp package-lock.json node_modules/installed.json
fi
npm run -s types -- --check > build/types.log 2>&1 ||
	{ echo 'clients/typescript: src/contract.ts is not of api/openapi.yaml: npm run types'; exit 1; }
npm run -s build
status=0
npm test -s > build/test.log 2>&1 || status=$?
[ $status = 0 ] || sed -n '/failing tests:/,$p' build/test.log | grep . || tail -n 40 build/test.log
awk '/^ℹ (pass|fail|skipped) / { n[$2] = $3 } END { printf "clients/typescript: %d passed, %d failed, %d skipped\n",
	n["pass"], n["fail"], n["skipped"]; exit n["pass"] == 0 }' build/test.log || status=1
exit $status
