#!/usr/bin/env bash
# test.sh [SPECS] - the tests of the inventory module, with PostgreSQL and a Holdfast of their own (HOLDFAST_BIN, or
# build/holdfast), or Medusa's own specs from the folder SPECS. `make medusa` runs it. It is skipped, and says so, where
# something is not installed, or npm's registry cannot be reached.
set -euo pipefail
specs=${1:+$(realpath "$1")}
cd "$(dirname "$0")"
skip() { echo "clients/medusa: skipped: $*"; exit 0; }

# install FOLDER: what npm has to install there, unless the lock is that of the last time.
install() {
	cmp -s "$1/package-lock.json" "$1/node_modules/installed.json" && return
	npm --prefix "$1" ci --ignore-scripts > build/npm.log 2>&1 ||
		skip "npm cannot install what it needs: $(grep -m 1 'npm error' build/npm.log)"
	cp "$1/package-lock.json" "$1/node_modules/installed.json"
}

command -v node npm > /dev/null || skip 'node and npm are not installed'
node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || a == 20 && b >= 19 ? 0 : 1)' ||
	skip "node is $(node --version), 20.19 is needed"
mkdir -p build
install ../typescript
install .
npm --prefix ../typescript run -s build
npm run -s build
if [ -n "$specs" ]; then exec node test/specs/run.js "$specs"; fi
exec node test/run.js
